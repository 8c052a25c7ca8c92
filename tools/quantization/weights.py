#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times matmuls whose weights have fewer bits, and measures the accuracy of these weights.

    .venv/bin/python tools/quantization/weights.py [MODEL.onnx ...] [--target TARGET ...] [--rows N] [--seconds S] [--if-faster]

Without a model, uses matrices of normally distributed numbers. The models with all weight types run
alternately on one thread; a time is the minimum CPU time of the thread over all runs. Columns: the
minimum and mean signal-to-noise ratio of the weights, the size of the weights file, the time of a
run, and its ratio to the time with int4 weights. With --if-faster, contractions that the cost model
estimates to be slower with quantized weights remain float32, which is the default of hewn.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import hewn
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def alone(type: str, group: int | None, **more: Any) -> dict[str, Any]:
    """Returns a scheme that quantizes only weights."""
    weights = {"type": type, **({"group": group} if group is not None else {}), **more}
    return {"weights": weights, "activations": {"type": "float32"}, "keep_float": False, "bias_correction": False}


TYPES = {
    "float32": {"keep_float": True},
    "int4": alone("int4", 32, range="mse"),
    "codebook16": alone("codebook16", 32),
    "int8": alone("int8", 0),
    "codebook256": alone("codebook256", 0),
    "float8": alone("float8", None),
    "float16": alone("float16", None),
    "bfloat16": alone("bfloat16", None),
}


def matrix(depth: int, columns: int, rows: int) -> onnx.ModelProto:
    """Returns a model with one matmul."""
    w = (np.random.default_rng(0).standard_normal((depth, columns)) / np.sqrt(depth)).astype("f")
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [rows, depth]), ("y", None))]
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="product")
    graph = helper.make_graph([node], "product", ends[:1], ends[1:], [numpy_helper.from_array(w, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def feeds_of(module: hewn.Module) -> dict[str, np.ndarray]:
    """Returns random inputs for a module."""
    rng = np.random.default_rng(1)
    feeds = {}
    for one in module.inputs:
        shape = [d if isinstance(d, int) else 16 for d in one.shape or ()]
        dtype = np.dtype(one.dtype)
        feeds[one.name] = rng.standard_normal(shape).astype(dtype) if dtype.kind == "f" else np.ones(shape, dtype)
    return feeds


def quantized(model: Any, target: str, how: dict[str, Any], if_faster: bool, folder: str) -> tuple[hewn.Module, int]:
    """Returns the model compiled with the weight type `how`, and the size of its weights in bytes."""
    if if_faster and how is not TYPES["float32"]:
        how = {key: value for key, value in how.items() if key != "keep_float"}
    path = Path(tempfile.mkdtemp(dir=folder)) / "model.so"
    module = hewn.compile(model, target=target, threads=1, quantize=how, output=path)
    return module, path.with_name("model.so.weights").stat().st_size


def seconds_of(modules: dict[str, hewn.Module], feeds: dict[str, np.ndarray], seconds: float) -> dict[str, float]:
    """Returns the least CPU time of a run of each module, which run alternately."""
    least = dict.fromkeys(modules, float("inf"))
    begin, rounds = time.monotonic(), 0
    while rounds < 7 or time.monotonic() - begin < seconds:
        for name, module in modules.items():
            start = time.thread_time()
            module.run(feeds)
            least[name] = min(least[name], time.thread_time() - start)
        rounds += 1
    return least


def main() -> None:
    """Prints the table of sizes and times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--target", action="append", help="target that this machine can run (default: host)")
    parser.add_argument(
        "--type", action="append", choices=list(TYPES), help="type of weights (default: all); may be repeated"
    )
    parser.add_argument("--rows", type=int, default=1, help="rows of the left operand (default: 1)")
    parser.add_argument("--if-faster", action="store_true", help="keep float32 if a type is estimated to be slower")
    parser.add_argument("--seconds", type=float, default=3, help="measurement time per model (default: 3)")
    options = parser.parse_args()
    cases = [(path.stem, str(path)) for path in options.models] or [
        (f"{k}x{n}", matrix(k, n, options.rows)) for k, n in ((1536, 576), (2048, 2048), (4096, 4096))
    ]
    folder = tempfile.TemporaryDirectory()
    print("| target | model | weights | least, dB | mean, dB | MB | ms | beside int4 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for target in options.target or ["host"]:
        for name, model in cases:
            names = options.type or list(TYPES)
            made = {of: quantized(model, target, TYPES[of], options.if_faster, folder.name) for of in names}
            modules = {of: module for of, (module, _) in made.items()}
            times = seconds_of(modules, feeds_of(next(iter(modules.values()))), options.seconds)
            for of, module in modules.items():
                found = [one["weights_sqnr_db"] for one in (module.report or {})["layers"] if "weights_sqnr_db" in one]
                lost = f"{min(found):.1f} | {np.mean(found):.1f}" if found else "|"
                size = made[of][1] / 1e6
                beside = f"{times[of] / times['int4']:.2f}" if "int4" in times else ""
                print(
                    f"| {target} | {name} | {of} | {lost} | {size:.1f} | {times[of] * 1e3:.3f} | {beside} |", flush=True
                )


if __name__ == "__main__":
    main()
