#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares WebAssembly modules with native code: results, sizes and times on one thread.

    tools/measure/webassembly/compare.py [--rounds N] [--seconds S] [--quantize SCHEME] MODEL.onnx ...

Compiles each model for x86-64-v2 (SSE4.2), wasm32 (SIMD128) and wasm32+relaxed, and runs them
alternately, the modules in Node.js. Prints a Markdown row for each model: the fastest run of each, the
ratios to native code, the sizes of the module without weights, and the largest difference between
the outputs of a module and of native code, relative to the largest output.
"""

from __future__ import annotations

import argparse
import gzip
import pathlib
import subprocess
import tempfile
import time
from typing import Any

import hewn
import numpy as np

HERE = pathlib.Path(__file__).parent
NODE = ["node", "--experimental-wasm-relaxed-simd", str(HERE / "run.mjs")]


def inputs_of(module: hewn.Module, rng: np.random.Generator) -> list[np.ndarray]:
    """Returns random inputs. Integers are small, since they may be indices of embeddings."""
    made = []
    for tensor in module.inputs:
        dtype = np.dtype(tensor.dtype)
        shape: Any = tensor.shape
        is_float = np.issubdtype(dtype, np.floating)
        made.append((rng.standard_normal(shape) if is_float else rng.integers(0, 2, shape)).astype(dtype))
    return made


def run_module(path: pathlib.Path, seconds: float, inputs: list[np.ndarray]) -> tuple[float, bytes]:
    """Returns the milliseconds of the fastest run, and the bytes of all outputs."""
    folder = path.parent
    files = []
    for i, array in enumerate(inputs):
        files.append(folder / f"input{i}")
        array.tofile(files[-1])
    result = folder / "outputs"
    command = [*NODE, str(path), str(seconds), str(result), *map(str, files)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(text), result.read_bytes()


def run_native(module: hewn.Module, seconds: float, inputs: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """Returns the least time of a run in milliseconds, and the outputs."""
    feeds = {tensor.name: array for tensor, array in zip(module.inputs, inputs, strict=True)}
    outputs = list(module.run(feeds).values())
    fastest, end = float("inf"), time.perf_counter() + seconds
    while True:
        begin = time.perf_counter()
        module.run(feeds)
        fastest = min(fastest, time.perf_counter() - begin)
        if time.perf_counter() > end:
            return 1000 * fastest, outputs


def difference(content: bytes, wanted: list[np.ndarray]) -> float:
    """Returns the largest difference, relative to the largest output."""
    worst, at = 0.0, 0
    for array in wanted:
        got = np.frombuffer(content, array.dtype, array.size, at).reshape(array.shape)
        at += array.nbytes
        scale = float(np.max(np.abs(array), initial=1e-30))
        worst = max(worst, float(np.max(np.abs(got.astype(np.float64) - array), initial=0)) / scale)
    return worst


def compare(model: pathlib.Path, options: argparse.Namespace) -> str:
    """Returns the table row of a model."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        paths = {
            "x86-64-v2": place / "libmodel.so",
            "wasm32": place / "model.wasm",
            "wasm32+relaxed": place / "relaxed.wasm",
        }
        given = {"quantize": options.quantize} if options.quantize else {}
        for target, path in paths.items():
            command = [options.hewn, "compile", str(model), f"--target={target}", "-o", str(path), "--name=model"]
            command += [f"--{name}={value}" for name, value in given.items()]
            subprocess.run(command, check=True, capture_output=True)
        native = hewn.load(paths["x86-64-v2"])
        inputs = inputs_of(native, np.random.default_rng(0))
        times: dict[str, float] = dict.fromkeys(paths, float("inf"))
        worst = 0.0
        for _ in range(options.rounds):
            spent, wanted = run_native(native, options.seconds, inputs)
            times["x86-64-v2"] = min(times["x86-64-v2"], spent)
            for target in ("wasm32", "wasm32+relaxed"):
                spent, content = run_module(paths[target], options.seconds, inputs)
                times[target] = min(times[target], spent)
                worst = max(worst, difference(content, wanted))
        module = paths["wasm32"].read_bytes()
        simd, relaxed = (times[target] / times["x86-64-v2"] for target in ("wasm32", "wasm32+relaxed"))
        cells = [model.stem, f"{times['x86-64-v2']:.2f}", f"{simd:.2f}", f"{relaxed:.2f}", f"{len(module) / 1e3:.1f}"]
        return "| " + " | ".join([*cells, f"{len(gzip.compress(module, 9)) / 1e3:.1f}", f"{worst:.1e}"]) + " |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--quantize", help="scheme of hewn compile")
    parser.add_argument("--hewn", default="hewn", help="the command (default: hewn in PATH)")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    print("| model | native, ms | SIMD | relaxed | kB | gzip, kB | difference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for model in options.models:
        print(compare(model, options), flush=True)


if __name__ == "__main__":
    main()
