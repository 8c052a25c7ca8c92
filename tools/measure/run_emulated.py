#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs models on a processor that qemu emulates.

Prints the sizes of their libraries and their errors relative to onnxruntime on this machine.

    run_emulated.py [--processor max] [--list MODELS.json --cache DIR] [--filter REGEX] [--seconds N] [MODEL.onnx ...]

Processors are those of test/Numeric/processors.py: "max" runs code for neoverse-v2, "neoverse-n1"
code for itself, "cortex-a57" code for aarch64. Prints a row of a Markdown table per model: the size
of the library including the runtime functions that it calls (KB), the size of its weights (MB), the
largest difference of all outputs from onnxruntime's, relative to the largest magnitude of
onnxruntime's output, and the same error of the model compiled for this machine. onnxruntime runs
with and without its optimizations, and the smaller of the two errors is printed. Inputs are
normally distributed; integers are below 1000, masks are ones. MODELS.json is a list of {"name",
"package", "path", "inputs": {name: {"shape", "gen": [uniform|randint|const, ...]}}}; the files are
in DIR/PACKAGE/PATH.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test/Numeric"))
DIMS = {"batch": 1, "seq": 128, "past": 255}


def feed(value: onnx.ValueInfoProto, recipe: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
    """Returns the array of an input, which `recipe` describes."""
    tensor = value.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    shape = recipe.get("shape") or [d.dim_value or DIMS.get(d.dim_param, 1) for d in tensor.shape.dim]
    kind, *bounds = recipe.get("gen") or ["normal"]
    if kind == "const":
        data = np.full(shape, bounds[0])
    elif kind == "uniform":
        data = rng.uniform(bounds[0], bounds[1], shape)
    elif kind == "randint":
        data = rng.integers(bounds[0], bounds[1] + 1, shape)
    elif np.issubdtype(dtype, np.integer) or dtype == np.bool_:
        data = np.ones(shape) if "mask" in value.name else rng.integers(0, 100 if dtype.itemsize == 1 else 1000, shape)
    else:
        data = rng.standard_normal(shape)
    return np.asarray(data).astype(dtype)


def references(path: pathlib.Path, feeds: dict[str, np.ndarray]) -> Iterator[dict[str, np.ndarray]]:
    """Yields the outputs of onnxruntime with and without optimizations."""
    import onnxruntime

    for level in (
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    ):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.log_severity_level = level, 3
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        yield dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds)))


def error(got: np.ndarray, want: np.ndarray) -> float:
    """Returns the largest error relative to the largest reference element, or infinity for another shape or type."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    if want.dtype.kind not in "fc":
        return 0.0 if np.array_equal(got, want) else float("inf")
    finite = np.isfinite(want)
    if not np.array_equal(finite, np.isfinite(got)):
        return float("inf")
    largest = np.abs(want[finite]).max(initial=1e-30).astype(np.float64)
    return float(np.abs(got[finite].astype(np.float64) - want[finite]).max(initial=0) / largest)


def one(path: pathlib.Path, recipes: dict[str, Any], processor: str) -> dict[str, Any]:
    """Returns the table row of a model.

    If `processor` is empty, the model is compiled for this machine and runs on it without
    emulation.
    """
    import hewn

    if processor:
        import processors

        if why := processors.emulate(processor):
            return {"why": why}
    weights = onnx.load(path, load_external_data=False).graph
    given = {t.name for t in weights.initializer}
    rng = np.random.default_rng(0)
    feeds = {v.name: feed(v, recipes.get(v.name, {}), rng) for v in weights.input if v.name not in given}
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "model.so"
        module = hewn.compile(os.fspath(path), output=library)
        got = module.run(feeds)
        files = {f.suffix: f.stat().st_size for f in pathlib.Path(folder).iterdir()}
    errors = [max(error(np.asarray(got[n]), w) for n, w in want.items()) for want in references(path, feeds)]
    return {"error": min(errors), "library": files[".so"], "weights": files.get(".weights", 0)}


def apart(queue: multiprocessing.queues.Queue[dict[str, Any]], *what: Any) -> None:
    """Puts the row of a model, or the reason for its failure, into a queue."""
    try:
        queue.put(one(*what))
    except BaseException as problem:
        queue.put({"why": f"{type(problem).__name__}: {str(problem).splitlines()[0][:200]}"})


def in_process(seconds: float, *what: Any) -> dict[str, Any]:
    """Returns the row of a model, which is measured in a child process for at most `seconds` seconds."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=apart, args=(queue, *what))
    process.start()
    try:
        return queue.get(timeout=seconds)
    except Exception:
        return {"why": f"no answer in {seconds} s"}
    finally:
        process.kill()
        process.join()


def main() -> None:
    """Runs the models that the command line selects, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--processor", default="max")
    parser.add_argument("--list", type=pathlib.Path)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=int, default=600)
    flags = parser.parse_args()
    models: list[tuple[str, pathlib.Path, dict[str, Any]]] = [(path.stem, path, {}) for path in flags.models]
    for entry in json.loads(flags.list.read_text()) if flags.list else ():
        path = flags.cache / entry["package"].replace("==", "-") / entry["path"]
        models.append((entry["name"].rpartition("/")[2], path, entry["inputs"]))
    print("| model | library, KB | weights, MB | error | here |\n| --- | --- | --- | --- | --- |")
    for name, path, recipes in models:
        if not re.search(flags.filter, name):
            continue
        there, here = (in_process(flags.seconds, path, recipes, p) for p in (flags.processor, ""))
        if "why" in there:
            print(f"| {name} | {there['why']} |", flush=True)
            continue
        beside = f"{here['error']:.1e}" if "error" in here else here["why"]
        sizes = f"{there['library'] / 1024:.0f} | {there['weights'] / 1e6:.1f}"
        print(f"| {name} | {sizes} | {there['error']:.1e} | {beside} |", flush=True)


if __name__ == "__main__":
    main()
