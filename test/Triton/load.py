#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load.py MODEL.onnx... [--seconds S] [--clients 1,4,16] [--threads N] [--dim NAME=SIZE]...
[--numpy FOLDER] [--soak MINUTES]

Measures the throughput and latency of models in Triton's server, alternately with hewn's backend
and with onnxruntime in the server's Python backend. Both get the same load: several gRPC clients,
each of which sends one request after another. Both use dynamic batching if the model has a batch
dim.

--soak tests hewn's backend alone, with 1 to 64 clients, requests of all sizes including invalid
ones, and a stateful model, and records the server's memory over time. test/Triton/README.md lists
the packages to install."""

import argparse
import concurrent.futures
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import hewn
import numpy as np
from server import TOOLS, Server, why_no_server, write_models

PYTHON_MODEL = """
import json
import numpy as np
import onnxruntime
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(config["parameters"]["threads"]["string_value"])
        self.session = onnxruntime.InferenceSession(config["parameters"]["file"]["string_value"], options)
        self.batches = config["max_batch_size"] > 0

    def execute(self, requests):
        feeds = [{i.name: pb_utils.get_input_tensor_by_name(r, i.name).as_numpy() for i in self.session.get_inputs()} for r in requests]
        groups = {}
        for k, feed in enumerate(feeds):
            key = tuple(a.shape[1:] for a in feed.values()) if self.batches else k
            groups.setdefault(key, []).append(k)
        answers = [None] * len(requests)
        for members in groups.values():
            names = [o.name for o in self.session.get_outputs()]
            joined = {n: np.concatenate([feeds[k][n] for k in members]) if len(members) > 1 else feeds[members[0]][n] for n in feeds[members[0]]}
            outputs = self.session.run(names, joined)
            row = 0
            for k in members:
                rows = len(next(iter(feeds[k].values())))
                own = [o[row : row + rows] if len(members) > 1 else o for o in outputs]
                answers[k] = pb_utils.InferenceResponse([pb_utils.Tensor(n, o) for n, o in zip(names, own)])
                row += rows
        return answers
