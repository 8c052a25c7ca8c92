#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times one step of attention by a long cache of keys and values: of float32, and of integers of 8 bits that DequantizeLinear makes floats of.

    .venv/bin/python tools/quantization/caches.py [--heads N] [--length N] [--depth N] [--target TARGET ...] [--seconds S]

A row of queries, a new key and value, which are put behind the cache, and the results of both. They run in turns on one thread, into arrays that are
there; the least CPU time of a thread counts. MB: what the caches take.
"""

from __future__ import annotations

import argparse
import time

import hewn
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SCALE = np.float32(0.05)


def step(heads: int, length: int, depth: int, rounds: bool) -> onnx.ModelProto:
    constants = {"s": SCALE, "z": np.int8(0)} if rounds else {}
    kept = TensorProto.INT8 if rounds else TensorProto.FLOAT
    nodes = []
    for c in "kv":
        if rounds:
            nodes.append(helper.make_node("QuantizeLinear", [f"{c}_new", "s", "z"], [f"{c}_rounded"]))
        nodes.append(
            helper.make_node("Concat", [f"{c}_past", f"{c}_rounded" if rounds else f"{c}_new"], [f"{c}_all"], axis=2)
        )
        if rounds:
            nodes.append(helper.make_node("DequantizeLinear", [f"{c}_all", "s", "z"], [f"{c}_wide"]))
    k, v = ("k_wide", "v_wide") if rounds else ("k_all", "v_all")
    nodes += [
        helper.make_node("Transpose", [k], ["turned"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "turned"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", v], ["y"]),
    ]
    of = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "step",
        [of(name, TensorProto.FLOAT, [1, heads, 1, depth]) for name in ("q", "k_new", "v_new")]
        + [of(f"{c}_past", kept, [1, heads, "past", depth]) for c in "kv"],
        [of("y", TensorProto.FLOAT, None)] + [of(f"{c}_all", kept, None) for c in "kv"],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--length", type=int, default=2048, help="of the cache with the new place (2048)")
    parser.add_argument("--depth", type=int, default=128)
    parser.add_argument("--target", action="append", help="a machine that this one runs the code of (host)")
    parser.add_argument("--seconds", type=float, default=3, help="of timing (3)")
    options = parser.parse_args()
    heads, length, depth = options.heads, options.length, options.depth
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal((1, heads, 1, depth)).astype("f") for name in ("q", "k_new", "v_new")}
    feeds["q"] /= np.float32(np.sqrt(depth))
    past = {f"{c}_past": random.integers(-60, 61, (1, heads, length - 1, depth)).astype(np.int8) for c in "kv"}
    print("| target | cache | MB | ms |")
    print("| --- | --- | --- | --- |")
    for target in options.target or ["host"]:
        runs = {}
        for name, rounds in (("float32", False), ("int8", True)):
            module = hewn.compile(step(heads, length, depth, rounds), target=target, threads=1)
            given = feeds | {n: a if rounds else a * SCALE for n, a in past.items()}
            out = {n: np.empty_like(a) for n, a in module.run(given).items()}
            runs[name] = (module, given, out)
        least = dict.fromkeys(runs, float("inf"))
        begin = time.monotonic()
        while time.monotonic() - begin < options.seconds:
            for name, (module, given, out) in runs.items():
                start = time.thread_time()
                module.run(given, out=out)
                least[name] = min(least[name], time.thread_time() - start)
        for name, (_, given, _) in runs.items():
            size = sum(given[f"{c}_past"].nbytes for c in "kv") / 1e6
            print(f"| {target} | {name} | {size:.1f} | {least[name] * 1e3:.2f} |", flush=True)


if __name__ == "__main__":
    main()
