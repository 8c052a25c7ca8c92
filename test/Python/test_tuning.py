# SPDX-License-Identifier: Apache-2.0
"""hewn tune: what it finds is a text that compiles take, twice to the same bytes, and that is merged in any order."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import hewn
import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as nh
import pytest

TOOL = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A product and a depthwise convolution, each of which can be computed in many ways."""
    generator = np.random.default_rng(0)

    def weights(name, *shape):
        return nh.from_array(generator.standard_normal(shape).astype(np.float32), name)

    graph = oh.make_graph(
        [
            oh.make_node("Conv", ["x", "w"], ["c"], group=32, pads=[1, 1, 1, 1]),
            oh.make_node("Relu", ["c"], ["r"]),
            oh.make_node("Conv", ["r", "v"], ["y"]),
        ],
        "g",
        [oh.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 32, 56, 56])],
        [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 64, 56, 56])],
        [weights("w", 32, 1, 3, 3), weights("v", 64, 32, 1, 1)],
    )
    path = tmp_path_factory.mktemp("tuning") / "model.onnx"
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=10), path)
    return path


def run(*arguments, status=0):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done


def rows_of(path):
    header, *rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    assert header == {"hewn_tuning": 1}
    return rows


def every_row_another(model, target):
    """A tuning by hand: of each kernel a schedule that is not the model's."""
    explained = json.loads(run("explain", "--json", model, "--target", target).stdout)
    rows = [
        {
            "machine": explained["machines"][0],
            "kernel": kernel["tuning_key"],
            "schedule": kernel["candidates"][-1],
            "microseconds": 1.0,
            "model": kernel["schedule"],
            "model_microseconds": 2.0,
        }
        for kernel in explained["variants"][0]["kernels"]
        if kernel["tuning_key"]
    ]
    assert len(rows) >= 2
    assert all(row["schedule"] != row["model"] for row in rows)
    return rows


def text_of(rows):
    return "".join(json.dumps(row) + "\n" for row in [{"hewn_tuning": 1}, *rows])


def test_tunes_and_compiles(model, tmp_path):
    record = json.loads(run("tune", model, "--budget", "4", "--json", "-o", tmp_path / "a.tune").stdout)
    rows = rows_of(tmp_path / "a.tune")
    assert {row["kernel"] for row in rows} == {kernel["kernel"] for kernel in record["kernels"] if kernel["tried"] > 1}
    assert len(rows) >= 2 and record["gap_mean"] >= 1
    assert rows == sorted(rows, key=lambda row: (row["machine"], row["kernel"]))
    for row in rows:
        assert row["tried"] > 1 and 0 < row["microseconds"] <= row["model_microseconds"]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        run("compile", model, "--tuning", tmp_path / "a.tune", "-o", tmp_path / name / "model.so")
    assert (tmp_path / "one/model.so").read_bytes() == (tmp_path / "two/model.so").read_bytes()
    # What is known, all candidates tried, is not searched again, and stays.
    tried = {kernel["kernel"]: kernel["candidates"] for kernel in record["kernels"]}
    all_tried = [dict(row, tried=tried[row["kernel"]]) for row in rows]
    (tmp_path / "a.tune").write_text(text_of(all_tried))
    again = json.loads(
        run("tune", model, "--budget", "4", "--tuning", tmp_path / "a.tune", "--json", "-o", tmp_path / "b.tune").stdout
    )
    assert again["kernels"] == [] and again["known"] == len(rows)
    assert rows_of(tmp_path / "b.tune") == all_tried


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
def test_other_schedules_are_right(model, tmp_path, target):
    """Every kernel by another schedule: the code is another, and the numbers are the same."""
    path = tmp_path / "all.tune"
    path.write_text(text_of(every_row_another(model, target)))
    x = np.random.default_rng(1).standard_normal((1, 32, 56, 56)).astype(np.float32)
    with_rows = hewn.compile(model, target=target, tuning=path)
    without = hewn.compile(model, target=target)
    np.testing.assert_allclose(with_rows(x), without(x), rtol=1e-5, atol=1e-5)
    shown = [
        run("compile", model, "--emit", "kernels", "--target", target, *more).stdout
        for more in ([], ["--tuning", path])
    ]
    assert shown[0] != shown[1]


