# SPDX-License-Identifier: Apache-2.0
"""The runtime on a GPU. Tests the caller's streams and contexts, several devices, copies, the
kernel cache, and the failure of each driver call."""

import concurrent.futures
import contextlib
import ctypes
import pathlib
import sys

import emulated
import hewn
import numpy as np
import pytest

from runtime import (
    BEGIN_RECORDING,
    DROP_GRAPH,
    DROP_STREAM,
    END_RECORDING,
    WAIT,
    HostMemory,
    InContext,
    Loaded,
    Memory,
    on_device,
    tensor,
)

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Target"))
from onnx import TensorProto, helper
from test_ptx import MODELS, model, one

DRIVER = emulated.DRIVER
ADD = one("Add", [[4, 1000]], constants={"w": np.ones((1000,), np.float32)})  # a model with weights


@contextlib.contextmanager
def nothing_left():
    before = DRIVER.emulator_objects()
    yield
    assert DRIVER.emulator_objects() == before


def numbers(seed=0):
    return np.random.default_rng(seed).integers(-1000, 1000, (4, 1000)).astype(np.float32)


@contextlib.contextmanager
def added():
    """Yields the library of a model that adds one to each element."""
    with nothing_left(), emulated.compiled(ADD) as module:
        yield module.artifact
        del module


@pytest.mark.parametrize("own", [False, True])
def test_the_callers_stream(own):
    """Runs with the caller's stream are only enqueued. Later work on the stream sees their
    results."""
    with added() as library, InContext(1, own=own) as here:
        stream = here.stream()
        with Loaded(library, device_stream=stream) as loaded:
            x, y = Memory(numbers()), Memory(numbers() * 0)
            assert DRIVER.emulator_waiting() == 0
            for _ in range(3):
                assert loaded.run([on_device(x, 1)], [on_device(y, 1)]).code == 0
                assert loaded.run([on_device(y, 1)], [on_device(x, 1)]).code == 0
            assert DRIVER.emulator_waiting() > 0
            assert WAIT(stream) == 0
            np.testing.assert_allclose(x.read(), numbers() + 6, rtol=1e-6)
            # The caller may modify a host input when the call returns, and a host output is then
            # complete.
            given = numbers(1)
            assert loaded.run([tensor(given)], [on_device(y, 1)]).code == 0
            given[:] = 0
            np.testing.assert_allclose(y.read(), numbers(1) + 1)
            assert loaded.run([on_device(y, 1)], [tensor(given)]).code == 0
            np.testing.assert_allclose(given, numbers(1) + 2)
            # The next run of the context uses another stream, and waits for the work of the first
            # stream.
            assert loaded.run([on_device(y, 1)], [on_device(x, 1)]).code == 0
            other = here.stream()
            assert loaded.set_stream(other).code == 0
            assert loaded.run([on_device(x, 1)], [on_device(y, 1)]).code == 0
            assert WAIT(other) == 0
            assert DRIVER.emulator_waiting() == 0
            np.testing.assert_allclose(y.read(), numbers(1) + 3, rtol=1e-6)
            # The context's own stream is used: the call returns when the run is complete.
            assert loaded.set_stream(0).code == 0
            assert loaded.run([on_device(y, 1)], [on_device(x, 1)]).code == 0
            assert DRIVER.emulator_waiting() == 0
            # Tests a run whose stream is the handle of the default stream of the driver's context.
            assert loaded.set_stream(1).code == 0
            assert loaded.run([on_device(x, 1)], [on_device(y, 1)]).code == 0
            np.testing.assert_allclose(y.read(), numbers(1) + 5, rtol=1e-6)
            assert loaded.set_stream(stream).code == 0
            # Destroys the context while its work on the stream is still pending.
            assert loaded.run([on_device(y, 1)], [on_device(x, 1)]).code == 0
            assert DRIVER.emulator_waiting() > 0
        x.free()
        y.free()
        assert DROP_STREAM(stream) == 0 and DROP_STREAM(other) == 0


