# SPDX-License-Identifier: Apache-2.0
"""Times models with hewn and with the other installed engines in one session.

Prints a table in the format of docs/measured.

    .venv/bin/python tools/benchmark.py [--threads N] [--precision P] [--target T] [--rounds N]
        [--dim NAME=SIZE] MODEL.onnx ...
    .venv/bin/python tools/benchmark.py --all [--only TABLE] [--dim NAME=SIZE] MODEL.onnx ...
        [--quantized MODEL.onnx ...]

--all measures all tables of docs/measured that this machine supports, and writes them into
that page (tools/measure/tables.py). With --target x86-64-v3, the code that hewn generates uses AVX2
at most; tools/measure/older_processor.py restricts the other engines to AVX2. The engines are
onnxruntime, OpenVINO, and PyTorch's inductor (if torch and onnx2torch are installed; onnx2torch
converts the model). Each engine runs each model in a separate process. The engines run alternately
in several rounds; a figure is the median over the rounds of the median run time. Inputs are random;
dynamic dims are 1 unless --dim gives a size. The ratio is the time of the fastest other engine
divided by the time of hewn. The error is the largest difference from onnxruntime's float32 result,
relative to the largest element of that result. The limit is a lower bound on the run time: it adds
up, over all kernels, the larger of the compute time of the contractions and the time to transfer
weights and values (`hewn explain` counts both). The rates of this machine are measured in the same
session: the best arithmetic throughput of an engine in a matmul of two 1,024 x 1,024 matrices, and
the bandwidth of reading as many bytes as the weights have.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from generate import performance_chart

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "measure"))
import tables

if TYPE_CHECKING:
    import onnx


SECONDS = 1.5

#: Environment variable that passes the value of --target to the process of an engine.
TARGET = "HEWN_BENCHMARK_TARGET"


def inputs_of(path: str, dims: dict[str, int]) -> dict[str, np.ndarray]:
    """Returns random inputs for a model; `dims` binds its symbolic dims."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    weights = {tensor.name for tensor in model.graph.initializer}
    generator = np.random.default_rng(0)
    feeds = {}
    for value in model.graph.input:
        if value.name in weights:
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else dims.get(d.dim_param, 1) for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        floats = dtype.kind == "f" or dtype.name == "bfloat16"
        feeds[value.name] = (generator.standard_normal(shape) if floats else np.ones(shape)).astype(dtype)
    return feeds


def start_hewn(
    path: str, feeds: dict[str, np.ndarray], threads: int, precision: str
) -> tuple[Callable[[], list[Any]], dict[str, Any]]:
    """Compiles a model with hewn and returns a function that runs it, and facts for the table."""
    import hewn

    target = os.environ.get(TARGET, "host")
    folder = tempfile.TemporaryDirectory()
    library = pathlib.Path(folder.name) / "model.so"
    start = time.perf_counter()
    module = hewn.compile(path, threads=threads, precision=precision, output=library, target=target)
    facts = {"compile_s": time.perf_counter() - start, "code_kb": library.stat().st_size / 1024}
    return lambda: (list(module.run(feeds).values()), folder)[0], facts


