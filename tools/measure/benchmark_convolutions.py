# SPDX-License-Identifier: Apache-2.0
"""Times convolutions (plain, transposed, grouped) with hewn and onnxruntime on one thread.

The engines run alternately; the fastest run of each counts.

    python tools/measure/benchmark_convolutions.py [--open] [PART OF A NAME]

With --open, height and width are dynamic. The tables of two pages come from this script:
`transposed-convolutions.md` and `dynamic-padding.md` in docs/decisions/kernels.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import hewn
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    import onnx


# A case is a tuple (op, batch size, input channels, output channels, spatial size, kernel size,
# stride, dilation, padding, groups, output padding).
CASES = [
    ("ConvTranspose", 1, 64, 64, (28, 28), 3, 3, 2, 0, 1, 0),
    ("ConvTranspose", 1, 32, 32, (56, 56), 3, 3, 2, 1, 1, 0),
    ("ConvTranspose", 4, 16, 16, (28, 28), 3, 3, 3, 1, 1, 0),
    ("ConvTranspose", 1, 64, 64, (28, 28), 3, 2, 2, 1, 1, 1),
    ("ConvTranspose", 4, 128, 64, (128,), 5, 3, 2, 1, 1, 0),
    ("ConvTranspose", 1, 64, 64, (28, 28), 2, 3, 1, 0, 1, 0),
    ("ConvTranspose", 1, 64, 64, (56, 56), 3, 2, 1, 1, 64, 1),
    ("ConvTranspose", 1, 128, 128, (28, 28), 4, 2, 1, 1, 128, 0),
    ("ConvTranspose", 4, 32, 32, (28, 28), 3, 3, 1, 0, 32, 0),
    ("ConvTranspose", 1, 256, 256, (14, 14), 4, 2, 2, 1, 256, 0),
    ("ConvTranspose", 1, 64, 64, (128,), 3, 2, 1, 1, 64, 1),
    ("ConvTranspose", 1, 64, 64, (28, 28), 3, 2, 1, 1, 4, 1),
    ("ConvTranspose", 4, 64, 64, (14, 14), 4, 2, 1, 1, 2, 0),
    ("ConvTranspose", 1, 128, 128, (28, 28), 3, 2, 1, 1, 32, 1),
    ("ConvTranspose", 1, 64, 64, (28, 28), 3, 3, 2, 1, 4, 0),
    ("ConvTranspose", 1, 64, 32, (56, 56), 3, 2, 1, 1, 1, 1),
    ("ConvTranspose", 1, 128, 64, (28, 28), 3, 2, 1, 1, 1, 1),
    ("ConvTranspose", 4, 256, 128, (14, 14), 3, 2, 1, 1, 1, 1),
    ("ConvTranspose", 1, 8, 8, (128, 128), 3, 2, 1, 1, 1, 1),
    ("ConvTranspose", 1, 64, 32, (28, 28), 5, 2, 1, 2, 1, 1),
    ("ConvTranspose", 1, 64, 64, (28, 28), 4, 2, 1, 1, 1, 0),
    ("ConvTranspose", 1, 64, 32, (56, 56), 2, 2, 1, 0, 1, 0),
    ("ConvTranspose", 1, 64, 3, (56, 56), 4, 2, 1, 1, 1, 0),
    ("ConvTranspose", 1, 64, 64, (128,), 4, 2, 1, 1, 1, 0),
    ("Conv", 1, 64, 64, (56, 56), 3, 1, 2, 2, 4, 0),
    ("Conv", 1, 64, 64, (56, 56), 3, 1, 2, 2, 32, 0),
    ("Conv", 1, 128, 128, (28, 28), 3, 1, 2, 2, 2, 0),
    ("Conv", 4, 128, 128, (28, 28), 3, 1, 3, 3, 32, 0),
    ("Conv", 1, 32, 64, (56, 56), 3, 2, 2, 2, 4, 0),
    ("Conv", 1, 64, 64, (56, 56), 3, 1, 2, 2, 64, 0),
    ("Conv", 1, 256, 256, (14, 14), 3, 1, 2, 2, 4, 0),
    ("Conv", 1, 24, 24, (56, 56), 3, 1, 2, 2, 4, 0),
    ("Conv", 1, 128, 128, (128,), 3, 1, 2, 2, 4, 0),
    ("Conv", 1, 960, 256, (28, 28), 3, 1, 12, 12, 1, 0),
    ("Conv", 1, 960, 256, (28, 28), 3, 1, 24, 24, 1, 0),
    ("Conv", 1, 960, 256, (28, 28), 3, 1, 36, 36, 1, 0),
    ("Conv", 1, 2048, 256, (28, 28), 3, 1, 24, 24, 1, 0),
    ("Conv", 1, 64, 64, (56, 56), 3, 1, 1, 1, 1, 0),
    ("Conv", 1, 256, 256, (14, 14), 3, 1, 1, 1, 1, 0),
    ("Conv", 1, 64, 128, (56, 56), 3, 2, 1, 1, 1, 0),
    ("Conv", 1, 128, 128, (28, 28), 5, 1, 1, 2, 1, 0),
    ("Conv", 1, 96, 96, (56, 56), 3, 1, 1, 1, 96, 0),
    ("Conv", 1, 240, 240, (28, 28), 5, 1, 1, 2, 240, 0),
    ("Conv", 1, 960, 960, (28, 28), 5, 1, 2, 4, 960, 0),
    ("Conv", 1, 64, 64, (56, 56), 3, 1, 1, 1, 16, 0),
]
SECONDS = 0.5


def name_of(case: Sequence[Any]) -> str:
    """Returns the name of a convolution for the table."""
    op, batch, channels, features, size, kernel, stride, dilation, pads, groups, more = case
    window = f"kernel {kernel} stride {stride} dilation {dilation} pads {pads}" + (f" more {more}" if more else "")
    return f"{op} {batch} x {channels} to {features} in {groups}, {' x '.join(map(str, size))}, {window}"


def model_of(case: Sequence[Any], leaves_open: bool) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Returns a model with the convolution; its height and width are dynamic if `leaves_open`."""
    op, batch, channels, features, size, kernel, stride, dilation, pads, groups, more = case
    arrays, rank = np.random.default_rng(0), len(size)
    outer = (channels, features // groups) if op == "ConvTranspose" else (features, channels // groups)
    weights = arrays.standard_normal((*outer, *[kernel] * rank)).astype(np.float32)
    attributes = {
        "group": groups,
        "strides": [stride] * rank,
        "dilations": [dilation] * rank,
        "pads": [pads] * 2 * rank,
    }
    if more:
        attributes["output_padding"] = [more] * rank
    shape = [batch, channels, *([f"d{i}" for i in range(rank)] if leaves_open else size)]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w", "b"], ["y"], **attributes)],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.ones(features, np.float32), "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, {"x": arrays.standard_normal((batch, channels, *size)).astype(np.float32)}


def fastest_of(*runs: Callable[[], object]) -> list[float]:
    """Returns the time of the fastest run of each function in milliseconds.

    The functions run alternately for SECONDS, so that other load on the machine affects all of them
    equally.
    """
    fastest, end = [np.inf] * len(runs), time.time() + SECONDS
    while time.time() < end:
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            fastest[i] = min(fastest[i], 1e3 * (time.perf_counter() - start))
    return fastest


def main() -> None:
    """Times the selected convolutions with hewn and onnxruntime, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--open", action="store_true", help="make height and width dynamic")
    parser.add_argument("part", nargs="?", default="", metavar="PART OF A NAME")
    said = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    for case in CASES:
        if said.part not in name_of(case):
            continue
        model, feeds = model_of(case, said.open)
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        theirs, ours = fastest_of(partial(session.run, None, feeds), partial(hewn.compile(model).run, feeds))
        print(f"{theirs / ours:5.2f}  {theirs:7.3f} ms, hewn {ours:7.3f} ms  {name_of(case)}", flush=True)


if __name__ == "__main__":
    main()
