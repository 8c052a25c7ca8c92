# SPDX-License-Identifier: Apache-2.0
"""Tests that a process can fork, be interrupted and exit while it compiles or runs models."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import models
import pytest

HERE = pathlib.Path(__file__).parent
START = f"""
import os, signal, sys, threading, time
sys.path.insert(0, {str(HERE)!r})
import hewn, models
import numpy as np
"""


def python(script, **options):
    return subprocess.Popen(
        [sys.executable, "-c", START + script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def ends(process, status=0):
    out, err = process.communicate(timeout=120)
    assert process.returncode == status, (process.returncode, err)
    return out


def test_a_child_of_fork_compiles_and_runs():
    """A child process can compile and run. Its parent has a thread pool, which fork does not copy,
    and has already called the linker."""
    script = """
x = np.ones((8, 32), np.float32)
module = hewn.compile(models.deep(4), threads=4)
name, = [t.name for t in module.inputs]
want = module.run({name: x})
def child():
    for _ in range(3):
        for key, value in module.run({name: x}).items():
            np.testing.assert_array_equal(value, want[key])
    more = hewn.compile(models.deep(5), threads=2)
    more.run({name: x})
def wait(pid):
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
pid = os.fork()
if pid == 0:
    child()
    pid = os.fork()  # starts a grandchild
    if pid == 0:
        child()
        sys.exit(0)
    wait(pid)
    sys.exit(0)  # exits through Python's normal shutdown
wait(pid)
module.run({name: x})
print("done")
"""
    assert ends(python(script)) == "done\n"


def interrupted(script, ready, delay):
    """Runs a script and sends it SIGINT `delay` seconds after it prints `ready`. Returns its exit
    status and output."""
    process = python(script)
    assert process.stdout.readline() == ready + "\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize("delay", [0.05, 0.3])
def test_an_interrupted_compile_leaves_nothing(tmp_path, delay):
    folder, scratch = tmp_path / "out", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    script = f"""
import tempfile
tempfile.tempdir = os.environ["TMPDIR"] = {str(scratch)!r}
try:
    print("ready", flush=True)
    for n in range(1000):
        hewn.compile(models.deep(12), output={str(folder / "m.so")!r})
        before = sorted(os.listdir({str(folder)!r}))
except KeyboardInterrupt:
    print("interrupted")
"""
    status, out, err = interrupted(script, "ready", delay)
    assert (status, out) == (0, "interrupted\n"), err
    assert {path.name for path in folder.iterdir()} in (set(), {"m.so", "m.h", "m.so.weights"})
    assert not list(scratch.iterdir())


def test_ctrl_c_cancels_a_compile(tmp_path):
    """The exception is raised before the compile ends, which therefore writes nothing. The module
    can compile afterwards."""
    script = f"""
large = models.deep(300)
try:
    print("ready", flush=True)
    hewn.compile(large, output={str(tmp_path / "m.so")!r})
except KeyboardInterrupt:
    print("interrupted", os.listdir({str(tmp_path)!r}))
    hewn.compile(models.deep(1), output={str(tmp_path / "n.so")!r})
"""
    status, out, err = interrupted(script, "ready", 0.3)
    assert (status, out) == (0, "interrupted []\n"), err
    assert (tmp_path / "n.so").exists()


def test_an_interrupted_run_ends():
    script = """
module = hewn.compile(models.deep(4))
x = np.ones((8, 32), np.float32)
name, = [t.name for t in module.inputs]
try:
    print("ready", flush=True)
    while True:
        module.run({name: x})
except KeyboardInterrupt:
    module.run({name: x})  # the module still works after the interrupted run
    print("interrupted")
