# SPDX-License-Identifier: Apache-2.0
"""hewn tune on the nodes of a Ray cluster: who searches which part, a node that is killed, nodes that can't, Ctrl-C; and, without Ray, what goes to
a node and what it does there."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from conftest import ROOT
from hewn_batch import nodes, tune
from hewn_batch.shipped import Shipped

TOOL = str(pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn")
SIZES = [256, 512, 256, 384, 128]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Four products by weights that lie in another file, and one of two inputs, which has so many candidates that a search has work for longer
    than any test here: five kinds of kernel."""
    random, folder = np.random.default_rng(0), tmp_path_factory.mktemp("layers")
    names = ["x", "h0", "h1", "h2", "y"]
    products = [oh.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(4)]
    weights = [
        onnx.numpy_helper.from_array(random.standard_normal(SIZES[i : i + 2]).astype(np.float32), f"w{i}")
        for i in range(4)
    ]
    graph = oh.make_graph(
        [*products, oh.make_node("MatMul", ["a", "b"], ["c"])],
        "layers",
        [
            oh.make_tensor_value_info(*one)
            for one in (("x", 1, [64, SIZES[0]]), ("a", 1, [256, 512]), ("b", 1, [512, 256]))
        ],
        [oh.make_tensor_value_info(*one) for one in (("y", 1, [64, SIZES[4]]), ("c", 1, [256, 256]))],
        weights,
    )
    made = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=10)
    onnx.save(made, folder / "layers.onnx", save_as_external_data=True, location="layers.data")
    assert (folder / "layers.data").stat().st_size > 1 << 20
    return folder / "layers.onnx"


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def explained(model, target="host"):
    """The machine and the kinds of kernel that a search has."""
    done = subprocess.run(
        [TOOL, "explain", "--json", model, "--target", target], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    return told["machines"][0], {k["tuning_key"] for k in told["variants"][0]["kernels"] if k["tuning_key"]}


def rows_of(path):
    """Kinds of kernel by machine."""
    rows = {}
    for line in path.read_text().splitlines()[1:]:
        row = json.loads(line)
        rows.setdefault(row["machine"], set()).add(row["kernel"])
    return rows


# Without Ray.


def test_what_goes_to_a_node(model, tmp_path):
    flags = [
        ("--dim", "n=1..4"),
        ("--input", f"a=b={write(tmp_path / 'x.npy')}"),
        ("--tuning", write(tmp_path / "known.tune")),
        ("--quantize", "int8"),
        ("--quantize", write(tmp_path / "how.json")),
        ("--calibrate", str(pathlib.Path(write(tmp_path / "samples/in/1.npz")).parents[1])),
        ("--custom-ops", write(tmp_path / "ops.json", '{"link": ["lib/ops.o"]}')),
        ("-O0", None),
    ]
    write(tmp_path / "lib/ops.o")
    shipped = Shipped(TOOL, str(model), flags)
    assert shipped.arguments == [
        "model/layers.onnx",
        "--dim=n=1..4",
        "--input=a=b=flags/1/x.npy",
        "--tuning=flags/2/known.tune",
        "--quantize=int8",
        "--quantize=flags/4/how.json",
        "--calibrate=flags/5",
        "--custom-ops=flags/6/ops.json",
        "-O0",
    ]
    assert shipped.files == {
        "model/layers.onnx": model,
        "model/layers.data": model.parent / "layers.data",
        "flags/1/x.npy": tmp_path / "x.npy",
        "flags/2/known.tune": tmp_path / "known.tune",
        "flags/4/how.json": tmp_path / "how.json",
        "flags/5/in/1.npz": tmp_path / "samples/in/1.npz",
        "flags/6/ops.json": tmp_path / "ops.json",
        "flags/6/lib/ops.o": tmp_path / "lib/ops.o",
    }


@pytest.mark.parametrize(
    ("flag", "value", "told"),
    [
        ("--tuning", "none.tune", "No such file.*none.tune"),
        ("--input", "x=none.npy", "No such file.*none.npy"),
        ("--calibrate", "none", "--calibrate wants a folder, and 'none' is none"),
        ("--custom-ops", "ops.json", "'ops.json' links '/lib/ops.o', which is no file in its folder"),
    ],
)
def test_files_that_are_not_there(model, tmp_path, monkeypatch, flag, value, told):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "ops.json", '{"link": ["/lib/ops.o"]}')
    with pytest.raises((OSError, ValueError), match=told):
        Shipped(TOOL, str(model), [(flag, value)])


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (
            ["MODEL", "-o", "o.tune", "--part", "1/2"],
            2,
            "--part means nothing here: nodes get their parts by themselves",
        ),
        (["MODEL", "-o", "o.tune", "--json"], 2, "--json means nothing here"),
        (["MODEL"], 2, "the following arguments are required: -o"),
        (["MODEL", "-o", "o.tune", "--budgt", "4"], 2, "unrecognized arguments: --budgt"),
        (["none.onnx", "-o", "o.tune"], 1, "error: can't read none.onnx: No such file or directory"),
        (["MODEL", "-o", "MODEL"], 1, "is the model's or another file of this command"),
        (["MODEL", "-o", "none/o.tune"], 1, "error: can't write 'none/o.tune'"),
        (["MODEL", "-o", "o.tune", "--tuning", "none.tune"], 1, "none.tune"),
    ],
)
def test_wrong_command_lines(model, tmp_path, monkeypatch, capfd, arguments, status, told):
    monkeypatch.chdir(tmp_path)
    try:
        ended = tune.main([str(model) if one == "MODEL" else one for one in arguments])
    except SystemExit as end:
        ended = end.code
    assert ended == status and told in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_ray_or_hewn(model, tmp_path, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert tune.main([str(model), "-o", str(tmp_path / "o.tune")]) == 1
    assert "error: Ray is not installed" in capfd.readouterr().err
    monkeypatch.setattr(tune, "find_hewn", lambda: None)
    assert tune.main([str(model), "-o", str(tmp_path / "o.tune")]) == 1
    assert "error: this machine has no hewn" in capfd.readouterr().err


def test_a_flag_of_hewn_tune_is_a_flag_here():
    """All of them, with and without values, as its help has them."""
    listed = subprocess.run([TOOL, "help", "tune"], capture_output=True, text=True, check=True).stdout
    parser, names = tune.make_parser(listed)
    given = parser.parse_args(["m.onnx", "-o", "f", "--dim", "n=1", "--dim=m=2", "-O0", "--budget", "9s"])
    assert tune.flags_given(given, names) == [("-O0", None), ("--budget", "9s"), ("--dim", "n=1"), ("--dim", "m=2")]
    assert given.output == "f" and given.address == "auto"
    assert len(names) + len(tune.USELESS) + 1 == len(re.findall(r"^  -", listed, re.MULTILINE))


def test_which_machine_a_node_is(model, tmp_path, monkeypatch):
    """As hewn tune would write it for the target; or why nothing can be searched there."""
    for target in ("host", "x86-64-v2"):
        told = nodes.ask([f"--target={target}"])
        assert told["machine"] == explained(model, target)[0] and told["cpu"] and re.match(r"\d+\.\d+", told["hewn"])
    assert "this machine can't run code for 'neoverse-n1'" in nodes.ask(["--target=neoverse-n1"])["problem"]
    for script, told in [("echo '{}'", "is no hewn that searches"), ("echo no >&2; exit 1", "^no$")]:
        monkeypatch.setenv("HEWN_TOOLS", os.path.dirname(write(tmp_path / "hewn", f"#!/bin/sh\n{script}\n")))
        (tmp_path / "hewn").chmod(0o755)
        assert re.search(told, nodes.ask([])["problem"])
    monkeypatch.setattr(nodes, "find_hewn", lambda: None)
    assert nodes.ask([]) == {"problem": "it has no hewn"}


@pytest.fixture
def searcher(model):
    """A node that has the model."""
    made = nodes.Searcher()
    for file in (model, model.parent / "layers.data"):
        (pathlib.Path(made.folder) / file.name).write_bytes(file.read_bytes())
    yield made
    made.close()
    assert not os.path.exists(made.folder)


def test_a_node_searches_a_part(searcher, model):
    found = searcher.search(["layers.onnx", "--budget=3"], "2/2")
    assert found["status"] == 0 and found["record"]["part"] == "2/2" and found["tuning"].startswith('{"hewn_tuning"')
    refused = searcher.search(["layers.onnx", "--budget=never"], "2/2")
    assert refused["status"] == 2 and refused["tuning"] is None and refused["record"] is None
    assert "never" in nodes.error_of(refused["said"])


def test_a_node_is_stopped(searcher):
    """While it searches: it has what was found. Afterwards it searches nothing."""
    found = {}
    search = threading.Thread(target=lambda: found.update(searcher.search(["layers.onnx", "--budget=100"], "1/1")))
    search.start()
    while searcher.process is None:
        time.sleep(0.05)
    time.sleep(6)
    searcher.stop()
    search.join(timeout=60)
    assert found["status"] == 130 and found["record"]["interrupted"]
    assert searcher.search(["layers.onnx"], "1/1")["status"] == 130


# With Ray.


class Cluster:
    """Nodes on this machine, each with a `hewn` of its own, which tells when it begins a part."""

    def __init__(self, folder):
        cluster_utils = pytest.importorskip(
            "ray.cluster_utils", reason="ray is not installed: tools/requirements/serving.txt"
        )
        self.folder, self.log, self.nodes = folder, folder / "log", {}
        self.log.touch()
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by Ray's own choice, which beside other work is never
        # A node that is killed is known to be so at once.
        health = {
            "health_check_initial_delay_ms": 1000,
            "health_check_period_ms": 500,
            "health_check_timeout_ms": 2000,
            "health_check_failure_threshold": 3,
        }
        head = {"num_cpus": 0, "_system_config": health, "include_dashboard": False}
        self.cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)

    def add(self, name, script=None):
        """A node whose hewn is such a script; without one it has none."""
        tools = self.folder / name
        tools.mkdir()
        if script:
            tells = f'case "$*" in *--part=*) echo "{name} $$ $*" >> {self.log};; esac'
            write(tools / "hewn", f"#!/bin/sh\n{tells}\n{script}\n")
            (tools / "hewn").chmod(0o755)
        environment = {"HEWN_TOOLS": str(tools), "TMPDIR": str(self.scratch)}
        self.nodes[name] = self.cluster.add_node(num_cpus=1, env_vars=environment, wait=False)

    def kill(self, name):
        self.cluster.remove_node(self.nodes.pop(name), allow_graceful=False)

    def begun(self):
        """(node, process, part) of each search that has begun."""
        lines = self.log.read_text().splitlines()
        return [(line.split()[0], int(line.split()[1]), re.search(r"--part=(\S+)", line)[1]) for line in lines]

    def wait_for(self, count):
        deadline = time.monotonic() + 90
        while len(self.begun()) < count:
            assert time.monotonic() < deadline, f"only {self.begun()} have begun"
            time.sleep(0.1)

    def start(self, model, output, *flags):
        command = [sys.executable, "-m", "hewn_batch.tune", model, "-o", output, "--address", self.cluster.address]
        return subprocess.Popen(
            [*map(str, command), *flags], stderr=subprocess.PIPE, text=True, cwd=ROOT / "integrations/batch"
        )


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.cluster.shutdown()


