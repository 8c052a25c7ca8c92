# SPDX-License-Identifier: Apache-2.0
"""Tests hewn_batch.tune on a Ray cluster: the assignment of parts of a search to nodes, a killed
node, nodes that cannot search, Ctrl-C. Tests without Ray cover the messages to a node and the
search on a node."""

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
    """Writes a model of four matmuls with weights in an external file, and one matmul of two
    inputs. The five kernels have different tuning keys. The last one has so many candidates that no
    search in these tests finishes.
    """
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
    """Returns the description of the target, and the tuning keys of the kernels that a search
    covers."""
    done = subprocess.run(
        [TOOL, "explain", "--json", model, "--target", target], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    return told["machines"][0], {k["tuning_key"] for k in told["variants"][0]["kernels"] if k["tuning_key"]}


def rows_of(path):
    """Returns the tuning keys in a tuning file, as a dict from targets to keys."""
    rows = {}
    for line in path.read_text().splitlines()[1:]:
        row = json.loads(line)
        rows.setdefault(row["machine"], set()).add(row["kernel"])
    return rows


# Tests of tuning without a Ray cluster.


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
        ("--calibrate", "none", "--calibrate requires a folder, but 'none' is not a folder"),
        ("--custom-ops", "ops.json", "'ops.json' links '/lib/ops.o', which is not a file in its folder"),
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
            "--part cannot be used here: each node gets its part automatically",
        ),
        (["MODEL", "-o", "o.tune", "--json"], 2, "--json cannot be used here"),
        (["MODEL"], 2, "the following arguments are required: -o"),
        (["MODEL", "-o", "o.tune", "--budgt", "4"], 2, "unrecognized arguments: --budgt"),
        (["none.onnx", "-o", "o.tune"], 1, "error: can't read none.onnx: No such file or directory"),
        (["MODEL", "-o", "MODEL"], 1, "is also the model or another file of this command"),
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
    assert "error: hewn is not installed on this machine" in capfd.readouterr().err


def test_a_flag_of_hewn_tune_is_a_flag_here():
    """hewn_batch.tune accepts every flag that the help of hewn tune lists, with and without a
    value."""
    listed = subprocess.run([TOOL, "help", "tune"], capture_output=True, text=True, check=True).stdout
    parser, names = tune.make_parser(listed)
    given = parser.parse_args(["m.onnx", "-o", "f", "--dim", "n=1", "--dim=m=2", "-O0", "--budget", "9s"])
    assert tune.flags_given(given, names) == [("--budget", "9s"), ("--dim", "n=1"), ("--dim", "m=2"), ("-O0", None)]
    assert given.output == "f" and given.address == "auto"
    assert len(names) + len(tune.USELESS) + 1 == len(re.findall(r"^  -", listed, re.MULTILINE))


def test_which_machine_a_node_is(model, tmp_path, monkeypatch):
    """A node reports its target as hewn tune writes it, or the reason why it cannot search."""
    for target in ("host", "x86-64-v2"):
        told = nodes.ask([f"--target={target}"])
        assert told["machine"] == explained(model, target)[0] and told["cpu"] and re.match(r"\d+\.\d+", told["hewn"])
    assert "this machine cannot run code for 'neoverse-n1'" in nodes.ask(["--target=neoverse-n1"])["problem"]
    for script, told in [("echo '{}'", "cannot search for schedules"), ("echo no >&2; exit 1", "^no$")]:
        monkeypatch.setenv("HEWN_TOOLS", str(pathlib.Path(write(tmp_path / "hewn", f"#!/bin/sh\n{script}\n")).parent))
        (tmp_path / "hewn").chmod(0o755)
        assert re.search(told, nodes.ask([])["problem"])
    monkeypatch.setattr(nodes, "find_hewn", lambda: None)
    assert nodes.ask([]) == {"problem": "hewn is not installed"}


