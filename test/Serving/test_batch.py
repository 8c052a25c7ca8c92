# SPDX-License-Identifier: Apache-2.0
"""Tests batch inference: Predictor and FramePredictor, memory that workers share, and a Ray cluster
in which a worker is killed."""

import os
import pathlib
import runpy
import signal
import subprocess
import sys
import threading
import time

import hewn
import numpy as np
import pytest
from conftest import ROOT
from hewn.libraries import weights_of
from hewn_batch import FramePredictor, Predictor, local_copy, mapped_bytes
from hewn_batch.frames import _converted
from hewn_batch.predictor import threads_of_worker

BATCH = ROOT / "integrations/batch"


def test_predictor(libraries):
    predict = Predictor(libraries("scaled"), inputs={"x": "features"}, outputs={"y": "scores"}, drop=("features",))
    rows = np.empty(2, object)
    rows[:] = [np.float32([0, 1, 2, 3])] * 2
    for features in (np.float32([[0, 1, 2, 3]] * 2), rows):
        got = predict({"id": np.array([7, 8]), "features": features})
        assert sorted(got) == ["id", "scores"]
        assert got["scores"].tolist() == [[1, 4, 7, 10]] * 2 and got["id"].tolist() == [7, 8]


def test_predictor_refuses(libraries):
    with pytest.raises(ValueError, match="no input or output called q, z"):
        Predictor(libraries("scaled"), inputs={"q": "a"}, outputs={"z": "b"})
    predict = Predictor(libraries("scaled"))
    with pytest.raises(ValueError, match="the batch has no column x; it has id"):
        predict({"id": np.zeros(1)})
    rows = np.empty(2, object)
    rows[:] = [np.zeros(4, np.float32), np.zeros(3, np.float32)]
    with pytest.raises(ValueError, match=r"rows of column 'x' have different shapes: \(3,\), \(4,\)"):
        predict({"x": rows})
    with pytest.raises(hewn.RunError, match="input 'x' is float64, but the model expects float32"):
        predict({"x": np.zeros((1, 4))})
    picked = Predictor(libraries("picked"))
    with pytest.raises(ValueError, match=r"output 'y' has shape \(2, 4\), but must have one row per row of the batch"):
        picked({"data": np.zeros((3, 4), np.float32), "at": np.zeros(2, np.int64)})


def test_threads(monkeypatch):
    for told, threads in [(None, 1), ("3", 3), ("0", 1), ("many", 1)]:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        if told is not None:
            monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert threads_of_worker() == threads


def test_one_copy_a_node(libraries, tmp_path):
    """Concurrent processes on a node get the same copy of the library, with its weights in the same
    folder."""
    code = "import sys; from hewn_batch import local_copy; print(local_copy(*sys.argv[1:]))"
    command = [sys.executable, "-c", code, libraries("wide"), tmp_path / "node"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    paths = {process.communicate()[0].strip() for process in processes}
    assert len(paths) == 1 and all(process.returncode == 0 for process in processes)
    (path,) = map(pathlib.Path, paths)
    assert (path.parent / "model.so.weights").read_bytes() == weights_of(libraries("wide")).read_bytes()
    assert path.is_relative_to(tmp_path / "node") and local_copy(libraries("wide"), tmp_path / "node") == path
    assert len(list((tmp_path / "node").iterdir())) == 2  # the copy and the lock


def test_a_copy_loads_whatever_the_library_is_called(models, tmp_path):
    """The copy of a library includes its weights, although the name of the weights file depends on
    the name of the library. Older versions of hewn named it model.weights."""
    for name in ("libwide.so", "wide.so"):
        hewn.compile(models("wide"), output=tmp_path / name).close()
        with hewn.load(local_copy(tmp_path / name, tmp_path / "node")) as module:
            assert module.inputs[0].name == "x"
    assert {file.name for file in tmp_path.glob("*.weights")} == {"wide.weights", "wide.so.weights"}
    (tmp_path / "old").mkdir()
    (tmp_path / "old/model.so").touch()
    assert weights_of(tmp_path / "old/model.so") is None
    (tmp_path / "old/model.weights").touch()
    assert weights_of(tmp_path / "old/model.so").name == "model.weights"


def test_a_folder_that_others_can_write_to(libraries, tmp_path, monkeypatch):
    """A folder for copies that other users can write to is rejected, because the process executes
    files from it."""
    folder = tmp_path / "others"
    folder.mkdir()
    for mode in (0o777, 0o770, 0o1777, 0o702):
        folder.chmod(mode)
        with pytest.raises(PermissionError, match=r"others' is writable by others, .*chmod go-w$"):
            local_copy(libraries("scaled"), folder)
    folder.chmod(0o755)
    user = os.geteuid()
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: user + 1)
        with pytest.raises(PermissionError, match="others' belongs to another user"):
            local_copy(libraries("scaled"), folder)
    assert list(folder.iterdir()) == [] and local_copy(libraries("scaled"), folder).is_relative_to(folder)


