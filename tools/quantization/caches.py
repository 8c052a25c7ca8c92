#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a step of attention over a long key-value cache, which is stored in float32 or in int8 (with DequantizeLinear).

    .venv/bin/python tools/quantization/caches.py [--heads N] [--length N] [--depth N] [--groups N] [--target TARGET ...] [--seconds S]

A step has one row of queries. It appends a new key and a new value to the caches, and the extended
caches are outputs of the model. The float32 and the int8 model run alternately on one thread and
write into preallocated arrays; a time is the minimum CPU time of the thread over all runs. MB is
the size of the caches.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import hewn
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SCALE = np.float32(0.05)


def step(heads: int, groups: int, depth: int, rounds: bool) -> onnx.ModelProto:
    """Returns one step of attention with a key-value cache, in int8 if `rounds`."""
    constants: dict[str, Any] = {"s": SCALE, "z": np.int8(0)} if rounds else {}
    shared = heads // groups
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
    if groups > 1:
        constants |= {
            "two": np.array([2]),
            "times": np.array([1, 1, groups, 1, 1]),
            "whole": np.array([1, heads, -1, depth]),
        }
        for c, kept_as in (("k", k), ("v", v)):
            nodes.append(helper.make_node("Unsqueeze", [kept_as, "two"], [f"{c}_apart"]))
            nodes.append(helper.make_node("Expand", [f"{c}_apart", "times"], [f"{c}_repeated"]))
            nodes.append(helper.make_node("Reshape", [f"{c}_repeated", "whole"], [f"{c}_heads"]))
        k, v = "k_heads", "v_heads"
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
        [of("q", TensorProto.FLOAT, [1, heads, 1, depth])]
        + [of(f"{c}_new", TensorProto.FLOAT, [1, shared, 1, depth]) for c in "kv"]
        + [of(f"{c}_past", kept, [1, shared, "past", depth]) for c in "kv"],
        [of("y", TensorProto.FLOAT, None)] + [of(f"{c}_all", kept, None) for c in "kv"],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main() -> None:
    """Times the steps with float32 and int8 caches, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--groups", type=int, default=1, help="query heads per key-value head (default: 1)")
    parser.add_argument(
        "--length", type=int, default=2048, help="length of the cache including the new entry (default: 2048)"
    )
    parser.add_argument("--depth", type=int, default=128)
    parser.add_argument("--target", action="append", help="target that this machine can run (default: host)")
    parser.add_argument("--seconds", type=float, default=3, help="measurement time (default: 3)")
    options = parser.parse_args()
    heads, length, depth = options.heads, options.length, options.depth
    random = np.random.default_rng(0)
    shared = heads // options.groups
    feeds = {"q": random.standard_normal((1, heads, 1, depth)).astype("f")}
    feeds |= {f"{c}_new": random.standard_normal((1, shared, 1, depth)).astype("f") for c in "kv"}
    feeds["q"] /= np.float32(np.sqrt(depth))
    past = {f"{c}_past": random.integers(-60, 61, (1, shared, length - 1, depth)).astype(np.int8) for c in "kv"}
    print("| target | cache | MB | ms |")
    print("| --- | --- | --- | --- |")
    for target in options.target or ["host"]:
        runs = {}
        for name, rounds in (("float32", False), ("int8", True)):
            module = hewn.compile(step(heads, options.groups, depth, rounds), target=target, threads=1)
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
