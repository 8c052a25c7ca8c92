# SPDX-License-Identifier: Apache-2.0
"""Tests hewn tune: it writes a text file of schedules. Compiles use this file deterministically,
and such files can be merged in any order."""

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
    """Writes a model with a matmul and a depthwise convolution, each with many schedule
    candidates."""
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
    """Returns a tuning file in which each kernel has a schedule that differs from the cost model's
    choice."""
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
    # A kernel whose candidates were all tried is not searched again, and its row remains.
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
    """With another schedule for every kernel, the code differs and the results are equal."""
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
    """Compiles every third candidate schedule of the search and checks its results."""
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
    """Saves a model with one kernel that uses scratch memory. Returns the path of the model."""
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
            {"q": [1, 4, "m", 64], "k": [1, 4, 64, "n"], "v": [1, 4, "n", 64]},
            [1, 4, "m", 64],
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
    """A kernel with scratch memory has the same tuning key before and after its scratch memory is
    allocated."""
    model = _in_memory(tmp_path, name)
    assert "graph.scratch" in run("compile", model, "--emit", "kernels", "--target", "x86-64-v3").stdout
    own, _ = _explained(model, tmp_path)
    assert len(own["candidates"]) >= 3
    for schedule in own["candidates"][1:]:
        kernel, told = _explained(model, tmp_path, schedule)
        assert told == ""
        assert (kernel["schedule"], kernel["tuning_key"]) == (schedule, own["tuning_key"])


def _explained(model, folder, schedule=None):
    """Compiles a model with one kernel for AVX2 and returns the record of this kernel. If
    `schedule` is given, compiles with a tuning row for it, and also returns the warnings."""
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
    "slots": ("windows", r"slots = \d+", "slots = 1048576", "has 1048576 slots, more than the limit of 16"),
    "block": (
        "windows",
        r"block = \d+, m = \d+",
        "block = 1048576, m = 4",
        "bytes of scratch memory, more than the limit of",
    ),
    "rows": ("attention", r"rows = \d+", "rows = 4096", "has 4096 rows"),
    "tile": ("codes", r"m = \d+, n = \d+", "m = 16, n = 256", "accumulators, more than the limit of"),
    "head": ("attention", r"m = \d+, n = \d+", "m = 16, n = 256", "accumulators, more than the limit of"),
}


@pytest.mark.parametrize("what", HUGE)
def test_a_row_that_takes_too_much(tmp_path, what):
    """A tuning row whose schedule needs too much memory or code is ignored, and the cost model's
    choice is used."""
    name, pattern, huge, why = HUGE[what]
    model = _in_memory(tmp_path, name)
    own, _ = _explained(model, tmp_path)
    schedule = re.sub(pattern, huge, own["schedule"], count=1)
    assert schedule != own["schedule"]
    kernel, told = _explained(model, tmp_path, schedule)
    assert kernel["schedule"] == own["schedule"]
    assert "warning: " in told and "ignoring the tuning row" in told and why in told


def test_keys_tell_rows_from_batches(tmp_path):
    """Tuning keys distinguish attention with 64 rows in each of 4 batches from 4 rows in each of 64
    batches and from 256 rows. Dims of 1 are part of the key."""
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
        assert kernel["schedule"].startswith("#plan.attention")
        keys.add(kernel["tuning_key"])
    assert len(keys) == 4


def places_of(row):
    """Returns the indices of the candidates that a tuning row lists as tried, including the cost
    model's choice."""
    return {*range(row["tried"]), *row.get("tried_behind", [])}


@pytest.mark.parametrize("parts", [2, 3])
def test_parts_are_the_whole(model, tmp_path, parts):
    """Several machines can share a search. Each candidate belongs to one of them, and the
    candidates are divided evenly, whatever tuning files the machines start from. Merging the files
    of all parts gives the result of an undivided search."""
    explained = json.loads(run("explain", "--json", model).stdout)
    kernels = explained["variants"][0]["kernels"]
    count = {k["tuning_key"]: len(k["candidates"]) for k in kernels if k["tuning_key"]}
    # Most candidates are already measured, so that the search ends soon. One of the remaining
    # candidates is also in the input file.
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
    """If there are more parts than candidates, some parts are empty, which is not an error. The
    first candidates of different kernels belong to different parts."""
    told = [run("tune", model, "--part", f"{number}/1000", "--budget", "0") for number in (1, 2, 3, 999)]
    counts = [int(re.search(r"part \d+/1000: (\d+) candidates", done.stderr)[1]) for done in told]
    assert counts[0] == 0 and counts[1:3] == [1, 2] and counts[3] == 0
    assert re.search(r"^no other schedule was measured\n\d+ candidates belong to other parts\n", told[0].stdout)


def _written(folder, text):
    (folder / "t.tune").write_text(text)
    return folder / "t.tune"


def test_several_machines(model, tmp_path):
    """Each variant of a library uses the tuning file for its target. A file merged from these files
    has the same effect."""
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
    """A merged file lists the tried candidates of all input files, in whatever order these are
    given, and also if a file is given twice."""
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
    """Reads lines of a stream up to the first one that contains `text`, and returns them."""
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
    """If the process that measures is killed again and again, the search reports the candidate that
    it was measuring, skips it, and continues."""
    search = subprocess.Popen(
        [TOOL, "tune", str(model), "--budget", "20", "-o", str(tmp_path / "c.tune")],
        stderr=subprocess.PIPE,
        text=True,
    )
    _read_until(search.stderr, "distinct kernels")
    children = pathlib.Path(f"/proc/{search.pid}/task/{search.pid}/children")
    stop = threading.Event()

    def crash():
        while not stop.is_set():
            for child in children.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    # The test sends another signal than SIGSEGV, which the search would report as
                    # an error of the compile.
                    os.kill(int(child), signal.SIGKILL)
            time.sleep(0.05)

    killer = threading.Thread(target=crash)
    killer.start()
    try:
        lines = _read_until(search.stderr, "is skipped")
    finally:
        stop.set()
        killer.join()
    assert "#plan." in lines[-1] and "the process crashed (Killed)" in lines[-1]
    assert search.stderr.read().count("is skipped") <= 3
    assert search.wait(timeout=60) == 0
    assert len(rows_of(tmp_path / "c.tune")) >= 2


def test_cases_are_told_apart(tmp_path):
    """The specializations of a model have kernels with the same names. Each kernel has its own
    times, and kernels that do not run are not searched."""
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
    # `hewn tune` reports a missing size of a symbolic dim only once.
    assert run("tune", path, *flags).stderr.count("warning: the sizes of dynamic dims are not given") == 1


def test_what_was_not_tried_is_not_known(model, tmp_path):
    path = tmp_path / "short.tune"
    run("tune", model, "--budget", "0", "-o", path)
    assert rows_of(path) == []
    # If a row lists only some of the candidates as tried, a new search continues after the last
    # of them.
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
    """Ctrl-C before the first measurement is not an error, and an existing tuning file does not
    change."""
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
    """`hewn check` and `hewn reduce` accept tuning files. Their reference (-O0) uses no schedules
    and is compiled without these files."""
    path = tmp_path / "all.tune"
    path.write_text(text_of(every_row_another(model, "host")))
    assert "agree with -O0" in run("check", model, "--tuning", path).stdout
    done = run("reduce", model, "--tuning", path, "-o", tmp_path / "small.onnx", status=1)
    assert "there is nothing to reduce" in done.stderr
