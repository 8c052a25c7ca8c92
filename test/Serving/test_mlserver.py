# SPDX-License-Identifier: Apache-2.0
"""Tests MLServer processes over HTTP and gRPC: results, metadata, errors, load that includes
invalid requests, unloading of models."""

import concurrent.futures
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import hewn
import numpy as np
import pytest
from conftest import ROOT

# This file does not import mlserver, because its protobuf messages have the same names as
# tritonclient's.
if importlib.util.find_spec("mlserver") is None:
    pytest.skip("mlserver is not installed: tools/requirements/serving.txt", allow_module_level=True)
grpc = pytest.importorskip("tritonclient.grpc", reason="tritonclient is not installed: tools/requirements/serving.txt")


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(contextlib.closing(socket.socket())) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Server:
    """Runs `mlserver start` on a folder of models."""

    def __init__(self, folder, environment=None, **settings):
        self.folder = folder
        self.http, self.grpc, metrics = free_ports(3)
        settings = {
            "host": "127.0.0.1",
            "http_port": self.http,
            "grpc_port": self.grpc,
            "metrics_port": metrics,
            "parallel_workers": 0,
            "debug": False,
        } | settings
        (folder / "settings.json").write_text(json.dumps(settings))
        self.log = folder.parent / f"{folder.name}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [pathlib.Path(sys.executable).with_name("mlserver"), "start", folder],
                cwd=folder,
                env=os.environ | (environment or {}),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self.wait()
        except BaseException:
            self.stop()
            raise

    def wait(self):
        for _ in range(600):
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended:\n{self.log.read_text()[-4000:]}")
            with contextlib.suppress(OSError):
                if self.ask("/v2/health/ready")[0] == 200 and self.ask("/v2/repository/index", {})[0] == 200:
                    return
            time.sleep(0.1)
        raise AssertionError(f"the server is not ready:\n{self.log.read_text()[-4000:]}")

    def ask(self, path, body=None, timeout=60):
        """Sends a GET, or a POST if there is a body (JSON, or raw bytes). Returns the status and
        the response."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}{path}", data, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as problem:
            status, text = problem.code, problem.read()
        return status, json.loads(text) if text else None

    def infer(self, model, *inputs, **more):
        """Sends an inference request. Each input is (name, datatype, shape, data)."""
        told = [dict(zip(("name", "datatype", "shape", "data"), i)) for i in inputs]
        return self.ask(f"/v2/models/{model}/infer", {"inputs": told} | more)

    def client(self):
        return grpc.InferenceServerClient(f"127.0.0.1:{self.grpc}")

    def resident(self):
        """Returns the resident memory of the server's process in bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def maps(self):
        return pathlib.Path(f"/proc/{self.process.pid}/maps").read_text()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def lay(folder, name, path, extra=None, **settings):
    """Writes the model in the file `path` into a model repository."""
    (folder / name).mkdir(parents=True)
    told = {
        "name": name,
        "implementation": "mlserver_hewn.HewnModel",
        "parameters": {"uri": str(path), "extra": extra or {}},
    }
    (folder / name / "model-settings.json").write_text(json.dumps(told | settings))


@pytest.fixture(scope="module")
def server(tmp_path_factory, models, libraries):
    """Starts a server with all models in one process. "scaled" is an ONNX model with two contexts.
    "batched" is the same model with MLServer's batcher. "rows" has two dynamic dims and the
    batcher. The other models are libraries."""
    folder = tmp_path_factory.mktemp("served") / "models"
    cache = {"cache_dir": str(folder.parent / "cache")}
    lay(folder, "scaled", models("scaled"), {"contexts": 2, "threads": 1} | cache)
    lay(folder, "batched", models("scaled"), cache, max_batch_size=16, max_batch_time=0.02)
    lay(folder, "rows", libraries("rows"), max_batch_size=16, max_batch_time=0.02)
    for name in ("two", "texts", "half", "picked", "wide"):
        lay(folder, name, libraries(name).parent)
    running = Server(folder)
    yield running
    running.stop()