def test_a_stream_that_is_recorded():
    """A run on a stream that the caller captures fails. The capture and the context stay valid."""
    with added() as library, InContext(1) as here:
        stream, graph = here.stream(), ctypes.c_void_p()
        x = Memory(numbers())
        with Loaded(library, device_stream=stream) as loaded:
            assert BEGIN_RECORDING(stream, 1) == 0
            status = loaded.run([on_device(x, 1)], [on_device(x, 1)])
            assert status.code == 1 and b"the caller's stream is being captured" in status.message
            assert END_RECORDING(stream, ctypes.byref(graph)) == 0 and DROP_GRAPH(graph) == 0
            assert loaded.run([on_device(x, 1)], [on_device(x, 1)]).code == 0
            np.testing.assert_allclose(x.read(), numbers() + 1)
        x.free()
        assert DROP_STREAM(stream) == 0


def test_a_linker_that_does_not_link(tmp_path):
    """If the driver's linker fails, the runtime loads the PTX, and caches nothing."""
    with added() as library, emulated.setting("FAIL", "linker"):
        with Loaded(library, device_cache=str(tmp_path).encode()) as loaded:
            y = np.zeros((4, 1000), np.float32)
            assert loaded.run([tensor(numbers())], [tensor(y)]).code == 0
            np.testing.assert_allclose(y, numbers() + 1)
        assert not list(tmp_path.iterdir())


def test_a_stream_of_another_context():
    with added() as library, InContext(0) as here:
        stream = here.stream()
        with InContext(1), Loaded(library, device=1) as loaded:
            status = loaded.set_stream(stream)
            assert status.code == 1 and b"the stream belongs to another CUDA context than the model" in status.message
        failed = Loaded(library, device_stream=12345)
        assert failed.status.code == 5 and b"querying the context of options.device_stream" in failed.status.message
        failed.close()
        assert DROP_STREAM(stream) == 0


def test_several_devices():
    """The runtime keeps one copy of code and weights per device, for any number of contexts."""
    with added() as library, Loaded(library) as first:
        one_device = DRIVER.emulator_allocations()
        with Loaded(library, device=1) as second, Loaded(library, device=1) as third:
            assert DRIVER.emulator_allocations() == one_device + 1
            y = np.zeros((4, 1000), np.float32)
            for loaded in (first, second, third, first):
                assert loaded.run([tensor(numbers())], [tensor(y)]).code == 0
                np.testing.assert_allclose(y, numbers() + 1)
                y[:] = 0
            with InContext(1):
                x = Memory(numbers(2))
                assert third.run([on_device(x, 1)], [tensor(y)]).code == 0
                np.testing.assert_allclose(y, numbers(2) + 1)
                status = first.run([on_device(x, 1)], [tensor(y)])
                assert b"memory of device 0 expected, got that of device 1" in status.message
                x.free()


def test_devices_that_are_not_there():
    with added() as library:
        for number, message in ((2, b"options.device is 2, and the driver finds 2 devices"), (-1, b"negative")):
            loaded = Loaded(library, device=number)
            assert loaded.status.code == 1 and message in loaded.status.message
            loaded.close()
        with pytest.raises(hewn.RunError, match=r"options\.device is 7"):
            hewn.load(library, device=7)


@pytest.mark.parametrize("fail", ["", "no-pinned-memory"])
def test_long_copies(fail):
    """Copies tensors of several staging chunks, and empty tensors."""
    rows = 3_000_001
    outputs = [("s", TensorProto.FLOAT), ("d", TensorProto.FLOAT)]
    nodes = [helper.make_node("Add", ["x", "y"], ["s"]), helper.make_node("Sub", ["x", "y"], ["d"])]
    both = model(nodes, [(name, TensorProto.FLOAT, ["n"]) for name in "xy"], outputs)
    with nothing_left(), emulated.compiled(both) as module, emulated.setting("FAIL", fail):
        for count in (rows, 3, rows, 0, 70000):
            x, y = (np.random.default_rng(i).standard_normal(count).astype(np.float32) for i in (count, 1))
            got = module.run({"x": x, "y": y})
            np.testing.assert_array_equal(got["s"], x + y)
            np.testing.assert_array_equal(got["d"], x - y)
        del module


def at_once(work, arguments):
    """Calls `work` in one thread for each element of `arguments`. Raises the exception of a failed
    thread."""
    with concurrent.futures.ThreadPoolExecutor(len(arguments)) as pool:
        for done in [pool.submit(work, *given) for given in arguments]:
            done.result()


