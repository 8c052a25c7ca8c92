# SPDX-License-Identifier: Apache-2.0
"""Times models and single ops on a GPU with hewn, PyTorch and onnxruntime, and prints a table.

    .venv/bin/python tools/benchmark_gpu.py [--precision P ...] [--dim NAME=SIZE] [--rounds N]
        [--jobs N] [--json FILE] [MODEL.onnx ...]

Without models, times single ops, for which PyTorch calls cuBLAS, cuDNN and its own kernels. All
engines use the same device tensors and stream: hewn; PyTorch, eager and with torch.compile and CUDA
graphs (--compile sets the mode), on the model of the same name in tools/measure/torch_models.py;
and onnxruntime's CUDA provider on the ONNX file. Each model has its own process. Up to --jobs
processes prepare their models concurrently. Then the models are timed one after another, so that
only one uses the device, and the engines run alternately. A figure is the run time in microseconds,
measured by device events, as the median over the rounds. The error is the largest difference from
hewn's result on the host, relative to the largest element of that result. --json writes the table
and the device time of each kernel. Engines that are not installed, or not ready after --patience
seconds, are left out and reported.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from run_packed_gpu import Library, Lines, difference, kernels_of, microseconds, peer, torch_runner

COLUMNS = {
    "hewn": "hewn us",
    "eager": "torch eager us",
    "compiled": "torch.compile us",
    "onnxruntime": "onnxruntime us",
}
ROOT = pathlib.Path(__file__).parents[1]

#: Name, path, and expression of the equivalent PyTorch function of a model.
Case = tuple[str, str, str | None]


def single_ops() -> Iterator[tuple[str, str, Sequence[tuple[int, ...]], dict[str, Any], str, str]]:
    """Yields each single-op model as a tuple.

    The tuple is (name, node, input shapes, attributes, expression of the PyTorch function, element
    type).
    """
    for dtype in ("float32", "bfloat16", "float16"):
        yield f"matmul 4096 {dtype}", "MatMul", [(4096, 4096), (4096, 4096)], {}, "torch.matmul", dtype
    for size in ((8192, 8192, 8192), (128, 768, 768), (4096, 768, 3072), (4096, 3072, 768)):
        rows, depth, columns = size
        name = f"matmul {rows} x {depth} x {columns} float16"
        yield name, "MatMul", [(rows, depth), (depth, columns)], {}, "torch.matmul", "float16"
    yield "matmul 1 x 4096 x 4096", "MatMul", [(1, 4096), (4096, 4096)], {}, "torch.matmul", "float32"
    yield "softmax 8192 x 1024", "Softmax", [(8192, 1024)], {}, "lambda x: functional.softmax(x, -1)", "float32"
    yield "gelu 64 MB", "Gelu", [(4096, 4096)], {}, "functional.gelu", "float32"
    yield "transpose 64 MB", "Transpose", [(4096, 4096)], {"perm": [1, 0]}, "lambda x: x.t().contiguous()", "float32"
    for dtype in ("float32", "float16"):
        convolution = [(32, 64, 56, 56), (64, 64, 3, 3)]
        function = "lambda x, w: functional.conv2d(x, w, None, 1, 1)"
        yield f"conv 3 x 3 {dtype}", "Conv", convolution, {"pads": [1] * 4}, function, dtype
        shapes = [(8, 16, 1024, 64)] * 3
        yield f"attention {dtype}", "Attention", shapes, {}, "functional.scaled_dot_product_attention", dtype
        decode = [(8, 32, 1, 64), (8, 32, 4096, 64), (8, 32, 4096, 64)]
        function = "functional.scaled_dot_product_attention"
        yield f"attention of one row {dtype}", "Attention", decode, {}, function, dtype


def save_op(
    node: str,
    shapes: Sequence[Sequence[int]],
    attributes: dict[str, Any],
    path: str | os.PathLike[str],
    dtype: str = "float32",
) -> None:
    """Writes a model with a single node."""
    from onnx import helper, save

    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) if dtype != "bfloat16" else 16
    names = [f"x{i}" for i in range(len(shapes))]
    inputs = [helper.make_tensor_value_info(name, element, shape) for name, shape in zip(names, shapes)]
    graph = helper.make_graph(
        [helper.make_node(node, names, ["y"], **attributes)],
        "op",
        inputs,
        [helper.make_tensor_value_info("y", element, None)],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), path)


def open_dims(path: str) -> set[str]:
    """Returns the names of the dynamic dims of the model's inputs."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    return {dim.dim_param for value in graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param}


