# SPDX-License-Identifier: Apache-2.0
"""Tests artifacts and caches on disk: after a full disk, a killed process or concurrent processes,
each file is complete or absent."""

import os
import pathlib
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

import hewn
import models
import numpy as np
import onnx
import pytest

HERE = pathlib.Path(__file__).parent
TOOL = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
X = np.linspace(-1, 1, 256, dtype=np.float32)


def weighted(factor, size=256):
    """Returns a model that multiplies x by a matrix of `size` x `size` floats equal to `factor`."""
    weight = np.full((size, size), factor, np.float32)
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
    shape = [1, size]
    return models.model(
        nodes, [("x", onnx.TensorProto.FLOAT, shape)], [("y", onnx.TensorProto.FLOAT, shape)], [("w", weight)]
    )


def answer(factor):
    return np.full((1, 256), X.sum() * factor, np.float32)


def is_answer(module, factor):
    return np.allclose(module.run({"x": X[None]})["y"], answer(factor), atol=1e-3)


def save(folder, factor):
    path = folder / f"m{factor}.onnx"
    onnx.save(weighted(factor), path)
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def limited(bytes):
    """Returns a function that limits the size of files to a number of bytes, to simulate a full
    disk. The child process calls it before it starts."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, bytes))

    return limit


def hewn_tool(*arguments, **options):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


# Tests of failed writes of artifacts


# With a limit of 1 byte, writing fails in the object; with 20 KB in the linked library; with 100 KB
# in the weights (256 KiB).
@pytest.mark.parametrize("room", [1, 20_000, 100_000])
@pytest.mark.parametrize("suffix", ["so", "a", "o"])
def test_a_full_disk_leaves_the_artifact_of_before(tmp_path, room, suffix):
    work = tmp_path / "work"
    work.mkdir()
    first, second = save(tmp_path, 1), save(tmp_path, 2)
    output = work / f"libm.{suffix}"
    assert hewn_tool("compile", first, "-o", output).returncode == 0
    before = contents(work)
    assert set(before) == {
        output.name,
        "m.h" if suffix != "o" else "libm.h",
        "m.weights" if suffix == "so" else f"{output.name}.weights",
    }
    done = hewn_tool(
        "compile",
        second,
        "-o",
        output,
        "--cache-dir",
        tmp_path / "cache",
        preexec_fn=limited(room),
        restore_signals=False,
    )
    assert done.returncode == 1 and done.stderr.startswith("error: ")
    assert "File too large" in done.stderr and "LLVM ERROR" not in done.stderr
    assert contents(work) == before
    # The failed compile leaves no incomplete entry in the cache.
    assert hewn_tool("compile", second, "-o", output, "--cache-dir", tmp_path / "cache").returncode == 0
    if suffix == "so":
        assert is_answer(hewn.load(output), 2)


def test_a_full_file_system_of_temporary_files(tmp_path):
    """lld writes to mapped memory and reports no reason if the file system has no space for it."""
    model, full = save(tmp_path, 1), tmp_path / "full"
    full.mkdir()
    # A user namespace may mount a file system without privileges.
    own = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*own, "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespaces: unshare is missing or not permitted")
    script = f"mount -t tmpfs -o size=48k none {full} && TMPDIR={full} {TOOL} compile {model} -o {tmp_path}/m.so"
    done = subprocess.run([*own, "sh", "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert re.fullmatch(
        rf"error: linking failed: the file system of '{full}/hewn-\w+/[\w.]+' has only \d+ kB left\n", done.stderr
    )
    assert not (tmp_path / "m.so").exists()


def test_a_full_disk_is_an_error_of_python_s(tmp_path):
    script = f"""
import resource, sys
sys.path.insert(0, {str(HERE)!r})
import hewn, test_files
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    hewn.compile(test_files.weighted(1), output={str(tmp_path / "m.so")!r})
except hewn.CompileError as problem:
    print(problem)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(test_files.is_answer(hewn.compile(test_files.weighted(1), output={str(tmp_path / "m.so")!r}), 1))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == f"can't write {tmp_path}/m.so.weights: File too large" and second == "True"