def test_many_threads():
    """Threads create, use and destroy contexts at the same time, on both devices."""

    def work(library, number):
        for seed in range(50):
            with Loaded(library, device=number % 2) as loaded:
                y = np.zeros((4, 1000), np.float32)
                status = loaded.run([tensor(numbers(seed))], [tensor(y)])
                assert status.code == 0, status.message
                np.testing.assert_allclose(y, numbers(seed) + 1)

    with added() as library:
        at_once(work, [(library, number) for number in range(4)])


def test_kept_code(tmp_path):
    """The driver translates the PTX once; later loads use the cache. The runtime replaces a
    truncated or modified cache file, and the cache never exceeds its limit."""
    folder = tmp_path / "kept"

    def translations(library, **options):
        before = DRIVER.emulator_translations()
        # On device 0, this process has already loaded the module.
        with Loaded(library, device_cache=str(folder).encode(), device=1, **options) as loaded:
            y = np.zeros((4, 1000), np.float32)
            assert loaded.run([tensor(numbers())], [tensor(y)]).code == 0
            np.testing.assert_allclose(y, numbers() + 1)
        return DRIVER.emulator_translations() - before

    with added() as library:
        assert [translations(library), translations(library), translations(library)] == [1, 0, 0]
        (kept,) = folder.iterdir()
        whole = kept.read_bytes()
        for bad in (b"", whole[:40], whole[:-1], whole[:-9] + b"x" + whole[-8:], whole + b"x"):
            kept.write_bytes(bad)
            assert [translations(library), translations(library)] == [1, 0]
            assert [path.read_bytes() for path in folder.iterdir()] == [whole]
        # The runtime removes the least recently used entry. It does not remove files with other
        # names.
        others = ["notes.txt", "model.cubin", "a" * 32 + ".old.cubin", "b" * 33 + ".cubin", "some.cubin.part"]
        for name in others:
            (folder / name).write_bytes(bytes(len(whole)))
        for i in range(3):
            (folder / f"{i:032}.cubin").write_bytes(bytes(len(whole)))
        kept.unlink()
        assert translations(library, device_cache_bytes=2 * len(whole)) == 1
        names = sorted(path.name for path in folder.iterdir())
        assert names == sorted([f"{2:032}.cubin", kept.name, *others])
        kept.unlink()
        # The runtime does not store this translated kernel, because the entry is larger than the
        # limit of the cache.
        assert translations(library, device_cache_bytes=10) == 1
        assert not kept.exists()
        # Models run even if the cache folder is invalid.
        folder = tmp_path / "a file"
        folder.write_text("")
        assert [translations(library), translations(library)] == [1, 1]
        folder = tmp_path / ("long" * 300)
        assert translations(library) == 1
    with emulated.compiled(MODELS["softmax"]) as module:  # by the Python API
        for count in (1, 0):
            before = DRIVER.emulator_translations()
            hewn.load(module.artifact, device=1, cache_dir=tmp_path / "python")
            assert DRIVER.emulator_translations() == before + count
        del module


def test_kept_code_of_several_processes(tmp_path):
    """Copies of a library share only the cache folder, as separate processes do. They create
    contexts at the same time."""

    def work(library):
        for _ in range(5):
            with Loaded(library, device=1, device_cache=str(tmp_path / "kept").encode()) as loaded:
                y = np.zeros((4, 1000), np.float32)
                status = loaded.run([tensor(numbers())], [tensor(y)])
                assert status.code == 0, status.message
                np.testing.assert_allclose(y, numbers() + 1)

    with added() as library:
        copies = []
        for i in range(3):
            for source in (library, library.with_name(f"{library.name}.weights")):
                if source.exists():
                    (tmp_path / f"{i}").mkdir(exist_ok=True)
                    (tmp_path / f"{i}" / source.name).write_bytes(source.read_bytes())
            copies.append(tmp_path / f"{i}" / library.name)
        at_once(work, [(copy,) for copy in copies])
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".cubin"]


