# SPDX-License-Identifier: Apache-2.0
"""Times models by hewn beside the engines that are installed, in one session, and prints the table of docs/performance.md.

    .venv/bin/python tools/benchmark.py [--threads N] [--precision P] [--rounds N] [--dim NAME=SIZE] MODEL.onnx ...

Each engine runs each model in a process of its own; the engines take turns, and a figure is the median over the rounds of a
process's median run. Inputs are random, dims that the model leaves open are 1 unless --dim says more. The ratio is the best
other engine's time over hewn's; the error is the largest difference from onnxruntime's float32 result, relative to its largest.
The limit is what the model's sums of products as ONNX defines them, and its weights and values, would take by the machine's own
speed: kernel by kernel the longer of the two (`hewn explain` counts them). The speeds are measured first, in the same session: the
best that an engine reaches on a product of 1,024 square matrices, and reading as many bytes as the model's weights have.
"""

from __future__ import annotations

import argparse
import functools
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

import numpy as np

ENGINES = ("hewn", "onnxruntime", "openvino")
SECONDS = 1.5


def inputs_of(path: str, dims: dict[str, int]) -> dict[str, np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    feeds = {}
    for tensor in session.get_inputs():
        shape = [d if isinstance(d, int) else dims.get(d, 1) for d in tensor.shape]
        kind = tensor.type.removeprefix("tensor(").removesuffix(")")
        if kind in ("float", "float16", "double"):
            dtype = {"float": np.float32, "float16": np.float16, "double": np.float64}[kind]
            feeds[tensor.name] = generator.standard_normal(shape).astype(dtype)
        else:
            feeds[tensor.name] = np.ones(shape, np.dtype(kind))
    return feeds


def runner(engine: str, path: str, feeds: dict[str, np.ndarray], threads: int, precision: str):
    """A function that runs the model once and gives its results in order, and what else is known of the artifact."""
    if engine == "hewn":
        import hewn

        folder = tempfile.TemporaryDirectory()
        library = pathlib.Path(folder.name) / "model.so"
        start = time.perf_counter()
        module = hewn.compile(path, threads=threads, precision=precision, output=library)
        facts = {"compile_s": time.perf_counter() - start, "code_kb": library.stat().st_size / 1024}
        return lambda: (list(module.run(feeds).values()), folder)[0], facts
    if engine == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, feeds), {}
    import openvino

    model = openvino.Core().read_model(path)
    model.reshape({p.any_name: list(feeds[p.any_name].shape) for p in model.inputs})
    hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    hints["INFERENCE_PRECISION_HINT"] = "bf16" if precision == "medium" else "f32"
    compiled = openvino.Core().compile_model(model, "CPU", hints)
    request = compiled.create_infer_request()

    def run():
        request.infer(feeds, share_inputs=True)
        return [request.get_tensor(o).data for o in compiled.outputs]

    return run, {}


def one(engine: str, path: str, dims: dict[str, int], threads: int, precision: str, results: str) -> dict:
    feeds = inputs_of(path, dims)
    run, facts = runner(engine, path, feeds, threads, precision)
    np.savez(results, *[np.asarray(y) for y in run()])
    times, end = [], time.perf_counter() + SECONDS
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return {"ms": statistics.median(times) * 1e3, **facts}


def fastest(run, seconds: float = 0.5) -> float:
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


@functools.cache
def products_a_second(threads: int, precision: str) -> float:
    """Multiplications and additions a second on a large product of matrices, by the better of two engines."""
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
        path = os.path.join(folder, "product.onnx")
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        feeds = {"x": np.ones((size, size), np.float32)}
        runs = [runner(engine, path, feeds, threads, precision)[0] for engine in ("hewn", "openvino")]
        return 2.0 * size**3 / min(fastest(run) for run in runs)


def bytes_a_second(size: int, threads: int) -> float:
    """How fast so many bytes are read again and again: a product of one row with a matrix, by hewn."""
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
    return (rows - fewest) * columns * 4 / (read(rows) - read(fewest))  # without the call itself


def limit(path: str, dims: dict[str, int], threads: int, precision: str) -> float:
    """Milliseconds, or nan where the work is known only when run."""
    import onnxruntime

    tool = pathlib.Path(sys.executable).parent / "hewn"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    known = {d for tensor in session.get_inputs() for d in tensor.shape}
    command = [str(tool), "explain", path, f"--float32-precision={precision}"]
    command += [f"--dim={name}={size}" for name, size in dims.items() if name in known]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    work = re.findall(r"a launch: (\d+) flop in contractions, (\d+) bytes; (\d+) launch", text)
    if not work or len(work) < len(re.findall(r"^    makes ", text, re.MULTILINE)):
        return math.nan
    weights = int(re.search(r"^weights: (\d+) bytes", text, re.MULTILINE)[1])
    flop, read = products_a_second(threads, precision), bytes_a_second(weights, threads)
    return 1e3 * sum(int(n) * max(int(f) / flop, int(b) / read) for f, b, n in work)


def error(got: str, wanted: str) -> float:
    worst = 0.0
    with np.load(got) as a, np.load(wanted) as b:
        for name in b.files:
            x, y = a[name].astype(np.float64), b[name].astype(np.float64)
            worst = max(worst, float(np.max(np.abs(x - y)) / max(np.max(np.abs(y)), 1e-30)))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="highest", choices=("highest", "high", "medium"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--results", help=argparse.SUPPRESS)
    said = parser.parse_args()
    dims = {name: int(size) for name, size in (d.split("=") for d in said.dim)}
    if said.one:
        print(json.dumps(one(said.one, said.models[0], dims, said.threads, said.precision, said.results)))
        return

    print("| model | hewn ms | onnxruntime ms | openvino ms | ratio | % of limit | error | compile s | code KB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    ratios = []
    for path in said.models:
        figures: dict[str, list[dict]] = {engine: [] for engine in ENGINES}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(said.rounds):
                for engine in ENGINES:
                    command = [sys.executable, __file__, path, "--one", engine, "--results", f"{folder}/{engine}.npz"]
                    command += [f"--threads={said.threads}", f"--precision={said.precision}"]
                    command += [f"--dim={d}" for d in said.dim]
                    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
                    if done.returncode == 0:
                        figures[engine].append(json.loads(done.stdout.splitlines()[-1]))
                    else:
                        print(
                            f"{path}: {engine} failed: {(done.stderr.strip() or '?').splitlines()[-1]}", file=sys.stderr
                        )
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
        cells = [f"{ms[e]:.3f}" if e in ms else "-" for e in ENGINES]
        most = limit(path, dims, said.threads, said.precision) / ms["hewn"] if "hewn" in ms else math.nan
        cells += [
            f"{ratio:.2f}",
            "-" if math.isnan(most) else f"{100 * most:.0f}",
            f"{off:.1e}",
            f"{facts.get('compile_s', 0):.1f}",
            f"{facts.get('code_kb', 0):.0f}",
        ]
        print(f"| {pathlib.Path(path).stem} | {' | '.join(cells)} |", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\nGeometric mean of the ratios {mean:.2f}, least {min(ratios):.2f}.")


if __name__ == "__main__":
    main()