@pytest.fixture
def searcher(model):
    """A node's searcher that has received the files of the model."""
    made = nodes.Searcher()
    for file in (model, model.parent / "layers.data"):
        (pathlib.Path(made.folder) / file.name).write_bytes(file.read_bytes())
    yield made
    made.close()
    assert not pathlib.Path(made.folder).exists()


def test_a_node_searches_a_part(searcher, model):
    found = searcher.search(["layers.onnx", "--budget=3"], "2/2")
    assert found["status"] == 0 and found["record"]["part"] == "2/2" and found["tuning"].startswith('{"hewn_tuning"')
    refused = searcher.search(["layers.onnx", "--budget=never"], "2/2")
    assert refused["status"] == 2 and refused["tuning"] is None and refused["record"] is None
    assert "never" in nodes.error_of(refused["said"])


def test_a_node_is_stopped(searcher):
    """When a node is stopped, it returns the results found so far and starts no other search."""
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


# Tests of tuning on a Ray cluster.


class Cluster:
    """A Ray cluster of several nodes on this host. The `hewn` of each node is a script that writes
    to a log when it starts to search a part."""

    def __init__(self, folder):
        cluster_utils = pytest.importorskip(
            "ray.cluster_utils", reason="ray is not installed: tools/requirements/serving.txt"
        )
        self.folder, self.log, self.nodes = folder, folder / "log", {}
        self.log.touch()
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # with Ray's default of 15, workers do not run on a busy computer
        os.environ.setdefault("RAY_worker_niceness", "0")
        # Ray then detects a killed node within seconds.
        health = {
            "health_check_initial_delay_ms": 1000,
            "health_check_period_ms": 500,
            "health_check_timeout_ms": 2000,
            "health_check_failure_threshold": 3,
        }
        head = {"num_cpus": 0, "_system_config": health, "include_dashboard": False}
        self.cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)

    def add(self, name, script=None):
        """Adds a node whose `hewn` is the given script. Without a script, the node has no
        `hewn`."""
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
        """Returns (node, process, part) for each search that has started on a node."""
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
    return (
        pathlib.Path(f"/proc/{process}").exists()
        and "zombie" not in pathlib.Path(f"/proc/{process}/status").read_text()
    )


def test_a_cluster_of_two_machines_with_a_node_killed(cluster, model, tmp_path):
    """The cluster has three nodes of one target, one node of another target, and two nodes that
    cannot search. One of the three nodes is killed while it searches. Then another one of the three
    searches its part, and the written file contains every kernel for both targets."""
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
    assert re.search(rf"is skipped: it is gone; another node will search part {part} of {re.escape(machine)}", told), (
        told
    )
    assert re.search(r"is skipped: it has hewn 0\.0\.7, but this machine has \d", told), told
    assert "is skipped: hewn is not installed" in told and "is skipped: Ray has no processors on it" in told
    assert not is_running(process)  # the search process of the killed node


def test_a_node_with_other_work(cluster, model, tmp_path):
    """A node that is busy with other work is reported, and the free node also searches the part of
    the busy one. The temporary files of the nodes are removed."""
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
    assert re.search(r"\) is busy: it will join when other Ray tasks on it have finished", told), told
    assert [(name, part) for name, _, part in cluster.begun()] == [("free", "1/2"), ("free", "2/2")]
    assert rows_of(tmp_path / "all.tune") == {explained(model)[0]: explained(model)[1]}, told
    assert list(cluster.scratch.glob("hewn-tune-*")) == []


def test_a_part_that_is_refused_and_ctrl_c(cluster, model, tmp_path):
    """If a part of the search fails on two nodes, that is an error, but the results of other nodes
    are written. After Ctrl-C, the results found so far are written, too."""
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
    assert "Ctrl-C: stopping the searches and keeping their results" in told
    assert rows_of(tmp_path / "2.tune") == {machine: kinds}, told
    assert not any(is_running(process) for _, process, _ in cluster.begun())