def parts():
    """Returns a model whose run can't be captured as a graph: it has ops on the host, and
    data-dependent sizes."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["m"]),
        helper.make_node("NonZero", ["m"], ["z"]),
        helper.make_node("Add", ["z", "z"], ["zz"]),
        helper.make_node("TopK", ["m", "k"], ["v", "i"]),
        helper.make_node("Neg", ["v"], ["n"]),
    ]
    outputs = [("n", TensorProto.FLOAT), ("zz", TensorProto.INT64)]
    return model(nodes, [("x", TensorProto.FLOAT, [20])], outputs, k=np.array([3]))


# RECORDING is the driver's error if another thread of the application captures a stream
OUT_OF_MEMORY, LOST, RECORDING = 2, 719, 900


def each_failure(library, error, use, **options):
    """Runs `use` repeatedly. In each run, another driver call fails: the first one, then the second
    one, and so on. Checks that no object is leaked. Returns the number of failures."""
    before = DRIVER.emulator_objects()
    failures = 0
    for call in range(1, 1000):
        host = HostMemory()
        DRIVER.emulator_fail_at(call, error)
        loaded = Loaded(library, host, **({"device": 1} | options))
        status = loaded.status if loaded.status.code else use(loaded)
        loaded.close()
        made = DRIVER.emulator_fail_at(0, 0)
        if status.code:
            failures += 1
            assert status.message and status.code in (2, 5), (call, status.message)
        assert not host.live, f"host memory left after call {call} failed"
        assert DRIVER.emulator_objects() == before, f"left after call {call} failed"
        if made < call:
            assert status.code == 0, status.message
            return failures
    raise AssertionError("no end")


@pytest.mark.parametrize("error", [OUT_OF_MEMORY, LOST])
@pytest.mark.parametrize("cached", [False, True])
def test_every_call_that_fails(error, cached, tmp_path):
    """If a driver call fails, the runtime returns a status with a message and leaks nothing. The
    call may be in the creation of a context, in a captured run, or in a replay."""

    def use(loaded):
        y = np.zeros((4, 1000), np.float32)
        for _ in range(2):
            status = loaded.run([tensor(numbers())], [tensor(y)])
            if status.code:
                return status
            np.testing.assert_allclose(y, numbers() + 1)
        return status

    with added() as library:
        options = {"device_cache": str(tmp_path / "kept").encode()} if cached else {}
        assert each_failure(library, error, use, **options) > 20


@pytest.mark.parametrize("error", [OUT_OF_MEMORY, RECORDING])
def test_what_is_refused_is_no_loss(error):
    """If the driver rejects any single call of a run, the next run still works."""
    with added() as library:
        for call in range(1, 1000):
            with Loaded(library, device=1) as loaded:
                y = np.zeros((4, 1000), np.float32)
                DRIVER.emulator_fail_at(call, error)
                codes = [loaded.run([tensor(numbers())], [tensor(y)]).code for _ in range(3)]
                made = DRIVER.emulator_fail_at(0, 0)
                assert sum(code != 0 for code in codes) <= 1, (call, codes)
                assert loaded.run([tensor(numbers())], [tensor(y)]).code == 0
                np.testing.assert_allclose(y, numbers() + 1)
            if made < call:
                return
        raise AssertionError("no end")


KERNEL_TIME = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double, ctypes.c_double)


def timed():
    """Returns a hook that receives kernel times, and the list of the hook's calls."""
    heard = []
    told = KERNEL_TIME(lambda _, kernel, begin, end: heard.append((kernel, begin, end)))
    return told, heard


def test_times_of_kernels():
    """The runtime calls the hook for each launch, in order, in every run. With a hook, a run on the
    caller's stream waits until it is complete, and no graph is captured."""
    built = model(
        [helper.make_node("Softmax", ["x"], ["s"]), helper.make_node("CumSum", ["s", "axis"], ["y"])],
        [("x", TensorProto.FLOAT, [4, 1000])],
        [("y", TensorProto.FLOAT)],
        axis=np.array(0),
    )
    with nothing_left(), emulated.compiled(built) as module, InContext() as here:
        stream = here.stream()
        for options in ({}, {"device_stream": stream}):
            told, heard = timed()
            hook = (ctypes.c_void_p * 2)(ctypes.cast(told, ctypes.c_void_p), None)
            x, y = Memory(numbers()), Memory(numbers() * 0)
            with Loaded(module.artifact, device_hook=hook, **options) as loaded:
                graphs = DRIVER.emulator_graphs()
                for _ in range(3):
                    launches = DRIVER.emulator_launches()
                    heard.clear()
                    assert loaded.run([on_device(x)], [on_device(y)]).code == 0
                    assert DRIVER.emulator_waiting() == 0
                    assert len(heard) == DRIVER.emulator_launches() - launches > 0
                    ends = [0.0] + [end for _, _, end in heard]
                    assert all(before <= begin < end for before, (_, begin, end) in zip(ends, heard))
                assert DRIVER.emulator_graphs() == graphs
            x.free()
            y.free()
        assert DROP_STREAM(stream) == 0
        del module