def test_a_full_output_stream_is_an_error(tmp_path):
    model = save(tmp_path, 1)
    with pathlib.Path("/dev/full").open("w") as full:
        for arguments in (["compile", model, "--emit=graph"], ["help"], ["--version"], ["help", "compile"]):
            done = subprocess.run([TOOL, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            assert done.returncode == 1
            assert done.stderr == "error: can't write to the standard output: No space left on device\n"
    done = hewn_tool("compile", model, "--emit=graph", "-o", "/dev/full")
    assert (done.returncode, done.stderr) == (1, "error: can't write /dev/full: No space left on device\n")


# Output paths


def test_a_device_and_a_fifo_are_written_to(tmp_path):
    model = save(tmp_path, 1)
    text = hewn_tool("compile", model, "--emit=graph").stdout
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()))
    reader.start()
    assert hewn_tool("compile", model, "--emit=graph", "-o", fifo).returncode == 0
    reader.join()
    assert read == [text] and stat.S_ISFIFO(fifo.lstat().st_mode)
    # The output path is a pseudo-terminal, a device that needs no privileges.
    ours, theirs = os.openpty()
    name = os.ttyname(theirs)
    assert hewn_tool("compile", model, "--emit=header", "-o", name).returncode == 0
    assert b"#ifndef" in os.read(ours, 100) and stat.S_ISCHR(os.lstat(name).st_mode)
    for file in (ours, theirs):
        os.close(file)
    # If the output path is a FIFO, the weights and the header are written to its folder.
    library = tmp_path / "libm.so"
    os.mkfifo(library)
    reader = threading.Thread(target=lambda: read.append(library.read_bytes()))
    reader.start()
    assert hewn_tool("compile", model, "-o", library).returncode == 0
    reader.join()
    assert read[1].startswith(b"\x7fELF") and (tmp_path / "m.weights").exists()


def test_what_is_open_is_written_to(tmp_path):
    model = save(tmp_path, 1)
    text = hewn_tool("compile", model, "--emit=graph").stdout
    assert hewn_tool("compile", model, "--emit=graph", "-o", "/dev/stdout").stdout == text
    assert hewn_tool("compile", model, "--emit=graph", "-o", "-").stdout == text
    with (tmp_path / "out.txt").open("w") as out:
        link = tmp_path / "out"
        link.symlink_to(f"/proc/self/fd/{out.fileno()}")
        hewn_tool("compile", model, "--emit=graph", "-o", link, pass_fds=[out.fileno()])
    assert (tmp_path / "out.txt").read_text() == text and link.is_symlink()


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path):
    """If the output path is a symbolic link, the link is replaced and its target does not change,
    as with `cc -o`."""
    model = save(tmp_path, 1)
    (tmp_path / "real").write_text("mine")
    link = tmp_path / "m.so"
    link.symlink_to("real")
    assert hewn_tool("compile", model, "-o", link).returncode == 0
    assert (tmp_path / "real").read_text() == "mine" and not link.is_symlink()
    assert is_answer(hewn.load(link), 1)


def test_modes_are_those_of_cc(tmp_path):
    done = hewn_tool("compile", save(tmp_path, 1), "-o", tmp_path / "m.so", preexec_fn=lambda: os.umask(0o027))
    assert done.returncode == 0
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("m.*")}
    assert modes == {".so": 0o750, ".h": 0o640, ".weights": 0o640}


# Tests of the contents of the cache


def kept(cache):
    return sorted(
        path for path in cache.iterdir() if path.name.startswith("llvmcache-") and ".timestamp" not in path.name
    )


def test_an_equal_compile_takes_what_is_kept(tmp_path):
    cache, first, again = tmp_path / "cache", tmp_path / "first", tmp_path / "again"
    for folder in (first, again):
        folder.mkdir()
    hewn.compile(weighted(1), output=first / "m.so", cache_dir=cache)
    times = {path: path.stat().st_mtime_ns for path in kept(cache)}
    hewn.compile(weighted(1), output=again / "m.so", cache_dir=cache)
    assert contents(first) == contents(again)
    # The second compile of the same model wrote no cache entry.
    assert {path: path.stat().st_mtime_ns for path in kept(cache)} == times
    hewn.compile(weighted(1), output=again / "m.so", cache_dir=cache, precision="medium")
    assert set(kept(cache)) > set(times)


