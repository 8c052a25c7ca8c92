# SPDX-License-Identifier: Apache-2.0
"""Starts Triton's server with hewn's backend. Also contains the models for the tests of the
server."""

import contextlib
import importlib.util
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("HEWN_TOOLS", ROOT / "build/dev/bin"))
BACKENDS = TOOLS.parent / "backends"
PACKAGES = os.environ.get("HEWN_TRITON")
if PACKAGES and PACKAGES not in sys.path:
    sys.path.append(PACKAGES)  # after the project's packages, so that it replaces none of them

MODELS = {
    # A model with a batch dim, a dynamic dim, an index that can be out of range, and a tensor whose
    # only dim is the batch dim.
    "picked": """<ir_version: 8, opset_import: ["" : 17]>
picked (float[batch] x, float[batch, n] z, int64[batch, n] i) => (float[batch] y, float[batch, n] w)
{ y = Neg(x)
  w = GatherElements <axis = 1>(z, i) }""",
    # A model without a batch dim: a scalar, strings, and an output whose size depends on data.
    "mixed": """<ir_version: 8, opset_import: ["" : 17]>
mixed (float x, string[n] s, float[n, m] z) => (float y, string[n] t, int64[2, k] found)
{ y = Neg(x)
  t = Identity(s)
  found = NonZero(z) }""",
    # A stateful model: each request appends a row to the state of its sequence.
    "summed": """<ir_version: 8, opset_import: ["" : 17]>
summed (float[batch, 3] x, float[batch, t, 3] past) => (float[batch, 3] y, float[batch, t1, 3] present)
<int64[1] one = {1}>
{ row = Unsqueeze(x, one)
  present = Concat <axis = 1>(past, row)
  y = ReduceSum <keepdims = 0>(present, one) }""",
    "narrow": """<ir_version: 8, opset_import: ["" : 17]>
narrow (bfloat16[batch, 4] a, float16[batch, 4] b, bool[batch, 4] c) => (bfloat16[batch, 4] x, float16[batch, 4] y, bool[batch, 4] z)
{ x = Neg(a)
  y = Neg(b)
  z = Not(c) }""",
}


def why_no_server():
    """Returns the reason why Triton's server cannot run here, or ""."""
    for package in ("pytriton", "tritonclient"):
        if not importlib.util.find_spec(package):
            return f"no {package}: pip install --target FOLDER --no-deps -r test/Triton/requirements.txt, and HEWN_TRITON=FOLDER"
    if not (BACKENDS / "hewn/libtriton_hewn.so").is_file():
        return f"no {BACKENDS / 'hewn/libtriton_hewn.so'}: the build had no nlohmann/json.hpp"
    return ""


def compile_model(path, repository, *flags):
    subprocess.run([TOOLS / "hewn", "compile", path, "--quiet", "--triton", repository, *flags], check=True)


def write_models(folder, repository):
    for name, text in MODELS.items():
        path = folder / f"{name}.onnxtxt"
        path.write_text(text)
        compile_model(path, repository, *(["--triton-state", "past=present"] if name == "summed" else []))


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


class Server:
    """A running Triton server for a model repository, as a context manager. `http`, `grpc` and
    `metrics` are its addresses."""

    def __init__(self, repository, log, *flags, backends=BACKENDS):
        package = pathlib.Path(importlib.util.find_spec("pytriton").submodule_search_locations[0])
        ports = free_ports(3)
        self.http, self.grpc, self.metrics = (f"127.0.0.1:{port}" for port in ports)
        options = {
            "model-repository": repository,
            "backend-directory": backends,
            "http-address": "127.0.0.1",
            "grpc-address": "127.0.0.1",
            "http-port": ports[0],
            "grpc-port": ports[1],
            "metrics-port": ports[2],
            "allow-gpu-metrics": "false",
        }
        program = package / "tritonserver/bin/tritonserver"
        program.chmod(0o755)  # unpacking may have dropped the mode
        self.command = [program, *(f"--{key}={value}" for key, value in options.items()), *flags]
        self.log, self.package = log, package

    def __enter__(self):
        environment = os.environ | {"LD_LIBRARY_PATH": str(self.package.parent / "nvidia_pytriton.libs")}
        with pathlib.Path(self.log).open("w") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=environment)
        for _ in range(600):
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                get(f"http://{self.http}/v2/health/live")
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.__exit__()
        raise RuntimeError(f"the server did not start:\n{pathlib.Path(self.log).read_text()[-4000:]}")

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.status = self.process.wait()

    def resident(self):
        """Returns the resident memory of the server in bytes."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("the server has ended")
