#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times contractions in float32 and in integers.

Compares the ratio of the two times with the ratio that the cost model estimates, by which hewn
decides which contractions remain float32.

    .venv/bin/python tools/quantization/contractions.py [--target TARGET ...] [--seconds S]

In the model, each contraction is between two Relus, so that its operand has to be quantized and its
result has to be scaled. The float32 and the integer model run alternately on one thread; a time is
the minimum CPU time of the thread over all runs. Columns: microseconds in float32 and in integers,
the ratio of these times, and the ratio of the estimated cycles.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import hewn
import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    import onnx


Case = tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]


def matrix(rows: int, depth: int, columns: int) -> Case:
    """Returns a matmul."""
    return "MatMul", (rows, depth), (depth, columns), {}


def windows(channels: int, columns: int, size: int, image: int, stride: int = 1) -> Case:
    """Returns a convolution with a square window."""
    attributes = {"pads": [size // 2] * 4, "strides": [stride] * 2}
    return "Conv", (1, channels, image, image), (columns, channels, size, size), attributes


CASES = [
    *(matrix(*of) for of in ((1, 1024, 1024), (16, 64, 64), (196, 32, 32), (196, 64, 64), (196, 256, 64))),
    *(matrix(*of) for of in ((196, 64, 256), (196, 512, 512), (196, 32, 8), (196, 256, 8), (196, 27, 32))),
    *(windows(*of) for of in ((64, 64, 3, 14), (64, 64, 3, 56), (256, 256, 3, 14), (16, 16, 3, 112))),
    *(windows(*of) for of in ((3, 32, 3, 224, 2), (16, 64, 1, 112), (64, 24, 1, 56), (3, 64, 7, 224, 2))),
]


def model_of(case: Case, rng: np.random.Generator) -> onnx.ModelProto:
    """Returns a model with the contraction between two Relus."""
    op, shape, weights, attributes = case
    w = (rng.standard_normal(weights) / np.sqrt(np.prod(weights) / max(weights))).astype("f")
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node(op, ["r", "w"], ["p"], name="product", **attributes),
        helper.make_node("Relu", ["p"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", shape), ("y", None))]
    graph = helper.make_graph(nodes, "contraction", ends[:1], ends[1:], [numpy_helper.from_array(w, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def microseconds(modules: Sequence[hewn.Module], feeds: dict[str, np.ndarray], seconds: float) -> list[float]:
    """Returns the least CPU time of a run of each module, which run alternately."""
    least = [float("inf")] * len(modules)
    begin, rounds = time.monotonic(), 0
    while rounds < 10 or time.monotonic() - begin < seconds:
        for i, module in enumerate(modules):
            start = time.thread_time()
            module.run(feeds)
            least[i] = min(least[i], time.thread_time() - start)
        rounds += 1
    return [t * 1e6 for t in least]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--target", action="append", help="target that this machine can run (default: host); may be repeated"
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="measurement time per contraction (default: 0.5)")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    # The contraction "product" is listed here, so hewn quantizes it even if the cost model
    # estimates that integers are slower.
    text = {"bias_correction": False, "sites": [{"node": "product", "scale": 0.02, "zero_point": 0}]}
    print("| target | contraction | float32, us | integers, us | measured | expected |")
    print("| --- | --- | --- | --- | --- | --- |")
    for target in options.target or ["host"]:
        for case in CASES:
            model = model_of(case, rng)
            floats, integers = hewn.compile(model, target=target), hewn.compile(model, target=target, quantize=text)
            layer = (integers.report or {})["layers"][0]
            x = rng.standard_normal(case[1]).astype("f")
            before, after = microseconds([floats, integers], {"x": x}, options.seconds)
            expected = layer["float_cycles"] / layer["integer_cycles"]
            what = f"{case[0]} {'x'.join(map(str, case[1]))} by {'x'.join(map(str, case[2]))}"
            what += f", every {case[3]['strides'][0]}nd" if case[3].get("strides", [1])[0] > 1 else ""
            print(
                f"| {target} | {what} | {before:.1f} | {after:.1f} | {before / after:.2f} | {expected:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