def is_running(process):
    return os.path.exists(f"/proc/{process}") and "zombie" not in pathlib.Path(f"/proc/{process}/status").read_text()


def test_a_cluster_of_two_machines_with_a_node_killed(cluster, model, tmp_path):
    """Three nodes of one machine, one of another one, and two that can't search. One of the three is killed while it searches: its part is
    searched by another of the three, and every kind of kernel of both machines is in the file."""
    for name in ("a0", "a1", "a2"):
        cluster.add(name, f'exec {TOOL} "$@"')
    cluster.add("b", f'exec {TOOL} "$@" --target=x86-64-v2')
    cluster.add("other", f'{TOOL} "$@" | sed \'s/"hewn": *"[^"]*"/"hewn": "0.0.7"/\'')
    cluster.add("none")
    cluster.cluster.wait_for_nodes()
    search = cluster.start(model, tmp_path / "all.tune", "--budget", "15s")
    told = []
    reader = threading.Thread(target=lambda: told.extend(search.stderr))
    reader.start()
    cluster.wait_for(4)
    time.sleep(1)
    ((_, process, part),) = [one for one in cluster.begun() if one[0] == "a1"]
    cluster.kill("a1")
    assert search.wait(timeout=100) == 0, told
    reader.join()
    told = "".join(told)
    machine, kinds = explained(model)
    other, other_kinds = explained(model, "x86-64-v2")
    assert rows_of(tmp_path / "all.tune") == {machine: kinds, other: other_kinds}, told
    begun = cluster.begun()
    assert sorted(begun[:4])[0][0] == "a0" and sorted((name[0], part) for name, _, part in begun[:4]) == [
        ("a", "1/3"),
        ("a", "2/3"),
        ("a", "3/3"),
        ("b", "1/1"),
    ]
    ((again, _, part_again),) = begun[4:]
    assert again in ("a0", "a2") and part_again == part
    assert re.search(rf"is left out: it is gone; part {part} of {re.escape(machine)} is for another node", told), told
    assert re.search(r"is left out: it has hewn 0\.0\.7, and this is \d", told), told
    assert "is left out: it has no hewn" in told and "is left out: Ray may use no processor of it" in told
    assert not is_running(process)  # what the killed node has searched with