class Runs:
    """The prepared runners of all engines for one model, in the process of that model."""

    def __init__(self, said: argparse.Namespace, folder: str) -> None:
        import hewn
        import torch
        from benchmark import inputs_of

        torch.set_float32_matmul_precision(said.precision[0])
        torch.backends.cudnn.allow_tf32 = said.precision[0] != "highest"
        self.torch, self.said = torch, said
        self.left_out: list[str] = []
        given = {name: int(size) for name, size in (dim.split("=") for dim in said.dim)}
        host, dims = inputs_of(said.one, given), {name: given.get(name, 1) for name in open_dims(said.one)}
        wanted = hewn.compile(said.one, dims=dims or None, threads=4).run(host)
        self.library = pathlib.Path(folder) / "model.so"
        begin = time.perf_counter()
        hewn._compile(said.one, self.library, target=said.target, dims=dims, precision=said.precision[0])
        self.record = {"model": said.name, "precision": said.precision[0], "compile_s": time.perf_counter() - begin}
        self.facts = {
            "inputs": [(key, value.dtype.name, value.shape) for key, value in host.items()],
            "outputs": [(key, value.dtype.name, value.shape) for key, value in wanted.items()],
        }
        self.values = [self.placed(value) for value in host.values()]
        self.made = [self.placed(np.zeros_like(value)) for value in wanted.values()]
        begin = time.perf_counter()
        loaded = Library(self.library, self.facts)
        self.record["load_s"] = time.perf_counter() - begin
        self.runs: dict[str, Callable[[], object]] = {
            "hewn": loaded.runner(self.values, self.made, torch.cuda.current_stream().cuda_stream or 1)
        }
        worst = 0.0
        for _ in range(3):
            self.runs["hewn"]()
            torch.cuda.synchronize()
            for value, want in zip(self.made, wanted.values()):
                want = want.astype(np.float64)
                got = value.to(torch.float64).cpu().numpy()
                worst = max(worst, difference(got, want, float(np.abs(want[np.isfinite(want)]).max(initial=0))))
        self.record["error"] = worst
        makers = {
            "eager": lambda: torch_runner(self.function(), self.values, False, torch),
            "compiled": lambda: torch_runner(self.function(), self.values, said.compile, torch),
            "onnxruntime": self.onnxruntime_runner,
        }
        for engine, make in makers.items():
            if engine in said.engines:
                self.prepare(engine, make)

    def placed(self, value: np.ndarray) -> Any:
        """Returns a copy of an array as a torch tensor on the GPU."""
        if value.dtype.name == "bfloat16":
            return self.torch.from_numpy(value.view(np.int16)).cuda().view(self.torch.bfloat16)
        return self.torch.from_numpy(np.array(value)).cuda()

    def prepare(self, engine: str, make: Callable[[], Callable[[], object]]) -> None:
        """Creates the runner of an engine and warms it up, or records why the engine cannot run the model."""
        try:
            runner = make()
            for _ in range(3):
                runner()
            self.runs[engine] = runner
        except Exception as problem:
            what = f"{COLUMNS[engine]}, {self.said.name}: {type(problem).__name__}: {str(problem)[:200]}"
            self.left_out.append(what.replace("\n", " "))

    def onnxruntime_runner(self) -> Callable[[], object]:
        """Returns a runner for onnxruntime's CUDA provider on the same tensors and stream."""
        import onnxruntime

        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            raise ImportError("onnxruntime has no CUDA provider here")
        options = {"user_compute_stream": str(self.torch.cuda.current_stream().cuda_stream)}
        session = onnxruntime.InferenceSession(self.said.one, providers=[("CUDAExecutionProvider", options)])
        binding = session.io_binding()
        for bind, side, tensors in (
            (binding.bind_input, "inputs", self.values),
            (binding.bind_output, "outputs", self.made),
        ):
            for (name, dtype, shape), tensor in zip(self.facts[side], tensors):
                bind(name, "cuda", 0, np.dtype(dtype), shape, tensor.data_ptr())
        return lambda: (session.run_with_iobinding(binding), self.made)[1]

    def function(self) -> Any:
        """Returns the PyTorch function or module that is equivalent to the model."""
        if self.said.function:
            return peer(self.said.function, self.torch, False)
        sys.path.append(str(ROOT / "tools" / "measure"))
        import torch_models

        found = torch_models.find(self.said.name)
        if not found:
            raise LookupError("no model of this name in tools/measure/torch_models.py")
        function, module = found
        module.cuda().eval()
        if "fp16" in self.said.name:
            module.half()
        return function

    def times(self) -> dict[str, Any]:
        """Times all engines alternately and returns the record of the model."""
        taken: dict[str, list[float]] = {engine: [] for engine in self.runs}
        for _ in range(self.said.rounds):
            for engine, run in self.runs.items():
                taken[engine].append(microseconds(run, self.torch, self.said.seconds))
        medians = {engine: statistics.median(each) for engine, each in taken.items()}
        kernels = kernels_of(self.library, self.facts, self.values, self.made)
        return self.record | {"microseconds": medians, "kernels": kernels, "left_out": self.left_out}


def serve(said: argparse.Namespace) -> None:
    """Runs the process of one model: reports when it is ready, and times the model after it receives a line."""
    runs = Runs(said, said.folder)
    print("ready: " + json.dumps(runs.record | {"left_out": runs.left_out}), flush=True)
    if sys.stdin.readline():
        print("record: " + json.dumps(runs.times()), flush=True)
    os._exit(0)  # does not wait for threads and processes of PyTorch