def test_metadata(server):
    status, found = server.ask("/v2/models/scaled")
    assert status == 200 and found["platform"] == "hewn"
    assert found["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}]
    assert found["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [-1, 4]}]
    with server.client() as client:
        assert client.is_model_ready("two")
        two = client.get_model_metadata("two", as_json=True)
        assert [(i["name"], i["datatype"], i["shape"]) for i in two["inputs"]] == [
            ("a", "INT64", ["-1"]),
            ("b", "INT64", ["-1"]),
        ]
        assert [(o["name"], o["datatype"]) for o in two["outputs"]] == [("total", "INT64"), ("more", "BOOL")]


@pytest.mark.parametrize("model", ["scaled", "batched"])
def test_http(server, model):
    status, found = server.infer(model, ("x", "FP32", [2, 4], [[0, 1, 2, 3], [4, None, 6, 7]]), id="seven")
    assert status == 200 and found["model_name"] == model and found["id"] == "seven"
    assert found["outputs"][0]["data"] == [1, 4, 7, 10, 13, None, 19, 22]
    assert found["outputs"][0] | {"data": 0} == {"name": "y", "shape": [2, 4], "datatype": "FP32", "data": 0}


def test_types_over_http(server):
    status, found = server.infer(
        "two", ("b", "INT64", [2], [1, 2**62]), ("a", "INT64", [2], [3, 4]), outputs=[{"name": "more"}]
    )
    assert status == 200 and [(o["name"], o["data"]) for o in found["outputs"]] == [("more", [True, False])]
    status, found = server.infer("texts", ("x", "BYTES", [2], ["a", "ü"]))
    assert status == 200 and found["outputs"][0]["data"] == ["a", "ü"]
    status, found = server.infer("half", ("x", "FP16", [1, 2], [1.5, 2]))
    assert status == 200 and found["outputs"][0]["data"] == [3, 4]


def raw(name, datatype, array):
    tensor = grpc.InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array)
    return tensor


def test_types_over_grpc(server):
    with server.client() as client:
        x = np.random.default_rng(0).standard_normal((3, 1024)).astype(np.float32)
        with hewn.load(
            json.loads((server.folder / "wide/model-settings.json").read_text())["parameters"]["uri"] + "/model.so"
        ) as module:
            np.testing.assert_array_equal(client.infer("wide", [raw("x", "FP32", x)]).as_numpy("y"), module(x))
        half = np.float16([[1.5, 2]])
        got = client.infer("half", [raw("x", "FP16", half)]).as_numpy("y")
        assert got.dtype == np.float16 and got.tolist() == [[3, 4]]
        for given, wanted, content_type in [
            ([b"a", "ü".encode()], [b"a", "ü".encode()], None),
            ([b"a", b"\xff"], [b"YQ==", b"/w=="], "base64"),
        ]:
            texts = client.infer("texts", [raw("x", "BYTES", np.array(given, object))])
            assert texts.as_numpy("y").tolist() == wanted
            assert texts.get_output("y").parameters["content_type"].string_param == (content_type or "")
        a, b = np.int64([3, -1]), np.int64([1, 2**62])
        found = client.infer("two", [raw("a", "INT64", a), raw("b", "INT64", b)])
        assert found.as_numpy("total").tolist() == (a + b).tolist() and found.as_numpy("more").tolist() == [True, False]


BAD = [
    ("scaled", [("x", "FP32", [1, 3], [1, 2, 3])], "input 'x' has shape [1, 3], but the model expects [-1, 4]"),
    ("scaled", [("x", "FP64", [1, 4], [1, 2, 3, 4])], "input 'x' is FP64, but the model expects FP32"),
    ("scaled", [("x", "FP32", [1, 4], [1, 2, 3])], "input 'x' has 3 elements, but its shape [1, 4] has 4"),
    ("scaled", [("x", "FP32", [1, 4], ["a", "b", "c", "d"])], "input 'x' contains a value that is not a number"),
    ("scaled", [("q", "FP32", [1, 4], [1, 2, 3, 4])], "unknown input 'q', the model has x"),
    ("scaled", [], "input 'x' is missing"),
    ("two", [("a", "INT64", [1], [1]), ("b", "INT64", [2], [1, 2])], "'n'"),
    ("two", [("a", "INT64", [1], [1.5]), ("b", "INT64", [1], [1])], "input 'a' contains fractions"),
    ("picked", [("data", "FP32", [1, 4], [1, 2, 3, 4]), ("at", "INT64", [1], [7])], "7"),
    ("texts", [("x", "BYTES", [1], [1])], "input 'x' contains int"),
]


@pytest.mark.parametrize(("model", "inputs", "told"), BAD)
def test_a_bad_request_is_the_clients(server, model, inputs, told):
    status, found = server.infer(model, *inputs)
    assert status == 400 and told in found["error"]
    if model == "scaled":
        status, found = server.infer("batched", *inputs)
        assert status == 400 and told in found["error"]


def test_bad_requests_over_grpc(server):
    with server.client() as client:
        for model, array, told in [
            ("scaled", np.zeros((1, 3), np.float32), "input 'x' has shape [1, 3]"),
            ("batched", np.zeros((1, 3), np.float32), "input 'x' has shape [1, 3]"),
            ("nobody", np.zeros((1, 4), np.float32), "Model nobody with version "),
        ]:
            with pytest.raises(grpc.InferenceServerException) as problem:
                client.infer(model, [raw("x", "FP32", array)])
            assert told in problem.value.message()
            assert problem.value.status() == (
                "StatusCode.NOT_FOUND" if model == "nobody" else "StatusCode.INVALID_ARGUMENT"
            )
        with pytest.raises(grpc.InferenceServerException, match="unknown output 'z'"):
            client.infer(
                "scaled", [raw("x", "FP32", np.zeros((1, 4), np.float32))], outputs=[grpc.InferRequestedOutput("z")]
            )


def test_unknown_and_malformed(server):
    assert server.infer("nobody", ("x", "FP32", [1], [1]))[0] == 404
    assert server.ask("/v2/models/nobody")[0] == 404
    for body in (
        b'{"inputs": [',
        b"[]",
        b"\xff\xfe",
        b'{"inputs": [{"name": "x"}]}',
        b'{"inputs": [{"name": "x", "shape": [1], "datatype": "BF16", "data": [1]}]}',
    ):
        assert server.ask("/v2/models/scaled/infer", body)[0] == 422
    assert server.infer("scaled", ("x", "FP32", [1, 4], [0, 0, 0, 0]))[0] == 200


def test_bodies_that_are_too_large(server):
    """Oversized requests get an error: 64 MB over HTTP, and more than gRPC's limit."""
    status, found = server.ask("/v2/models/scaled/infer", b"a" * (64 << 20))
    assert status == 422 and "JSON decode error" in json.dumps(found)
    with server.client() as client:
        with pytest.raises(grpc.InferenceServerException) as problem:
            client.infer("scaled", [raw("x", "FP32", np.zeros((1 << 20, 4), np.float32))])
        assert problem.value.status() == "StatusCode.RESOURCE_EXHAUSTED"
        x = np.zeros((1, 4), np.float32)
        assert client.infer("scaled", [raw("x", "FP32", x)]).as_numpy("y").tolist() == [[1, 1, 1, 1]]


def test_requests_are_put_together_by_shape(server):
    """Concurrent requests to a Softmax model have rows of different lengths. Only rows of equal
    length may share a batch; MLServer's own batcher would combine all of them."""

    def one(number):
        length = 2 + number % 3
        status, found = server.infer("rows", ("x", "FP32", [1, length], [float(number)] * length))
        return (
            status == 200
            and np.allclose(found["outputs"][0]["data"], 1 / length)
            and found["outputs"][0]["shape"] == [1, length]
        )

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert all(pool.map(one, range(120)))


def test_batches_are_made(libraries, tmp_path):
    """Requests that wait at the same time run in one batch: 64 requests need at most 8 runs."""
    program = pathlib.Path(__file__).with_name("batch_sizes.py")
    done = subprocess.run([sys.executable, program, libraries("scaled")], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows, right = json.loads(done.stdout.splitlines()[-1])
    assert right and sum(rows) == 64 and max(rows) == 16 and len(rows) <= 8


def test_cancelled_requests(libraries, tmp_path):
    """A client that disconnects does not affect the results of other clients."""
    program = pathlib.Path(__file__).with_name("cancelled_requests.py")
    done = subprocess.run([sys.executable, program, libraries("scaled")], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["batched"] == [["CancelledError", True, True] * 5] * 2
    assert found["unbatched"] == {
        "cancelled": True,
        "at once": 1,
        "after": True,
        "running": True,
        "waiting": "ModelNotReady",
        "idle": 1,
    }
    assert "never retrieved" not in done.stderr


@pytest.mark.parametrize("model", ["scaled", "batched"])
def test_load_with_bad_requests_in_it(server, model):
    """The server gets valid and invalid requests at the same time. Each client gets its own results
    or its own error, and the memory does not grow."""

    def one(number):
        if number % 5 == 3:
            _, inputs, told = BAD[number % 6]
            status, found = server.infer(model, *inputs)
            return status == 400 and told in found["error"]
        rows = 1 + number % 3
        x = (np.arange(rows * 4) + number).tolist()
        status, found = server.infer(model, ("x", "FP32", [rows, 4], x))
        return status == 200 and found["outputs"][0]["data"] == [3 * v + 1 for v in x]

    def over_grpc(number):
        x = np.full((1 + number % 4, 4), number, np.float32)
        with server.client() as client:
            return bool((client.infer(model, [raw("x", "FP32", x)]).as_numpy("y") == 3 * x + 1).all())

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(one, range(150)))
        before = server.resident()
        results = list(pool.map(one, range(600))) + list(pool.map(over_grpc, range(60)))
    assert all(results) and server.resident() < before + (32 << 20)
    assert "Internal Server Error" not in server.log.read_text()


def test_unloading_frees(server):
    """Unloading a model unmaps its library and weights; loading it again maps them again."""
    path = json.loads((server.folder / "wide/model-settings.json").read_text())["parameters"]["uri"]
    x = ("x", "FP32", [1, 1024], [0.0] * 1024)
    for _ in range(3):
        assert server.infer("wide", x)[0] == 200
        assert path in server.maps()
        assert server.ask("/v2/repository/models/wide/unload", {})[0] == 200
        assert path not in server.maps()
        assert server.infer("wide", x)[0] == 404
        assert server.ask("/v2/repository/models/wide/load", {})[0] == 200
    before = server.resident()
    for _ in range(20):
        assert server.ask("/v2/repository/models/wide/unload", {})[0] == 200
        assert server.ask("/v2/repository/models/wide/load", {})[0] == 200
    assert server.resident() < before + (16 << 20)


@pytest.mark.parametrize(
    ("model", "extra", "settings", "told"),
    [
        ("list", {}, {}, "input 'x' is sequence of float32: the Open Inference Protocol only supports tensors"),
        ("single", {}, {"max_batch_size": 4, "max_batch_time": 0.1}, "max_batch_size requires a dynamic dim"),
        (
            "gram",
            {},
            {"max_batch_size": 4, "max_batch_time": 0.1},
            "max_batch_size: 'n', the batch dim, is also in dim 1 of 'y'",
        ),
        (
            "scaled",
            {"workers": 3},
            {},
            "unknown settings in 'extra': workers; expected cache_dir, compile, contexts, threads, verify",
        ),
        ("scaled", {"threads": 0}, {}, "'threads' must be a positive integer, got 0"),
        ("scaled", {"compile": {"target": "abacus"}}, {}, "abacus"),
        (None, {}, {}, "none.onnx"),
    ],
)
def test_what_cannot_be_loaded_says_why(server, models, tmp_path, model, extra, settings, told):
    name = "refused"
    shutil.rmtree(server.folder / name, ignore_errors=True)
    path = models(model) if model else tmp_path / "none.onnx"
    lay(server.folder, name, path, {"cache_dir": str(tmp_path / "cache")} | extra, **settings)
    try:
        status, found = server.ask(f"/v2/repository/models/{name}/load", {})
        assert status == 422 and told in found["error"]
        assert server.infer(name)[0] == 404
    finally:
        shutil.rmtree(server.folder / name)


def test_bfloat16_goes_as_fp32(tmp_path, models):
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed: hewn-compiler[types]")
    lay(tmp_path / "models", "brain", models("brain"), {"cache_dir": str(tmp_path / "cache")})
    running = Server(tmp_path / "models")
    try:
        assert running.ask("/v2/models/brain")[1]["inputs"][0]["datatype"] == "FP32"
        assert running.infer("brain", ("x", "FP32", [1, 2], [1.001, 2]))[1]["outputs"][0]["data"] == [2, 4]
    finally:
        running.stop()


def children(process):
    return [int(p) for p in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_parallel_workers_share_what_was_compiled(tmp_path, models):
    """Of two processes, one compiles the model and the other finds the compiled library. Both map
    the same file."""
    cache = tmp_path / "cache"
    lay(tmp_path / "models", "wide", models("wide"), {"cache_dir": str(cache)})
    lay(tmp_path / "models", "scaled", models("scaled"), {"cache_dir": str(cache)})
    running = Server(tmp_path / "models", parallel_workers=2)
    try:
        assert running.infer("scaled", ("x", "FP32", [1, 4], [0, 1, 2, 3]))[1]["outputs"][0]["data"] == [1, 4, 7, 10]
        status, found = running.infer(*BAD[0][:1], *BAD[0][1])
        assert status == 400 and BAD[0][2] in found["error"]
        mapped = [pathlib.Path(f"/proc/{pid}/maps").read_text() for pid in children(running.process.pid)]
        weights = {
            line.split()[-1] for text in mapped for line in text.splitlines() if line.endswith("model.so.weights")
        }
        assert len(weights) == 1 and sum(next(iter(weights)) in text for text in mapped) == 2
    finally:
        running.stop()


def test_as_kserve_starts_it(tmp_path, models):
    """Starts the server with the environment of the KServe runtime, on two folders: one contains
    the output of the compile step, the other only a model."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    from mlserver_hewn import compile_step

    manifest = yaml.safe_load((ROOT / "integrations/mlserver/kserve/servingruntime.yaml").read_text())
    told = {e["name"]: e["value"] for e in manifest["spec"]["containers"][0]["env"]}
    told = {k: v.replace("{{.Name}}", "classes").replace("${HEWN_CPU}", "2") for k, v in told.items()}
    for kind in ("compiled", "model"):
        folder = tmp_path / kind
        if kind == "compiled":
            compile_step.compile_model(models("scaled"), folder, "classes", {"target": "host"})
        else:
            folder.mkdir()
            shutil.copy(models("scaled"), folder)
        assert told["MLSERVER_MODEL_URI"] == "/mnt/models"
        environment = told | {"MLSERVER_MODEL_URI": str(folder), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        environment = {k: v for k, v in environment.items() if not k.endswith("_PORT")}
        running = Server(folder, environment)
        try:
            assert running.ask("/v2/models/classes/ready")[0] == 200
            assert running.infer("classes", ("x", "FP32", [1, 4], [0, 1, 2, 3]))[1]["outputs"][0]["data"] == [
                1,
                4,
                7,
                10,
            ]
        finally:
            running.stop()