def test_workers_share_the_weights(libraries):
    """In each of N processes that ran the model, all weights are resident, and they add one N-th of
    their size to the proportional set size of the process."""
    code = (
        "import sys, numpy as np; from hewn.libraries import weights_of; from hewn_batch import Predictor, mapped_bytes\n"
        "predict = Predictor(sys.argv[1]); predict({'x': np.ones((2, 1024), np.float32)})\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "print(*mapped_bytes(weights_of(sys.argv[1])), flush=True); sys.stdin.readline()\n"
    )
    size = weights_of(libraries("wide")).stat().st_size
    assert size > 4e6
    count = 4
    command = [sys.executable, "-c", code, libraries("wide")]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    try:
        assert [process.stdout.readline() for process in processes] == ["ready\n"] * count
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
            resident, proportional = map(int, process.stdout.readline().split())
            assert resident > 0.9 * size
            assert proportional < resident / count * 1.1
    finally:
        for process in processes:
            process.communicate("\n")
    assert mapped_bytes(weights_of(libraries("wide"))) == (0, 0)


def pandas():
    return pytest.importorskip("pandas", reason="pandas is not installed: tools/requirements/serving.txt")


def test_frames(libraries):
    pd = pandas()
    frame = pd.DataFrame({"a": [0, 1], "b": [1, 2], "c": [2, 3], "d": [3, 4]})
    predict = FramePredictor(libraries("scaled"), outputs={"y": "scores"})
    got = predict(frame)
    assert list(got.columns) == ["a", "b", "c", "d", "scores"] and got["scores"].tolist() == [
        [1, 4, 7, 10],
        [4, 7, 10, 13],
    ]
    (once,) = predict.frames([frame])
    assert once.equals(got)
    assert list(predict(frame.iloc[:0]).columns) == list(got.columns)
    both = FramePredictor(libraries("two"), inputs={"a": "p", "b": "q"})(pd.DataFrame({"p": [1, 5], "q": [2, 3]}))
    assert both["total"].tolist() == [3, 8] and both["more"].tolist() == [False, True]
    with pytest.raises(ValueError, match="the frame has no column q"):
        FramePredictor(libraries("two"), inputs={"a": "p", "b": "q"})(pd.DataFrame({"p": [1]}))
    with pytest.raises(ValueError, match="input 'a' is int64, its columns p hold fractions"):
        FramePredictor(libraries("two"), inputs={"a": "p", "b": "q"})(pd.DataFrame({"p": [1.5], "q": [1]}))
    with pytest.raises(ValueError, match="the model has 2 inputs"):
        FramePredictor(libraries("two"))(frame)