def test_all_candidates_are_right(model, tmp_path):
    """Whatever a search may try has code, and the right numbers."""
    target = "x86-64-v3"
    explained = json.loads(run("explain", "--json", model, "--target", target).stdout)
    x = np.random.default_rng(1).standard_normal((1, 32, 56, 56)).astype(np.float32)
    right = np.asarray(hewn.compile(model, target=target)(x))
    rows = every_row_another(model, target)
    kernels = {k["tuning_key"]: k["candidates"] for k in explained["variants"][0]["kernels"] if k["tuning_key"]}
    for i in range(0, max(map(len, kernels.values())), 3):
        for row in rows:
            row["schedule"] = kernels[row["kernel"]][min(i, len(kernels[row["kernel"]]) - 1)]
        given = hewn.compile(model, target=target, tuning=_written(tmp_path, text_of(rows)))
        np.testing.assert_allclose(given(x), right, rtol=1e-5, atol=1e-5)


def _in_memory(folder, name):
    """A model of one kernel that works in scratch memory."""
    generator = np.random.default_rng(0)
    floats, path = onnx.TensorProto.FLOAT, folder / f"{name}.onnx"

    def weights(*shape):
        return [nh.from_array(generator.standard_normal(shape).astype(np.float32), "w")]

    nodes, inputs, output, constants = {
        "windows": (
            [oh.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)],
            {"x": [1, 64, 28, 28]},
            [1, 64, 28, 28],
            weights(64, 64, 3, 3),
        ),
        "attention": (
            [
                oh.make_node("MatMul", ["q", "k"], ["s"]),
                oh.make_node("Softmax", ["s"], ["p"]),
                oh.make_node("MatMul", ["p", "v"], ["y"]),
            ],
            {"q": [1, 4, "n", 64], "k": [1, 4, 64, "n"], "v": [1, 4, "n", 64]},
            [1, 4, "n", 64],
            [],
        ),
        "codes": (
            [
                oh.make_node(
                    "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=256, N=256, bits=4, block_size=32
                )
            ],
            {"x": [64, 256]},
            [64, 256],
            [
                nh.from_array(generator.integers(0, 256, (256, 8, 16), np.uint8), "w"),
                nh.from_array(np.full(256 * 8, 0.1, np.float32), "s"),
            ],
        ),
    }[name]
    opsets = [oh.make_opsetid("", 18), oh.make_opsetid("com.microsoft", 1)]
    infos = [oh.make_tensor_value_info(key, floats, dims) for key, dims in inputs.items()]
    graph = oh.make_graph(nodes, "g", infos, [oh.make_tensor_value_info("y", floats, output)], constants)
    onnx.save(oh.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


@pytest.mark.parametrize("name", ["windows", "attention", "codes"])
def test_rows_of_kernels_with_scratch_memory(tmp_path, name):
    """Such kernels have the key before they have their memory that explain tells when they have it."""
    model = _in_memory(tmp_path, name)
    assert "graph.scratch" in run("compile", model, "--emit", "kernels", "--target", "x86-64-v3").stdout
    own, _ = _explained(model, tmp_path)
    assert len(own["candidates"]) >= 3
    for schedule in own["candidates"][1:]:
        kernel, told = _explained(model, tmp_path, schedule)
        assert told == ""
        assert (kernel["schedule"], kernel["tuning_key"]) == (schedule, own["tuning_key"])


def _explained(model, folder, schedule=None):
    """The one kernel that has a key, told for AVX2, and what is told of a row that gives it this schedule."""
    flags = [model, "--target", "x86-64-v3", "--json"]
    explained = json.loads(run("explain", *flags).stdout)
    (kernel,) = [k for k in explained["variants"][0]["kernels"] if k["tuning_key"]]
    if not schedule:
        return kernel, ""
    row = {
        "machine": explained["machines"][0],
        "kernel": kernel["tuning_key"],
        "schedule": schedule,
        "model": kernel["schedule"],
    }
    row |= {"microseconds": 1.0, "model_microseconds": 2.0}
    done = run("explain", *flags, "--tuning", _written(folder, text_of([row])))
    (kernel,) = [k for k in json.loads(done.stdout)["variants"][0]["kernels"] if k["tuning_key"]]
    return kernel, done.stderr


HUGE = {
    "slots": ("windows", r"slots = \d+", "slots = 1048576", "has slots of 1048576, and 16 is the most"),
    "block": ("windows", r"block = \d+, m = \d+", "block = 1048576, m = 4", "has bytes of scratch memory of"),
    "rows": ("attention", r"rows = \d+", "rows = 4096", "has rows of 4096"),
    "tile": ("codes", r"m = \d+, n = \d+", "m = 16, n = 256", "has accumulators of"),
    "head": ("attention", r"m = \d+, n = \d+", "m = 16, n = 256", "has accumulators of"),
}


@pytest.mark.parametrize("what", HUGE)
def test_a_row_that_takes_too_much(tmp_path, what):
    """Code could be made by it, with more memory or code than anybody has: the model's choice stays."""
    name, pattern, huge, why = HUGE[what]
    model = _in_memory(tmp_path, name)
    own, _ = _explained(model, tmp_path)
    schedule = re.sub(pattern, huge, own["schedule"], count=1)
    assert schedule != own["schedule"]
    kernel, told = _explained(model, tmp_path, schedule)
    assert kernel["schedule"] == own["schedule"]
    assert "warning: " in told and "a row of the tuning is not used" in told and why in told


def test_keys_tell_rows_from_batches(tmp_path):
    """Attention of 64 rows in each of 4 batches is not the one of 4 rows in each of 64, nor of 256 rows; and dims of 1 are dims."""
    keys = set()
    for dims in ([1, 4, 64, 64], [4, 1, 64, 64], [1, 1, 256, 64], [1, 64, 4, 64]):
        columns = 512
        nodes = [
            oh.make_node("MatMul", ["q", "k"], ["s"]),
            oh.make_node("Softmax", ["s"], ["p"]),
            oh.make_node("MatMul", ["p", "v"], ["y"]),
        ]
        inputs = {"q": dims, "k": [*dims[:2], 64, columns], "v": [*dims[:2], columns, 64]}
        infos = [oh.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in inputs.items()]
        graph = oh.make_graph(nodes, "g", infos, [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT, dims)])
        onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=10), tmp_path / "a.onnx")
        kernel, _ = _explained(tmp_path / "a.onnx", tmp_path)
        assert kernel["schedule"].startswith("#plan.chain")
        keys.add(kernel["tuning_key"])
    assert len(keys) == 4