"""
NUMPY = {"float32": np.float32, "int64": np.int64, "int32": np.int32, "float16": np.float16, "bool": bool}
TRITON = {"float32": "FP32", "int64": "INT64", "int32": "INT32", "float16": "FP16", "bool": "BOOL"}


def make_repository(folder, models, threads, numpy_folder):
    """Writes a repository with each model twice: NAME for hewn and NAME_onnxruntime for the Python
    backend."""
    packages = [numpy_folder] if numpy_folder else []
    packages += [
        path for path in sys.path if path.endswith("site-packages")
    ]  # the Python backend does not read PYTHONPATH
    for path in models:
        subprocess.run([TOOLS / "hewn", "compile", path, "--quiet", "--triton", folder], check=True)
        config = folder / path.stem / "config.pbtxt"
        text = config.read_text().replace('string_value: "1"', f'string_value: "{threads}"')
        config.write_text(text)
        other = folder / f"{path.stem}_onnxruntime"
        (other / "1").mkdir(parents=True)
        (other / "1/model.py").write_text(f"import sys\nsys.path[:0] = {packages}\n{PYTHON_MODEL}")
        text = text.replace(f'name: "{path.stem}"', f'name: "{other.name}"').replace(
            'backend: "hewn"', 'backend: "python"'
        )
        text = text.replace('default_model_filename: "model.so"', "")
        text += f'parameters {{ key: "file" value {{ string_value: "{path.resolve()}" }} }}\n'
        (other / "config.pbtxt").write_text(text)


def describe(path):
    told = subprocess.run([TOOLS / "hewn", "info", "--json", path], capture_output=True, check=True)
    return json.loads(told.stdout)["models"][0]["inputs"]


def draw_feeds(inputs, sizes, seed=0):
    draw = np.random.default_rng(seed)
    feeds = {}
    for one in inputs:
        shape = [dim if isinstance(dim, int) else sizes.get(dim, 1) for dim in one["shape"]]
        kind = NUMPY[one["type"]]
        ones = np.issubdtype(kind, np.integer) or kind is bool
        feeds[one["name"]] = (draw.integers(0, 2, shape) if ones else draw.standard_normal(shape)).astype(kind)
    return feeds


def inputs_of(grpc, inputs, feeds):
    made = []
    for one in inputs:
        array = feeds[one["name"]]
        made.append(grpc.InferInput(one["name"], list(array.shape), TRITON[one["type"]]))
        made[-1].set_data_from_numpy(array)
    return made


def measure(server, model, inputs, feeds, clients, seconds):
    """Returns the requests per second and the latencies in milliseconds."""
    import tritonclient.grpc as grpc

    end = time.monotonic() + seconds

    def work(_):
        latencies = []
        with grpc.InferenceServerClient(server.grpc) as client:
            made = inputs_of(grpc, inputs, feeds)
            while time.monotonic() < end:
                begin = time.monotonic()
                client.infer(model, made)
                latencies.append(time.monotonic() - begin)
        return latencies

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        latencies = sorted(1e3 * one for some in pool.map(work, range(clients)) for one in some)
    at = lambda share: latencies[min(int(share * len(latencies)), len(latencies) - 1)]  # noqa: E731
    return len(latencies) / seconds, at(0.5), at(0.99)


def level_priorities(server):
    """Sets all threads of the server to the priority of this process. Otherwise Triton sets the
    threads of instances to nice 0, whereas the processes of the Python backend inherit the server's
    priority."""
    for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.setpriority(os.PRIO_PROCESS, int(task.name), os.getpriority(os.PRIO_PROCESS, 0))


def compare(server, grpc, inputs, feeds, path):
    with grpc.InferenceServerClient(server.grpc) as client:
        answers = [client.infer(m, inputs_of(grpc, inputs, feeds)) for m in (path.stem, f"{path.stem}_onnxruntime")]
    worst = 0.0
    for output in answers[0].get_response().outputs:
        ours, theirs = (answer.as_numpy(output.name).astype(np.float64) for answer in answers)
        worst = max(worst, float(np.max(np.abs(ours - theirs) / (np.abs(theirs).max() + 1e-30))))
    return worst


def benchmark(arguments, folder):
    import tritonclient.grpc as grpc

    repository = folder / "repository"
    make_repository(repository, arguments.models, arguments.threads, arguments.numpy)
    backends = folder / "backends"
    backends.mkdir()
    (backends / "hewn").symlink_to(TOOLS.parent / "backends/hewn")
    package = pathlib.Path(importlib.util.find_spec("pytriton").submodule_search_locations[0]) / "tritonserver"
    shutil.copytree(package / "backends/python", backends / "python")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = shutil.copy(package / "python_backend_stubs" / version / "triton_python_backend_stub", backends / "python")
    pathlib.Path(stub).chmod(0o755)
    with Server(repository, folder / "log", backends=backends) as server:
        level_priorities(server)
        sizes = {name: int(size) for name, _, size in (one.partition("=") for one in arguments.dim)}
        for path in arguments.models:
            inputs = describe(repository / path.stem / "1/model.so")
            feeds = draw_feeds(inputs, sizes)
            print(
                f"{path.stem}: largest difference {compare(server, grpc, inputs, feeds, path):.1e} of the largest value"
            )
            for clients in arguments.clients:
                told = {}
                for _ in range(2):  # alternates between the backends
                    for model in (path.stem, f"{path.stem}_onnxruntime"):
                        found = measure(server, model, inputs, feeds, clients, arguments.seconds)
                        told[model] = max(told.get(model, found), found)
                ours, theirs = told.values()
                print(
                    f"  {clients:3} clients: hewn {ours[0]:8.1f}/s p50 {ours[1]:7.1f} p99 {ours[2]:7.1f} ms; onnxruntime "
                    f"{theirs[0]:8.1f}/s p50 {theirs[1]:7.1f} p99 {theirs[2]:7.1f} ms; {ours[0] / theirs[0]:.2f}",
                    flush=True,
                )


class Soak:
    """A soak test: clients connect to the server, send requests over HTTP and gRPC, and
    disconnect."""

    def __init__(self, server, models, repository):
        self.server, self.models, self.repository = server, models, repository
        self.alone = {name: hewn.load(repository / name / "1/model.so") for name, _ in models}
        self.lock = threading.Lock()
        self.right = self.refused = self.wrong = 0

    def client(self, number, end):
        import tritonclient.grpc as grpc
        import tritonclient.http as http

        module = http if number % 3 == 0 else grpc
        draw = np.random.default_rng(number)
        with module.InferenceServerClient(self.server.http if module is http else self.server.grpc) as client:
            client.module = module
            while time.monotonic() < end:
                try:
                    kind = self.one(client, number, draw)
                except Exception as error:
                    print(f"client {number}: {error}", flush=True)
                    kind = "wrong"
                with self.lock:
                    setattr(self, kind, getattr(self, kind) + 1)

    def one(self, client, number, draw):
        from test_served import ask, check_picked, picked_feeds

        choice = draw.integers(0, 10)
        if choice < 5:
            feeds = picked_feeds(int(draw.integers(1, 20)), int(draw.integers(2, 9)), int(draw.integers(1 << 30)))
            bad = choice == 0
            if bad:
                feeds["i"][0, 0] = 1000
            try:
                check_picked(ask(client, "picked", feeds), feeds)
            except Exception as error:
                if bad and "1000" in str(error):
                    return "refused"
                raise
            return "wrong" if bad else "right"
        if choice < 7 or not self.models:
            rows = draw.standard_normal((5, 3)).astype(np.float32)
            sequence = int(draw.integers(1, 1 << 62))
            for step in range(5):
                flags = {"sequence_id": sequence, "sequence_start": step == 0, "sequence_end": step == 4}
                answer = ask(client, "summed", {"x": rows[step : step + 1]}, **flags)
                np.testing.assert_allclose(answer.as_numpy("y")[0], rows[: step + 1].sum(0), rtol=1e-4, atol=1e-5)
            return "right"
        name, inputs = self.models[int(draw.integers(len(self.models)))]
        sizes = {dim: int(draw.integers(1, 4 if d == 0 else 33)) for d, dim in self.open_dims(inputs)}
        feeds = draw_feeds(inputs, sizes, int(draw.integers(1 << 30)))
        answer = client.infer(name, inputs_of(client.module, inputs, feeds))
        for output, want in self.alone[name].run(feeds).items():
            # The comparison has a tolerance, because rows of several requests run in one batch,
            # which changes rounding.
            bound = 1e-4 * float(np.abs(want).max()) + 1e-6
            np.testing.assert_allclose(answer.as_numpy(output), want, rtol=0, atol=bound, err_msg=f"{name}, {sizes}")
        return "right"

    @staticmethod
    def open_dims(inputs):
        return [(d, dim) for one in inputs for d, dim in enumerate(one["shape"]) if not isinstance(dim, int)]

    def run(self, minutes):
        """Returns true if all results were correct, and if the server uses no more memory at the
        end than after each number of clients had been used once."""
        begin, phase, held = time.monotonic(), 0, []
        while time.monotonic() < begin + 60 * minutes:
            clients = (1, 4, 16, 64, 2, 32)[phase % 6]
            end = min(time.monotonic() + 20, begin + 60 * minutes)
            with concurrent.futures.ThreadPoolExecutor(clients) as pool:
                list(pool.map(lambda k, end=end, phase=phase: self.client(k + 64 * phase, end), range(clients)))
            phase += 1
            held.append(self.server.resident())
            print(
                f"{(time.monotonic() - begin) / 60:5.1f} min, {clients:2} clients: correct {self.right}, rejected as expected "
                f"{self.refused}, wrong {self.wrong}; server memory {self.server.resident() / 2**20:.1f} MiB",
                flush=True,
            )
        growth = held[-1] / max(held[:12]) - 1
        print(f"memory: {100 * growth:+.1f} % of the peak in the first two rounds")
        return self.wrong == 0 and growth < 0.05


def soak(arguments, folder):
    repository = folder / "repository"
    write_models(folder, repository)
    for path in arguments.models:
        subprocess.run([TOOLS / "hewn", "compile", path, "--quiet", "--triton", repository], check=True)
    with Server(repository, folder / "log") as server:
        models = [(path.stem, describe(repository / path.stem / "1/model.so")) for path in arguments.models]
        return Soak(server, models, repository).run(arguments.soak)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=lambda text: [int(one) for one in text.split(",")], default=[1, 4, 16])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--numpy", help="folder with a NumPy older than 2: Python backends of 2.51 read newer arrays as empty"
    )
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--soak", type=float)
    arguments = parser.parse_args()
    if why := why_no_server():
        sys.exit(why)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hewn-load-"))
    try:
        if arguments.soak:
            sys.exit(0 if soak(arguments, folder) else 1)
        benchmark(arguments, folder)
    except Exception:
        print((folder / "log").read_text()[:6000] if (folder / "log").exists() else "")
        raise
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