@pytest.mark.parametrize(
    ("dtype", "values", "told"),
    [
        ("uint8", [0, 256], "hold 256"),
        ("uint8", [-1, 3], "hold -1"),
        ("int8", [-129, 127], "hold -129"),
        ("int64", np.uint64([2**63]), f"hold {2**63}"),
        ("uint64", [-1], "hold -1"),
        ("bool", [0, 2], "hold 2"),
        ("bool", [0.0, 1.0], "hold fractions"),
        ("int32", [1.5], "hold fractions"),
        ("float32", [1.0, 1e39], r"hold 1e\+39"),
        ("float16", [70000], "hold 70000"),
    ],
)
def test_numbers_that_do_not_fit(dtype, values, told):
    with pytest.raises(ValueError, match=f"^input 'x' is {dtype}, its columns a {told}$"):
        _converted(np.asarray(values), np.dtype(dtype), f"input 'x' is {dtype}, its columns a")


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("uint8", [0, 255]),
        ("int8", [-128, 127]),
        ("uint64", np.uint64([2**64 - 1])),
        ("bool", [0, 1]),
        ("int32", [True, False]),
        ("float32", [np.inf, np.nan, 0.1]),
        ("float32", [2**53]),
        ("int8", np.empty(0, np.int64)),
    ],
)
def test_numbers_that_fit(dtype, values):
    got = _converted(np.asarray(values), np.dtype(dtype), "")
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.asarray(values).astype(dtype))


def test_columns_of_a_frame(libraries):
    """Errors about out-of-range numbers, missing columns and unknown inputs name the input or the
    column. Labels of columns can be numbers and tuples."""
    pd = pandas()
    pairs = FramePredictor(libraries("two"), inputs={"a": 0, "b": ("q", 1)})
    frame = pd.DataFrame({0: [1, 5]})
    frame[("q", 1)] = [2, 3]
    assert pairs(frame)["total"].tolist() == [3, 8]
    with pytest.raises(ValueError, match=r"^input 'a' is int64, its columns 0 hold 18446744073709551615$"):
        pairs(frame.assign(**{"p": 0}).astype({0: np.uint64}).replace({0: {1: 2**64 - 1}}))
    with pytest.raises(ValueError, match=r"^the frame has no column 7$"):
        FramePredictor(libraries("two"), inputs={"a": 0, "b": 7})(frame)
    with pytest.raises(ValueError, match=r"^the model has no input called c; it has a, b$"):
        FramePredictor(libraries("two"), inputs={"a": 0, "b": 0, "c": 0})(frame)
    as_tuple = FramePredictor(libraries("scaled"), inputs={"x": (0, 1, 2, 3)})
    assert as_tuple(pd.DataFrame([[0, 1, 2, 3]]))["y"].tolist() == [[1, 4, 7, 10]]