def test_a_node_with_other_work(cluster, model, tmp_path):
    """It is told, and the parts of both nodes are searched by the one that is free. What a node has written is gone afterwards."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    for name in ("free", "busy"):
        cluster.add(name, f'exec {TOOL} "$@"')
    cluster.cluster.wait_for_nodes()
    ray.init(address=cluster.cluster.address, log_to_driver=False)
    try:
        there = NodeAffinitySchedulingStrategy(cluster.nodes["busy"].node_id, soft=False)
        held = ray.remote(num_cpus=1)(lambda: time.sleep(600)).options(scheduling_strategy=there).remote()
        deadline = time.monotonic() + 60
        while ray.available_resources().get("CPU") != 1:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        search = cluster.start(model, tmp_path / "all.tune", "--budget", "12s")
        assert search.wait(timeout=100) == 0, search.stderr.read()
        ray.cancel(held, force=True)
    finally:
        ray.shutdown()
    told = search.stderr.read()
    assert re.search(r"\) is not free yet: it takes part when other work of the cluster there has ended", told), told
    assert [(name, part) for name, _, part in cluster.begun()] == [("free", "1/2"), ("free", "2/2")]
    assert rows_of(tmp_path / "all.tune") == {explained(model)[0]: explained(model)[1]}, told
    assert list(cluster.scratch.glob("hewn-tune-*")) == []


def test_a_part_that_is_refused_and_ctrl_c(cluster, model, tmp_path):
    """A part that two nodes have refused is an error, and what others have found is written. So is what there is at Ctrl-C."""
    refuses = tmp_path / "refuses"
    refuses.touch()
    script = f'if [ -e {refuses} ]; then case "$*" in *--part=2/2*) echo "error: no luck" >&2; exit 1;; esac; fi'
    for name in ("a0", "a1"):
        cluster.add(name, f'{script}\nexec {TOOL} "$@"')
    cluster.cluster.wait_for_nodes()
    machine, kinds = explained(model)
    search = cluster.start(model, tmp_path / "1.tune", "--budget", "6s")
    assert search.wait(timeout=90) == 1
    told = search.stderr.read()
    assert f"error: part 2/2 of {machine} was not searched: no luck\n" in told and told.count("failed: no luck") == 2
    assert rows_of(tmp_path / "1.tune") == {machine: kinds}, told
    begun = cluster.begun()
    assert sorted((name, part) for name, _, part in begun if part == "2/2") == [("a0", "2/2"), ("a1", "2/2")]
    refuses.unlink()
    search = cluster.start(model, tmp_path / "2.tune", "--budget", "500s")
    cluster.wait_for(len(begun) + 2)
    time.sleep(8)
    search.send_signal(signal.SIGINT)
    assert search.wait(timeout=60) == 130, search.stderr.read()
    told = search.stderr.read()
    assert "Ctrl-C: the searches end with what they have" in told
    assert rows_of(tmp_path / "2.tune") == {machine: kinds}, told
    assert not any(is_running(process) for _, process, _ in cluster.begun())