def places_of(row):
    """Of the candidates that a row has tried, the model's among them."""
    return {*range(row["tried"]), *row.get("tried_behind", [])}


@pytest.mark.parametrize("parts", [2, 3])
def test_parts_are_the_whole(model, tmp_path, parts):
    """Machines that share a search try each candidate once, none many more than another, whatever they have measured; and the files of all
    parts are what a search without parts leaves."""
    explained = json.loads(run("explain", "--json", model).stdout)
    kernels = explained["variants"][0]["kernels"]
    count = {k["tuning_key"]: len(k["candidates"]) for k in kernels if k["tuning_key"]}
    # Most of them are known, so that the search has an end soon; and one in the middle of those that are left.
    left, path = 4, tmp_path / "known.tune"
    known = [
        dict(row, tried=count[row["kernel"]] - left, tried_behind=[count[row["kernel"]] - left + 2])
        for row in every_row_another(model, "host")
    ]
    assert min(row["tried"] for row in known) >= 1
    path.write_text(text_of(known))
    before = {row["kernel"]: places_of(row) for row in known}
    files, found = [tmp_path / f"{number}.tune" for number in range(1, parts + 1)], []
    for number, file in enumerate(files, 1):
        flags = ["--part", f"{number}/{parts}", "--tuning", path, "--budget", "60", "--json", "-o", file]
        done = run("tune", model, *flags)
        record = json.loads(done.stdout)
        assert record["part"] == f"{number}/{parts}" and f"hewn tune: part {number}/{parts}: " in done.stderr
        found.append({row["kernel"]: places_of(row) - before[row["kernel"]] for row in rows_of(file)})
        mine = sum(map(len, found[-1].values()))
        assert record["in_other_parts"] == (left - 1) * len(known) - mine
        assert record["rounds"] <= -(-left // parts) and (record["rounds"] > 0) == (mine > 0)
    for kernel in count:
        places = [place for part in found for place in part[kernel]]
        assert len(places) == len(set(places)) and set(places) | before[kernel] == set(range(count[kernel]))
    run("tune", "--merge", *files, "-o", tmp_path / "all.tune")
    run("tune", "--merge", *reversed(files), path, "-o", tmp_path / "again.tune")
    assert (tmp_path / "all.tune").read_bytes() == (tmp_path / "again.tune").read_bytes()
    assert {row["kernel"]: row["tried"] for row in rows_of(tmp_path / "all.tune")} == count
    assert "tried_behind" not in (tmp_path / "all.tune").read_text()
    after = json.loads(run("tune", model, "--tuning", tmp_path / "all.tune", "--json").stdout)
    assert after["known"] == len(count) and after["rounds"] == after["in_other_parts"] == 0


def test_more_parts_than_candidates(model, tmp_path):
    """Some parts have nothing to try: that is no error, and the first candidates of all kernels are not one part's."""
    told = [run("tune", model, "--part", f"{number}/1000", "--budget", "0") for number in (1, 2, 3, 999)]
    counts = [int(re.search(r"part \d+/1000: (\d+) candidates", done.stderr)[1]) for done in told]
    assert counts[0] == 0 and counts[1:3] == [1, 2] and counts[3] == 0
    assert re.search(r"^no other schedule was measured\n\d+ candidates are of other parts\n", told[0].stdout)


def _written(folder, text):
    (folder / "t.tune").write_text(text)
    return folder / "t.tune"


def test_several_machines(model, tmp_path):
    """Each file goes to the variant that it is of; together in a file they do the same."""
    for target in ("x86-64-v2", "x86-64-v3"):
        (tmp_path / f"{target}.tune").write_text(text_of(every_row_another(model, target)))
    files = [tmp_path / "x86-64-v2.tune", tmp_path / "x86-64-v3.tune"]
    flags = ["--target", "x86-64-v2,x86-64-v3", "--emit", "kernels"]
    run("tune", "--merge", *files, "-o", tmp_path / "ab.tune")
    run("tune", "--merge", *reversed(files), "-o", tmp_path / "ba.tune")
    assert (tmp_path / "ab.tune").read_bytes() == (tmp_path / "ba.tune").read_bytes()
    plain = run("compile", model, *flags).stdout
    both = run("compile", model, *flags, "--tuning", files[0], "--tuning", files[1]).stdout
    merged = run("compile", model, *flags, "--tuning", tmp_path / "ab.tune").stdout
    one = run("compile", model, *flags, "--tuning", files[0]).stdout
    assert both == merged != plain
    assert one not in (plain, both)


def test_merge_keeps_what_gained_most(model, tmp_path):
    row = every_row_another(model, "x86-64-v3")[0]
    small, large = dict(row, microseconds=1.5), dict(row, microseconds=1.2, schedule=row["model"])
    (tmp_path / "small.tune").write_text(text_of([small]))
    (tmp_path / "large.tune").write_text(text_of([large]))
    for order in (["small", "large"], ["large", "small"]):
        record = run(
            "tune", "--merge", *(tmp_path / f"{n}.tune" for n in order), "-o", tmp_path / "both.tune", "--json"
        )
        assert json.loads(record.stdout)["rows"] == 1
        assert rows_of(tmp_path / "both.tune")[0]["microseconds"] == 1.2


def test_merge_keeps_what_either_has_tried(model, tmp_path):
    """Which candidates those were, in any order of the files, and also where a file comes twice."""
    row = every_row_another(model, "x86-64-v3")[0]
    tried = {"a": {"tried_behind": [2, 5]}, "b": {"tried": 2, "tried_behind": [4]}, "c": {"tried_behind": [3, 7]}}
    files = {}
    for name, keys in tried.items():
        files[name] = tmp_path / f"{name}.tune"
        files[name].write_text(text_of([dict(row, microseconds=1.5 - 0.1 * len(files), **keys)]))
    for order, first, behind in [("ab", 3, [4, 5]), ("abc", 6, [7]), ("cab", 6, [7]), ("bcbaa", 6, [7])]:
        run("tune", "--merge", *(files[name] for name in order), "-o", tmp_path / "all.tune")
        (merged,) = rows_of(tmp_path / "all.tune")
        assert (merged["tried"], merged["tried_behind"]) == (first, behind)
        assert merged["microseconds"] == (1.2 if "c" in order else 1.3)


def test_cache_knows_the_tuning(model, tmp_path):
    path, cache = tmp_path / "t.tune", tmp_path / "cache"
    rows = every_row_another(model, "host")
    made = []
    for text in ([], rows[:1], rows, rows[:1]):
        path.write_text(text_of(text))
        run("compile", model, "--tuning", path, "--cache-dir", cache, "-o", tmp_path / "model.so")
        made.append((tmp_path / "model.so").read_bytes())
    assert made[0] != made[1] != made[2] and made[3] == made[1]


def _read_until(stream, text):
    """What is read up to the line that has the text."""
    lines = []
    for line in stream:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"no {text!r} in {lines}")