def test_a_columns_type_is_the_models(libraries):
    """Output rows of a dynamic length become lists in a column, even if the length is 1. A row with
    one string becomes a string."""
    pd = pandas()
    predict = FramePredictor(libraries("rows"), inputs={"x": ["a"]})
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert predict(frame)["y"].tolist() == [[1.0], [1.0]]
    assert predict(frame)["y"].dtype == predict.meta(frame)["y"].dtype == object
    texts = FramePredictor(libraries("texts"))
    assert texts.meta(pd.DataFrame({"x": ["a"]}))["y"].dtype == object
    assert FramePredictor(libraries("texts"), inputs={"x": "x"}, outputs={"y": "t"})(
        pd.DataFrame({"x": np.array(["a", "b"], object)})
    )["t"].tolist() == ["a", "b"]


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_dask(libraries, scheduler):
    pd = pandas()
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed: tools/requirements/serving.txt")
    values = np.arange(400, dtype=np.float32).reshape(100, 4)
    frame = dd.from_pandas(pd.DataFrame(values, columns=list("abcd")), npartitions=7)
    predict = FramePredictor(libraries("scaled"), outputs={"y": "scores"})
    got = frame.map_partitions(predict, meta=predict.meta(frame._meta)).compute(scheduler=scheduler, num_workers=2)
    np.testing.assert_array_equal(np.array(got["scores"].tolist(), np.float32), values * 3 + 1)
    assert got.index.tolist() == list(range(100))


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray", reason="ray is not installed: tools/requirements/serving.txt")
    pytest.importorskip("ray.data", reason="ray has no data: tools/requirements/serving.txt")
    pytest.importorskip("PIL", reason="pillow is not installed: tools/requirements/serving.txt")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # with Ray's default of 15, workers do not run on a busy computer
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(num_cpus=4, object_store_memory=256 << 20, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Returns the module of the example, and a folder with a library and 240 images."""
    from onnx import helper, numpy_helper, save

    for package, name in (("PIL", "pillow"), ("ray.data", "ray")):
        pytest.importorskip(package, reason=f"{name} is not installed: tools/requirements/serving.txt")
    folder = tmp_path_factory.mktemp("pictures")
    sys.path.insert(0, str(BATCH))
    import pictures as example

    random = np.random.default_rng(0)
    weights = {
        "filters": (random.standard_normal((8, 3, 5, 5)) / 9).astype(np.float32),
        "classes": (random.standard_normal((8 * 60 * 60, 40)) / 60).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "filters"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("MatMul", ["f", "classes"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "pictures",
        [helper.make_tensor_value_info("x", 1, ["batch", 3, 64, 64])],
        [helper.make_tensor_value_info("y", 1, ["batch", 40])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx")
    hewn.compile(folder / "model.onnx", output=folder / "model.so").close()
    example.make(folder / "in", 239)
    (folder / "in" / "broken.png").write_bytes(b"no picture")
    return example, folder


def wanted_classes(folder):
    """Returns the expected class of each image, computed without Ray."""
    from PIL import Image

    with hewn.load(folder / "model.so") as module:
        found = {}
        for path in sorted((folder / "in").iterdir()):
            if path.name == "broken.png":
                found[str(path)] = -1
                continue
            picture = np.asarray(Image.open(path), np.float32)[None].transpose(0, 3, 1, 2) / 255
            found[str(path)] = int(module(np.ascontiguousarray(picture)).argmax())
    return found


def gathering(folder, count):
    """Returns a function that waits until `count` workers have started. Without it, on a busy
    computer the first worker can finish all batches before the last one starts."""

    def gathered():
        for _ in range(1200):
            if len(list(folder.glob("worker-*"))) >= count:
                return
            time.sleep(0.05)

    return gathered  # pickled by value, because the workers do not have this file


def test_ray_shares_and_is_right(cluster, pictures, tmp_path):
    example, folder = pictures

    gathered = gathering(tmp_path, 3)

    class Looked(example.Pictures):
        def __init__(self, **options):
            super().__init__(**options)
            (tmp_path / f"worker-{os.getpid()}").touch()

        def prepare(self, batch):
            gathered()
            time.sleep(0.1)  # Ray registers a worker with some delay
            return super().prepare(batch)

        def finish(self, batch):
            resident, proportional = mapped_bytes(weights_of(self.library))
            found = super().finish(batch)
            count = len(found["path"])
            return found | {"resident": np.full(count, resident), "proportional": np.full(count, proportional)}

    rows = example.classes(folder / "in", folder / "model.so", workers=3, batch_size=8, model=Looked).take_all()
    assert {row["path"]: row["class"] for row in rows} == wanted_classes(folder) and len(rows) == 240
    assert [row["path"] for row in rows if row["error"]] == [str(folder / "in" / "broken.png")]
    workers = {row["pid"] for row in rows}
    assert len(workers) >= 2 and os.getpid() not in workers
    size = weights_of(folder / "model.so").stat().st_size
    assert all(row["resident"] > 0.9 * size for row in rows)
    # When the last batch is processed, all workers have run the model. The proportional set size of
    # each worker then contains its share of the weights.
    assert min(row["proportional"] for row in rows) < 1.1 * size / len(workers)


def test_a_killed_worker_loses_nothing(cluster, pictures, tmp_path):
    """One of two workers is killed while it computes. Its batch is repeated, and each image is in
    the results once."""
    example, folder = pictures
    killed = []

    gathered = gathering(tmp_path, 2)

    class Slow(example.Pictures):
        def __init__(self, **options):
            super().__init__(**options)
            (tmp_path / f"worker-{os.getpid()}").touch()

        def prepare(self, batch):
            (tmp_path / f"batch-{os.getpid()}-{time.monotonic_ns()}").touch()
            gathered()
            time.sleep(0.1)
            return super().prepare(batch)

    def kill():
        for _ in range(600):
            begun = sorted(tmp_path.glob("batch-*"))
            if len(begun) >= 4:
                process = int(begun[-1].name.split("-")[1])
                os.kill(process, signal.SIGKILL)
                killed.append(process)
                return
            time.sleep(0.05)

    found = example.classes(folder / "in", folder / "model.so", workers=2, batch_size=8, model=Slow)
    killer = threading.Thread(target=kill)
    killer.start()
    rows = found.take_all()
    killer.join()
    assert killed, "the run was over before a worker could be killed"
    assert len(rows) == 240 and {row["path"]: row["class"] for row in rows} == wanted_classes(folder)
    assert len(list(tmp_path.glob("worker-*"))) == 3  # two workers and the restarted one
    assert len(list(tmp_path.glob("batch-*"))) > 240 / 8  # one batch ran twice


def test_the_example_as_a_program(cluster, pictures, tmp_path):
    """Runs the example as a program: prints its help, processes the images, and checks its
    output."""
    _, folder = pictures
    ray_address = cluster.get_runtime_context().gcs_address
    done = subprocess.run(
        [
            sys.executable,
            BATCH / "pictures.py",
            folder / "in",
            "--library",
            folder / "model.so",
            "--workers",
            "2",
            "--output",
            tmp_path / "out",
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"RAY_ADDRESS": ray_address},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("240 images by 2 workers: ")
    paths = [row["path"] for row in cluster.data.read_parquet(str(tmp_path / "out")).take_all()]
    assert sorted(paths) == sorted(wanted_classes(folder))


def test_pictures_that_cannot_be_read(pictures, tmp_path, monkeypatch):
    """Each unreadable image gets an error in the results, and the other images of its batch are
    processed. A folder without images gives one error, before Ray starts."""
    from PIL import Image

    example, folder = pictures
    good = (folder / "in" / "000000.png").read_bytes()
    files = {"good": good, "text": b"no picture", "cut": good[:200], "broken": good[:40] + b"\0" * 40 + good[80:]}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    Image.new("RGB", (256, 256)).save(tmp_path / "large", "PNG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 64 * 64)
    names = [*files, "large"]
    batch = example.Pictures(folder / "model.so")({"path": np.array([str(tmp_path / name) for name in names])})
    assert [bool(error) for error in batch["error"]] == [name != "good" for name in names]
    assert (batch["class"] == -1).tolist() == [name != "good" for name in names]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"there are no images in '.*empty'"):
        example.classes(tmp_path / "empty", folder / "model.so", workers=1)
    for arguments, told in [
        (["empty", "--library", "model.so"], "there are no images in 'empty'"),
        (["nowhere", "--library", "model.so"], "there are no images in 'nowhere'"),
        (["empty"], "--library is missing"),
    ]:
        done = subprocess.run(
            [sys.executable, BATCH / "pictures.py", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 2 and done.stderr.endswith(f"error: {told}\n"), done.stderr


def test_make(tmp_path):
    pytest.importorskip("PIL", reason="pillow is not installed: tools/requirements/serving.txt")
    pytest.importorskip("ray", reason="ray is not installed: tools/requirements/serving.txt")
    make = runpy.run_path(str(BATCH / "pictures.py"))["make"]
    make(tmp_path / "a", 3)
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == ["000000.png", "000001.png", "000002.png"]