"""
    status, out, err = interrupted(script, "ready", 0.3)
    assert (status, out) == (0, "interrupted\n"), err


ENDLESS = """
import hewn.compat
import onnx, signal
def endless():
    h = onnx.helper
    step = [
        h.make_node("MatMul", ["v", "w"], ["product"]),
        h.make_node("Tanh", ["product"], ["next"]),
        h.make_node("Identity", ["go"], ["again"]),
    ]
    value = lambda name, shape, kind=onnx.TensorProto.FLOAT: h.make_tensor_value_info(name, kind, shape)
    body = h.make_graph(
        step,
        "body",
        [value("i", [], onnx.TensorProto.INT64), value("go", [], onnx.TensorProto.BOOL), value("v", [4, 32])],
        [value("again", [], onnx.TensorProto.BOOL), value("next", [4, 32])],
    )
    loop = h.make_node("Loop", ["steps", "", "x"], ["y"], body=body)
    graph = h.make_graph(
        [loop],
        "endless",
        [value("steps", [], onnx.TensorProto.INT64), value("x", [4, 32]), value("w", [32, 32])],
        [value("y", [4, 32])],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=10)
module = hewn.compile(endless(), threads=2)
feeds = {"steps": np.int64(2**62), "x": np.ones((4, 32), np.float32), "w": np.ones((32, 32), np.float32)}
few = feeds | {"steps": np.int64(3)}
"""


def test_ctrl_c_ends_a_run():
    """A run of years ends within a fraction of a second, and the module runs afterwards."""
    script = f"""{ENDLESS}
before = module.run(few)["y"]
handled = []
signal.signal(signal.SIGUSR1, lambda *_: handled.append(time.monotonic()))
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.5, interrupt).start()
try:
    module.run(feeds)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent, len(handled))
np.testing.assert_array_equal(module.run(few)["y"], before)
print("done")
"""
    first, last = ends(python(script)).splitlines()
    word, seconds, handled = first.split()
    assert (word, handled, last) == ("interrupted", "1", "done")
    assert float(seconds) < 0.2


def test_python_may_end_while_a_daemon_thread_runs_a_model():
    script = """
module = hewn.compile(models.deep(12), threads=2)
x = np.ones((8, 32), np.float32)
name, = [t.name for t in module.inputs]
def forever():
    while True:
        module.run({name: x})
for _ in range(2):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(3):
        process = python(script)
        assert process.communicate(timeout=120) == ("", "") and process.returncode == 0


def until_it_writes(process, scratch):
    """Waits until the folder `scratch` contains a file, or until the process ends."""
    end = time.monotonic() + 60
    while not any(scratch.iterdir()) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_program_leaves_no_folder(tmp_path, number):
    """`hewn run` compiles into a temporary folder, which it removes when it is interrupted."""
    hewn = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    model, scratch = tmp_path / "model.onnx", tmp_path / "scratch"
    scratch.mkdir()
    model.write_bytes(models.deep(300).SerializeToString())
    process = subprocess.Popen(
        [hewn, "run", model],
        env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until_it_writes(process, scratch)
    process.send_signal(number)
    assert process.wait(60) == -number
    assert not any(scratch.iterdir())


@pytest.mark.parametrize("delay", [0.02, 0.3, "while it writes"])
def test_an_interrupted_command_leaves_what_was_there(tmp_path, delay):
    """An interrupted compile ends by the signal, which a shell reports as 130. The files of an
    earlier compile remain complete, and there are no other files."""
    hewn = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    folder, scratch, model = tmp_path / "out", tmp_path / "scratch", tmp_path / "model.onnx"
    folder.mkdir()
    scratch.mkdir()
    command = [hewn, "compile", model, "-o", folder / "m.so", "--quiet"]
    environment = os.environ | {"TMPDIR": str(scratch)}
    model.write_bytes(models.deep(2).SerializeToString())
    subprocess.run(command, env=environment, check=True)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    model.write_bytes(models.deep(400).SerializeToString())
    process = subprocess.Popen(command, env=environment)
    if isinstance(delay, str):
        until_it_writes(process, scratch)
    else:
        time.sleep(delay)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == -signal.SIGINT
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not any(scratch.iterdir())