def test_ctrl_c_keeps_what_was_found(model, tmp_path):
    search = subprocess.Popen(
        [TOOL, "tune", str(model), "--budget", "60s", "-o", str(tmp_path / "i.tune")],
        stderr=subprocess.PIPE,
        text=True,
    )
    _read_until(search.stderr, "round 1")
    search.send_signal(signal.SIGINT)
    assert search.wait(timeout=60) == 130
    assert len(rows_of(tmp_path / "i.tune")) >= 2


def test_a_candidate_that_crashes(model, tmp_path):
    """The process that measures ends by a signal again and again: the candidate that it is down to is told and left, and the search goes on."""
    search = subprocess.Popen(
        [TOOL, "tune", str(model), "--budget", "20", "-o", str(tmp_path / "c.tune")],
        stderr=subprocess.PIPE,
        text=True,
    )
    _read_until(search.stderr, "kinds of kernel")
    children = pathlib.Path(f"/proc/{search.pid}/task/{search.pid}/children")
    told, stop = [], threading.Event()

    def crash():
        while not stop.is_set():
            for child in children.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)  # SIGSEGV in the middle of a compile is an error of its own
            time.sleep(0.05)

    killer = threading.Thread(target=crash)
    killer.start()
    try:
        told = _read_until(search.stderr, "left out")
    finally:
        stop.set()
        killer.join()
    assert "#plan." in told[-1] and "it crashed (Killed)" in told[-1]
    assert search.stderr.read().count("left out") <= 3
    assert search.wait(timeout=60) == 0
    assert len(rows_of(tmp_path / "c.tune")) >= 2