def answer(lines: Lines, begin: str, seconds: float) -> tuple[dict[str, Any] | None, str]:
    """Waits for an output line of a child process that starts with `begin`.

    Returns the JSON value after `begin` and "". If the process fails or takes more than `seconds`,
    returns None and the reason (the last lines of the output).
    """
    until, heard = time.monotonic() + seconds, []
    while line := lines.next(max(until - time.monotonic(), 0)):
        if line.startswith(begin):
            return json.loads(line.removeprefix(begin)), ""
        heard.append(line)
    if line is None:
        return None, f"not finished within {seconds:.0f} s"
    return None, "".join(heard[-8:]) or f"exit code {lines.process.wait()}"


def row(record: dict[str, Any]) -> str:
    """Returns the table row for the record of a model."""
    times = record.get("microseconds", {})
    others = [value for engine, value in times.items() if engine != "hewn"]
    cells = [f"{times[engine]:.1f}" if engine in times else "-" for engine in COLUMNS]
    ratio = f"{min(others) / times['hewn']:.2f}" if others else "-"
    return f"| {record['model']} | {record['precision']} | {' | '.join(cells)} | {ratio} | {record['error']:.1e} |"


def start(case: Case, precision: str, said: argparse.Namespace, folder: str) -> Lines:
    """Starts the child process of a model.

    The process may write its compiled library into `folder`.
    """
    name, path, function = case
    command = [
        sys.executable,
        __file__,
        "--one",
        path,
        "--name",
        name,
        "--precision",
        precision,
        "--target",
        said.target,
        "--folder",
        folder,
    ]
    command += ["--rounds", str(said.rounds), "--seconds", str(said.seconds), "--compile", said.compile]
    command += ["--engines", *said.engines, *([f"--function={function}"] if function else [])]
    command += [part for dim in said.dim for part in ("--dim", dim)]
    return Lines(command, stdin=subprocess.PIPE)


def measure(cases: list[tuple[Case, str]], said: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields the record of each model.

    Groups of --jobs models are prepared concurrently and then timed one by one.
    """
    timing = 60 + 2 * said.rounds * said.seconds * len(said.engines)
    for first in range(0, len(cases), said.jobs):
        folders = [tempfile.TemporaryDirectory() for _ in cases[first : first + said.jobs]]
        group = [
            (case, precision, start(case, precision, said, folder.name))
            for (case, precision), folder in zip(cases[first : first + said.jobs], folders)
        ]
        until, ready = time.monotonic() + said.patience, []
        for case, precision, lines in group:
            record, why = answer(lines, "ready: ", max(until - time.monotonic(), 0.1))
            ready.append((lines, record or {"model": case[0], "precision": precision, "why": why}))
            if not record:
                lines.process.kill()
        for (lines, record), folder in zip(ready, folders):
            if "why" not in record:
                with contextlib.suppress(BrokenPipeError):  # if the process has exited, `answer` returns why
                    print("go", file=lines.process.stdin, flush=True)
                timed, why = answer(lines, "record: ", timing)
                record = timed or record | {"why": why}
                lines.process.kill()
            lines.process.wait()
            folder.cleanup()
            yield record


def cases_of(said: argparse.Namespace, folder: str) -> list[tuple[Case, str]]:
    """Returns the models to time, each with each precision."""
    cases: list[Case] = [(pathlib.Path(path).stem, path, None) for path in said.models]
    for i, (name, node, shapes, attributes, function, dtype) in enumerate([] if cases else single_ops()):
        path = str(pathlib.Path(folder, f"op{i}.onnx"))
        save_op(node, shapes, attributes, path, dtype)
        cases.append((name, path, function))
    cases = [case for case in cases if re.search(said.only, case[0])]
    return [(case, precision) for case in cases for precision in said.precision]


def main() -> None:
    """Times the models of the command line, or all single ops, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--precision", nargs="+", default=["highest"], choices=("highest", "high", "medium"))
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--engines", nargs="+", default=list(COLUMNS), choices=list(COLUMNS))
    parser.add_argument("--compile", default="max-autotune", metavar="MODE", help="mode of torch.compile")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="time per round and engine")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--patience", type=float, default=600, metavar="SECONDS")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--target", help="target of hewn (default: that of the device)")
    for hidden in ("--one", "--name", "--function", "--folder"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    said = parser.parse_intermixed_args()
    if said.one:
        serve(said)
        return
    if not said.target:
        sys.path.append(str(ROOT / "test" / "Emulator"))
        import device

        if device.TARGET is None:
            print(f"no GPU: {device.WHY}")
            return
        said.target = device.TARGET
    try:
        import torch
    except ImportError as problem:
        print(f"PyTorch, which is required for tensors and events, is not installed: {problem}")
        return
    print(f"| {torch.cuda.get_device_name()} | precision | {' | '.join(COLUMNS.values())} | ratio | error |")
    print("| --- " * (len(COLUMNS) + 4) + "|")
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for record in measure(cases_of(said, folder), said):
            records.append(record)
            if "error" in record:
                print(row(record), flush=True)
            for line in [*record.get("left_out", []), *filter(None, [record.get("why")])]:
                print(f"left out: {record['model']}: {line}", flush=True)
            if said.json:
                pathlib.Path(said.json).write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