@pytest.mark.parametrize("error", [OUT_OF_MEMORY, LOST])
def test_every_call_that_fails_where_kernels_are_timed(error):
    told, _ = timed()

    def use(loaded):
        for _ in range(2):
            status = loaded.run([tensor(numbers())], [tensor(numbers() * 0)])
            if status.code:
                return status
        return status

    with added() as library:
        hook = (ctypes.c_void_p * 2)(ctypes.cast(told, ctypes.c_void_p), None)
        assert each_failure(library, error, use, device_hook=hook) > 20


@pytest.mark.parametrize("error", [OUT_OF_MEMORY, LOST])
def test_every_call_that_fails_with_parts_of_the_host(error):
    def use(loaded):
        n, zz = np.zeros(3, np.float32), np.zeros((1, 20), np.int64)
        x = (np.arange(20) % 7 - 3).astype(np.float32)
        return loaded.run([tensor(x)], [tensor(n), tensor(zz)])

    with nothing_left(), emulated.compiled(parts()) as module:
        assert each_failure(module.artifact, error, use) > 20
        del module


@pytest.mark.parametrize("error", [OUT_OF_MEMORY, LOST])
def test_every_call_that_fails_on_a_stream(error):
    """The caller's stream and tensors stay valid if the runtime's context fails."""
    with added() as library:
        before = DRIVER.emulator_objects()
        for call in range(1, 1000):
            with InContext(1, own=True) as here:
                stream = here.stream()
                x, y = Memory(numbers()), Memory(numbers() * 0)
                host = HostMemory()
                DRIVER.emulator_fail_at(call, error)
                loaded = Loaded(library, host, device_stream=stream)
                status = loaded.status
                for _ in range(3):
                    if not status.code:
                        status = loaded.run([on_device(x, 1)], [on_device(y, 1)])
                message = status.message  # the context owns it
                loaded.close()
                made = DRIVER.emulator_fail_at(0, 0)
                assert not host.live
                # After the error LOST, the driver's context is lost, and these objects were
                # destroyed with it.
                if error != LOST or made < call:
                    x.free()
                    y.free()
                    assert DROP_STREAM(stream) == 0
            assert DRIVER.emulator_objects() == before, call
            if made < call:
                assert status.code == 0, message
                return
            # Some failures are harmless: without memory for a staging buffer, the driver copies.
            assert status.code == 0 or message


def test_a_device_that_is_lost():
    """After an enqueued kernel fails, a later run and all runs after it return an error status. New
    contexts work once the old ones are destroyed."""
    with added() as library:
        with Loaded(library, device=1) as loaded, InContext(1) as here:
            stream = here.stream()
            assert loaded.set_stream(stream).code == 0
            x = Memory(numbers())
            with emulated.setting("FAIL", "launch"):
                assert loaded.run([on_device(x, 1)], [on_device(x, 1)]).code == 0
                y = np.zeros((4, 1000), np.float32)
                status = loaded.run([on_device(x, 1)], [tensor(y)])
                assert status.code == 5 and b"unspecified launch failure (CUDA error 719)" in status.message
            status = loaded.run([on_device(x, 1)], [tensor(y)])
            assert status.code == 5 and b"the device failed in an earlier run: create a new context" in status.message
            other = Loaded(library, device=1)
            assert b"destroy all contexts that are on it first" in other.status.message
            other.close()
        with Loaded(library, device=1) as loaded:
            assert loaded.run([tensor(numbers())], [tensor(y)]).code == 0
            np.testing.assert_allclose(y, numbers() + 1)


def test_no_memory_for_an_arena():
    with nothing_left(), emulated.compiled(MODELS["softmax"]) as module, emulated.setting("FAIL", "out-of-memory"):
        with pytest.raises(hewn.RunError, match=r"needs [0-9]+ bytes; device 0 has 1000 of 4000 free"):
            module.run({"x0": np.zeros((16, 1024), np.float32)})
        del module