def test_cases_are_told_apart(tmp_path):
    """Kernels of a model's cases share their names: each kind has the times of its own, and what does not run is not searched."""
    weights = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    graph = oh.make_graph(
        [oh.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [oh.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 256])],
        [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 256])],
        [nh.from_array(weights, "w")],
    )
    path = tmp_path / "open.onnx"
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=10), path)
    np.savez(tmp_path / "x.npz", x=np.ones((64, 256), np.float32))
    flags = ["--dim", "n=64,1,1..512", "--budget", "0", "--json"]
    done = run("tune", path, *flags, "--input", tmp_path / "x.npz")
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert " rows=64 " in kernel["kernel"]
    assert [name.endswith(" [n = 64]") for name in kernel["launched_as"]] == [True]
    assert 0 < kernel["share"] <= 1
    assert "open dims" not in done.stderr
    # Sizes that nobody gave are told, once.
    assert run("tune", path, *flags).stderr.count("warning: nothing says how long open dims are") == 1


def test_what_was_not_tried_is_not_known(model, tmp_path):
    path = tmp_path / "short.tune"
    run("tune", model, "--budget", "0", "-o", path)
    assert rows_of(path) == []
    # A row of a search that had time for some candidates: it goes on behind them.
    explained = json.loads(run("explain", "--json", model).stdout)
    count = {k["tuning_key"]: len(k["candidates"]) for k in explained["variants"][0]["kernels"]}
    rows = every_row_another(model, "host")
    left = 1
    for row in rows:
        row["tried"] = count[row["kernel"]] - left
    path.write_text(text_of(rows))
    record = json.loads(run("tune", model, "--tuning", path, "--budget", "60", "--json", "-o", path).stdout)
    assert record["known"] == 0 and record["rounds"] == left
    after = {row["kernel"]: row["tried"] for row in rows_of(path)}
    assert after == {row["kernel"]: row["tried"] + left for row in rows}
    again = json.loads(run("tune", model, "--tuning", path, "--budget", "60", "--json").stdout)
    assert again["known"] == len(rows) and again["rounds"] == 0


def test_ctrl_c_before_anything_was_measured(model, tmp_path):
    """It is no error, and a file of before stays as it is."""
    path = tmp_path / "i.tune"
    path.write_text("before")
    search = subprocess.Popen([TOOL, "tune", str(model), "-o", str(path)], stderr=subprocess.PIPE, text=True)
    children = pathlib.Path(f"/proc/{search.pid}/task/{search.pid}/children")
    while not children.read_text().strip():
        assert search.poll() is None
        time.sleep(0.01)
    search.send_signal(signal.SIGINT)
    assert "error" not in search.communicate(timeout=60)[1]
    assert search.returncode == 130 and path.read_text() == "before"


def test_check_and_reduce_take_tunings(model, tmp_path):
    """The reference makes no use of schedules, and is made without."""
    path = tmp_path / "all.tune"
    path.write_text(text_of(every_row_another(model, "host")))
    assert "are as -O0 has them" in run("check", model, "--tuning", path).stdout
    done = run("reduce", model, "--tuning", path, "-o", tmp_path / "small.onnx", status=1)
    assert "there is nothing to reduce" in done.stderr