def spoil(path, how):
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    path.write_bytes({"gone": b"", "short": whole[: len(whole) // 2], "changed": bytes(changed)}[how])
    return whole


@pytest.mark.parametrize("how", ["gone", "short", "changed"])
def test_what_is_damaged_in_a_cache_is_made_again(tmp_path, how):
    cache, path = tmp_path / "cache", tmp_path / "m.so"
    hewn.compile(weighted(3), output=path, cache_dir=cache)
    made = {suffix: path.with_suffix(suffix).read_bytes() for suffix in (".so", ".h", ".so.weights")}
    entries = kept(cache)
    assert len(entries) >= 6  # entries: the code, the names, the artifact's entry and its three files
    for entry in entries:
        whole = spoil(entry, how)
        module = hewn.compile(weighted(3), output=path, cache_dir=cache)
        assert is_answer(module, 3)
        assert {suffix: path.with_suffix(suffix).read_bytes() for suffix in made} == made
        # The cached code is read only if the artifact is not cached, so remove the cache entries of
        # the artifact.
        if entry.read_bytes() != whole:
            for other in kept(cache):
                if other.name.endswith("-names"):
                    other.unlink()
            hewn.compile(weighted(3), output=path, cache_dir=cache)
        assert entry.read_bytes() == whole


def test_external_data_are_a_part_of_the_key(tmp_path):
    model, cache = tmp_path / "model.onnx", tmp_path / "cache"
    onnx.save(weighted(1), model, save_as_external_data=True, location="model.data", size_threshold=0)
    made = {}
    # the compiler does not cache a file whose time is later than the start of the compile
    time.sleep(0.05)
    for factor in (1, 2, 3):
        (tmp_path / "model.data").write_bytes(np.full((256, 256), factor, np.float32).tobytes())
        time.sleep(0.05)
        assert is_answer(hewn.compile(model, output=tmp_path / "m.so", cache_dir=cache), factor)
        made[factor] = (tmp_path / "m.so.weights").read_bytes()
    entries = {path: path.stat().st_mtime_ns for path in kept(cache)}
    for factor in (2, 1, 3):  # each factor has an entry of its own
        (tmp_path / "model.data").write_bytes(np.full((256, 256), factor, np.float32).tobytes())
        time.sleep(0.05)
        assert is_answer(hewn.compile(model, output=tmp_path / "m.so", cache_dir=cache), factor)
        assert (tmp_path / "m.so.weights").read_bytes() == made[factor]
    assert {path: path.stat().st_mtime_ns for path in kept(cache)} == entries


def test_compiles_killed_at_random_leave_a_cache_that_is_right(tmp_path):
    models_ = {factor: save(tmp_path, factor) for factor in (1, 2, 3)}
    cache, end, running, killed = tmp_path / "cache", time.monotonic() + 4, [], 0
    dice = random.Random(0)
    outputs = tmp_path / "out"
    outputs.mkdir()
    while time.monotonic() < end:
        if len(running) < 4:
            factor = dice.choice(list(models_))
            # Some of the compiles write different models to one path, which may contain any of
            # these models at the end.
            output = outputs / f"{dice.choice(['one', f'own{factor}'])}.so"
            arguments = [TOOL, "compile", models_[factor], "-o", output, "--cache-dir", cache]
            running.append(subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(dice.uniform(0, 0.08))
        victim = dice.choice(running)
        if victim.poll() is None and dice.random() < 0.5:
            victim.kill()
            killed += 1
        running = [process for process in running if process.poll() is None]
        if dice.random() < 0.1:  # removes random entries concurrently
            for path in kept(cache) if cache.exists() else []:
                if dice.random() < 0.2:
                    path.unlink(missing_ok=True)
    for process in running:
        process.kill()
        process.wait()
    assert killed > 3
    # No temporary file of a killed writer remains.
    assert {path.suffix for path in outputs.iterdir()} <= {".so", ".h", ".weights"}
    for factor, model in models_.items():
        for _ in range(2):
            done = hewn_tool("compile", model, "-o", outputs / "own.so", "--cache-dir", cache)
            assert done.returncode == 0, done.stderr
            assert is_answer(hewn.load(outputs / "own.so"), factor)
    for library in outputs.glob("*.so"):
        try:
            module = hewn.load(library, verify=True)
        except hewn.RunError as problem:  # a writer was killed between the two files
            assert "belongs to another model" in str(problem) or "does not exist" in str(problem)
        else:
            assert any(is_answer(module, factor) for factor in models_)


# Tests of concurrent readers of the cache and of artifacts


def test_a_library_and_its_weights_are_of_one_compile(tmp_path):
    path, cache = tmp_path / "m.so", tmp_path / "cache"
    for factor in (1, 2):
        hewn.compile(weighted(factor), output=path, cache_dir=cache)
    stop, seen, wrong = threading.Event(), [], []

    def read():
        while not stop.is_set():
            try:
                module = hewn.load(path)
            except hewn.RunError as problem:
                seen.append("error")
                if "belongs to another model" not in str(problem):
                    wrong.append(str(problem))
                continue
            right = [factor for factor in (1, 2) if is_answer(module, factor)]
            seen.extend(right)
            if not right:
                wrong.append("neither model")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    end = time.monotonic() + 2
    while time.monotonic() < end:
        for factor in (1, 2):
            hewn.compile(weighted(factor), output=path, cache_dir=cache)
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert {1, 2} <= set(seen)


def test_two_compiles_to_one_path_are_two_models(tmp_path):
    path = tmp_path / "m.so"
    alive = []
    for factor in (1, 2, 3, 2):
        alive.append((factor, hewn.compile(weighted(factor), output=path)))
    for factor, module in alive:
        assert is_answer(module, factor)
    # Loading a file twice yields the same model.
    for factor in (2, 2):
        alive.append((factor, hewn.load(path)))
    del alive[0]
    alive.append((5, hewn.compile(weighted(5), output=path)))
    for factor, module in alive:
        assert is_answer(module, factor)


# Weights


def test_damaged_weights_are_found_when_asked_for(tmp_path):
    path = tmp_path / "m.so"
    hewn.compile(weighted(1), output=path)
    assert is_answer(hewn.load(path, verify=True), 1)
    assert is_answer(hewn.load(path, verify=True, copy_weights=True), 1)
    spoil(tmp_path / "m.so.weights", "changed")
    hewn.load(path)
    for copy in (False, True):
        with pytest.raises(hewn.RunError, match=r"m\.so\.weights' is damaged: the checksum does not match the data"):
            hewn.load(path, verify=True, copy_weights=copy)
    np.save(tmp_path / "x.npy", X[None])
    run = ["run", path, "--input", f"x={tmp_path / 'x.npy'}"]
    assert hewn_tool(*run).returncode == 0
    done = hewn_tool(*run, "--verify")
    assert done.returncode == 1 and "is damaged" in done.stderr


@pytest.mark.parametrize("size", [1, 255, 256, 513])
def test_checksums_of_weights_of_any_size(tmp_path, size):
    """Damage is detected in weights of any size. Checksums cover blocks of 1 MiB, and the last
    block is shorter."""
    hewn.compile(weighted(1, size), output=tmp_path / "m.so")
    hewn.load(tmp_path / "m.so", verify=True)


def test_a_copy_of_the_weights_knows_nothing_of_the_file(tmp_path):
    path = tmp_path / "m.so"
    hewn.compile(weighted(1), output=path)
    copied = hewn.load(path, copy_weights=True)
    os.truncate(tmp_path / "m.so.weights", 0)
    assert is_answer(copied, 1)
    (tmp_path / "m.so.weights").write_bytes(b"")
    del copied
    with pytest.raises(hewn.RunError, match="is truncated"):
        hewn.load(path, copy_weights=True)


def test_a_copy_is_asked_for_by_the_first(tmp_path):
    path = tmp_path / "m.so"
    hewn.compile(weighted(1), output=path)
    mapped = hewn.load(path)
    with pytest.raises(hewn.RunError, match="which another context has mapped already"):
        hewn.load(path, copy_weights=True)
    del mapped
    assert is_answer(hewn.load(path, copy_weights=True), 1)


@pytest.mark.parametrize("place", ["pipe", "endless"])
def test_a_header_of_before_that_is_no_file(tmp_path, place):
    """If the path of the header is no regular file, the compiler writes to it, as a C compiler does
    with -o, but does not read it first: reading a pipe can block, and a device can be endless."""
    header, got = tmp_path / "m.h", []
    os.mkfifo(header) if place == "pipe" else header.symlink_to("/dev/zero")
    reader = threading.Thread(target=lambda: got.append(header.read_text()), daemon=True)
    if place == "pipe":
        reader.start()
    model = tmp_path / "m.onnx"
    model.write_bytes(models.deep(2).SerializeToString())
    subprocess.run([TOOL, "compile", model, "-o", tmp_path / "m.so", "--quiet"], check=True, timeout=60)
    assert not header.is_file()
    if place == "pipe":
        reader.join(10)
        assert "hewn_model" in got[0]