def start_onnxruntime(
    path: str, feeds: dict[str, np.ndarray], threads: int, precision: str
) -> tuple[Callable[[], list[Any]], dict[str, Any]]:
    """Loads a model with onnxruntime and returns a function that runs it, and facts for the table."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds), {}


def start_openvino(
    path: str, feeds: dict[str, np.ndarray], threads: int, precision: str
) -> tuple[Callable[[], list[Any]], dict[str, Any]]:
    """Compiles a model with OpenVINO and returns a function that runs it, and facts for the table."""
    import openvino

    model = openvino.Core().read_model(path)
    model.reshape({p.any_name: list(feeds[p.any_name].shape) for p in model.inputs})
    hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    hints["INFERENCE_PRECISION_HINT"] = "bf16" if precision == "medium" else "f32"
    compiled = openvino.Core().compile_model(model, "CPU", hints)
    request = compiled.create_infer_request()

    def run() -> list[Any]:
        request.infer(feeds, share_inputs=True)
        return [request.get_tensor(o).data for o in compiled.outputs]

    return run, {}


def for_onnx2torch(path: str) -> onnx.ModelProto:
    """Converts a model to opset 17, the newest opset that onnx2torch supports.

    Expands Gelu, which opset 17 does not have, and removes the attribute allowzero of Reshape,
    which has no effect here.
    """
    import onnx
    from onnx import helper, numpy_helper

    newest = 17
    model = onnx.load(path)
    if next(o.version for o in model.opset_import if not o.domain) <= newest:
        return model
    shapes = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer if len(i.dims) == 1}
    nodes = []
    for node in model.graph.node:
        if node.op_type == "Reshape" and 0 not in shapes.get(node.input[1], [0]):
            del node.attribute[:]  # removes allowzero, which only affects shapes with a 0
        if node.op_type != "Gelu":
            nodes.append(node)
            continue
        (x,), (y,) = node.input, node.output
        steps = [("Div", [x, "sqrt 2"]), ("Erf", [f"{y} 0"]), ("Add", [f"{y} 1", "one"]), ("Mul", [x, f"{y} 2"])]
        nodes += [helper.make_node(op, inputs, [f"{y} {i}"]) for i, (op, inputs) in enumerate(steps)]
        nodes.append(helper.make_node("Mul", [f"{y} 3", "half"], [y]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    for name, value in (("sqrt 2", 2**0.5), ("one", 1), ("half", 0.5)):
        model.graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), name))
    return onnx.version_converter.convert_version(model, newest)


def start_inductor(
    path: str, feeds: dict[str, np.ndarray], threads: int, precision: str
) -> tuple[Callable[[], list[Any]], dict[str, Any]]:
    """Compiles a model with torch.compile and returns a function that runs it, and facts for the table."""
    import onnx2torch
    import torch
    from torch._export.converter import TS2EPConverter

    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(precision)
    torch._inductor.config.freezing = True  # weights are constants, as in the other engines
    inputs = [torch.from_numpy(feed) for feed in feeds.values()]
    read = onnx2torch.convert(for_onnx2torch(path)).eval()
    # torch.compile fails on the Python code by which onnx2torch computes shapes. A trace only
    # contains their values.
    with torch.no_grad():
        traced = torch.jit.freeze(torch.jit.trace(read, inputs))
        model = torch.compile(TS2EPConverter(traced, tuple(inputs)).convert().module())

    def run() -> list[Any]:
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=precision == "medium"):
            outputs = model(*inputs)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        return [y.float().numpy() if y.dtype == torch.bfloat16 else y.numpy() for y in outputs]

    run()
    return run, {}


#: For each engine, the modules that it imports, and a function (path, feeds, threads, precision)
#: that loads a model. It returns a function that runs the model once and returns its results in
#: order, and further facts for the table.
ENGINES = {
    "hewn": (("hewn",), start_hewn),
    "onnxruntime": (("onnxruntime",), start_onnxruntime),
    "openvino": (("openvino",), start_openvino),
    "inductor": (("torch", "onnx2torch"), start_inductor),
}


def is_installed(engine: str) -> bool:
    """Returns true if the packages of an engine are installed."""
    return all(importlib.util.find_spec(name) for name in ENGINES[engine][0])


def one(engine: str, path: str, dims: dict[str, int], threads: int, precision: str, results: str) -> dict[str, Any]:
    """Times a model with one engine in this process, and writes its results to the .npz file `results`."""
    feeds = inputs_of(path, dims)
    run, facts = ENGINES[engine][1](path, feeds, threads, precision)
    arrays = [np.asarray(y) for y in run()]  # .npz files do not support bfloat16
    np.savez(results, *[y.astype(np.float32) if y.dtype.name == "bfloat16" else y for y in arrays])
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return {"ms": statistics.median(times) * 1e3, **facts}


def fastest(run: Callable[[], object], seconds: float = 0.5) -> float:
    """Returns the least time of a call in `seconds` seconds of calls."""
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


@functools.cache
def products_a_second(threads: int, precision: str) -> float:
    """Returns the floating-point operations per second in a matmul of two 1,024 x 1,024 matrices.

    The result is the maximum over hewn and OpenVINO.
    """
    from onnx import TensorProto, helper, numpy_helper, save

    size = 1024
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [size, size])],
        [numpy_helper.from_array(np.ones((size, size), np.float32), "w")],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder, "product.onnx"))
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        feeds = {"x": np.ones((size, size), np.float32)}
        engines = [engine for engine in ("hewn", "openvino") if is_installed(engine)]
        runs = [ENGINES[engine][1](path, feeds, threads, precision)[0] for engine in engines]
        return 2.0 * size**3 / min(fastest(run) for run in runs)


def bytes_a_second(size: int, threads: int) -> float:
    """Returns the bytes per second at which hewn repeatedly reads `size` bytes.

    Measures vector-matrix multiplications whose matrix has `size` bytes.
    """
    import hewn
    from onnx import TensorProto, helper, numpy_helper

    columns = 1024

    def read(rows: int) -> float:
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            "read",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, rows])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, columns])],
            [numpy_helper.from_array(np.ones((rows, columns), np.float32), "w")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        module = hewn.compile(model, threads=threads)
        feeds = {"x": np.ones((1, rows), np.float32)}
        return fastest(lambda: module.run(feeds))

    fewest = 4
    rows = max(size // (4 * columns), 16)
    # The difference of two sizes cancels the overhead of a call.
    return (rows - fewest) * columns * 4 / (read(rows) - read(fewest))


def last_line(text: str) -> str:
    """Returns the last line of a message, or "?" if the message is empty."""
    return (text.strip() or "?").splitlines()[-1]


def explain(path: str, dims: dict[str, int], precision: str) -> str:
    """Returns the output of `hewn explain` for the model, or "" if it fails."""
    import onnx

    tool = pathlib.Path(os.environ.get("HEWN_TOOLS", pathlib.Path(sys.executable).parent)) / "hewn"
    inputs = onnx.load(path, load_external_data=False).graph.input
    known = {d.dim_param for value in inputs for d in value.type.tensor_type.shape.dim}
    command = [str(tool), "explain", path, f"--float32-precision={precision}"]
    command += [f"--target={os.environ.get(TARGET, 'host')}"]
    command += [f"--dim={name}={size}" for name, size in dims.items() if name in known]
    explained = subprocess.run(command, capture_output=True, text=True)
    if explained.returncode != 0:
        print(f"{path}: limit and arena are unknown: {last_line(explained.stderr)}", file=sys.stderr)
        return ""
    return explained.stdout


def limit(explained: str, threads: int, precision: str) -> float:
    """Returns the lower bound on the time of a run in milliseconds, or nan if the amount of work depends on data."""
    work = re.findall(r"a launch: (\d+) flop in contractions, (\d+) bytes; (\d+) launch", explained)
    if not work or len(work) < len(re.findall(r"^    makes ", explained, re.MULTILINE)):
        return math.nan
    (weights,) = map(int, re.findall(r"^weights: (\d+) bytes", explained, re.MULTILINE)[:1])
    flop, read = products_a_second(threads, precision), bytes_a_second(weights, threads)
    return 1e3 * sum(int(n) * max(int(f) / flop, int(b) / read) for f, b, n in work)


def error(got: str, wanted: str) -> float:
    """Returns the largest error of the results in one .npz file relative to those in another."""
    worst = 0.0
    with np.load(got) as a, np.load(wanted) as b:
        for name in b.files:
            x, y = a[name].astype(np.float64), b[name].astype(np.float64)
            worst = max(worst, float(np.max(np.abs(x - y)) / max(np.max(np.abs(y)), 1e-30)))
    return worst


def tell_ratios(ratios: list[float]) -> None:
    """Prints a summary of the ratios below the table, unless there are none."""
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\nGeometric mean of the ratios {mean:.2f}, least {min(ratios):.2f}.")


def main() -> None:
    """Benchmarks the models of the command line, or all tables of docs/measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--all", action="store_true", help="measure all tables of docs/measured")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TABLE",
        help=f"with --all, only this table: {', '.join(tables.TABLES)}",
    )
    parser.add_argument("--quantized", nargs="+", default=[], metavar="MODEL.onnx", help="with --all: quantized models")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="highest", choices=("highest", "high", "medium"))
    parser.add_argument("--target", default="host", help="target of hewn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--results", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.all:
        if own := [
            f"--{name}"
            for name in ("threads", "precision", "target", "rounds")
            if getattr(said, name) != parser.get_default(name)
        ]:
            parser.error(f"--all cannot be combined with {', '.join(own)}: each table has its own settings")
        failed = tables.measure_all(said)
        performance_chart.write()
        sys.exit(failed)
    if not said.models or said.only or said.quantized:
        parser.error("--only and --quantized require --all" if said.models else "no model is given")
    dims = {name: int(size) for name, size in (d.split("=") for d in said.dim)}
    if said.one:
        print(json.dumps(one(said.one, said.models[0], dims, said.threads, said.precision, said.results)))
        return

    os.environ[TARGET] = said.target
    engines = [engine for engine in ENGINES if is_installed(engine)]
    heads = [
        "model",
        *(f"{engine} ms" for engine in engines),
        "ratio",
        "% of limit",
        "error",
        "arena KB",
        "compile s",
        "code KB",
    ]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    ratios = []
    for path in said.models:
        figures: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(said.rounds):
                for engine in engines:
                    command = [sys.executable, __file__, path, "--one", engine, "--results", f"{folder}/{engine}.npz"]
                    command += [f"--threads={said.threads}", f"--precision={said.precision}"]
                    command += [f"--dim={d}" for d in said.dim]
                    done = subprocess.run(command, capture_output=True, text=True)
                    if done.returncode == 0:
                        figures[engine].append(json.loads(done.stdout.splitlines()[-1]))
                    else:
                        print(f"{path}: {engine} failed: {last_line(done.stderr)}", file=sys.stderr)
            ms = {e: statistics.median(f["ms"] for f in fs) for e, fs in figures.items() if fs}
            off = (
                error(f"{folder}/hewn.npz", f"{folder}/onnxruntime.npz")
                if {"hewn", "onnxruntime"} <= ms.keys()
                else math.inf
            )
        others = [t for e, t in ms.items() if e != "hewn"]
        ratio = min(others) / ms["hewn"] if others and "hewn" in ms else 0
        if ratio:
            ratios.append(ratio)
        facts = figures["hewn"][0] if figures["hewn"] else {}
        cells = [f"{ms[e]:.3f}" if e in ms else "-" for e in engines]
        explained = explain(path, dims, said.precision) if "hewn" in ms else ""
        most = limit(explained, said.threads, said.precision) / ms.get("hewn", math.nan)
        arena = re.search(r"^arena: (\d+) bytes", explained, re.MULTILINE)
        cells += [
            f"{ratio:.2f}",
            "-" if math.isnan(most) else f"{100 * most:.0f}",
            f"{off:.1e}",
            f"{int(arena[1]) / 1024:.0f}" if arena else "-",
            f"{facts.get('compile_s', 0):.1f}",
            f"{facts.get('code_kb', 0):.0f}",
        ]
        print(f"| {pathlib.Path(path).stem} | {' | '.join(cells)} |", flush=True)
    tell_ratios(ratios)


if __name__ == "__main__":
    main()
