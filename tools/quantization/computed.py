#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times 8-bit integer matmuls of two activations (no constant weights), as in attention.

The forms are MatMulInteger, and MatMul between QuantizeLinear and DequantizeLinear.

    .venv/bin/python tools/quantization/computed.py [--target TARGET ...] [--seconds S] [--rows N ...] [--onnxruntime]

Uses one thread; a time is the minimum CPU time of a run. Columns: microseconds of MatMulInteger
without zero points; of MatMulInteger with a zero point per operand, which is a model input; and of
a MatMul of float32 operands with QuantizeLinear and DequantizeLinear on its operands and
QuantizeLinear on its result. With `--onnxruntime`, times onnxruntime, if it is installed, instead
of hewn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node


class Case:
    """A matmul of [batch, rows, depth] by [batch, depth, columns].

    If `transposed` is true, the right operand is stored as ([batch, columns, depth]), as the
    keys of attention are.
    """

    def __init__(self, batch: tuple[int, ...], rows: int, depth: int, columns: int, transposed: bool) -> None:
        self.name = (
            f"{'x'.join(map(str, (*batch, rows, depth)))} by {depth}x{columns}{', transposed' if transposed else ''}"
        )
        self.shapes = {
            "x": (*batch, rows, depth),
            "w": (*batch, columns, depth) if transposed else (*batch, depth, columns),
        }
        self.transposed, self.rank = transposed, len(batch) + 2
        self.rng = np.random.default_rng(0)

    def turn(self, name: str, nodes: list[onnx.NodeProto]) -> str:
        """Adds a Transpose if the second operand is stored transposed, and returns the operand's name."""
        if self.transposed:
            order = [*range(self.rank - 2), self.rank - 1, self.rank - 2]
            nodes.append(node("Transpose", [name], ["transposed"], perm=order))
        return "transposed" if self.transposed else name

    def model(
        self,
        nodes: list[onnx.NodeProto],
        feeds: dict[str, np.ndarray],
        result: int,
        constants: Mapping[str, Any] | Sequence[Any] = (),
    ) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
        """Returns a model with these nodes, and its inputs."""
        to = helper.np_dtype_to_tensor_dtype
        graph = helper.make_graph(
            nodes,
            "computed",
            [helper.make_tensor_value_info(name, to(v.dtype), v.shape) for name, v in feeds.items()],
            [helper.make_tensor_value_info("y", result, None)],
            [numpy_helper.from_array(np.asarray(v), name) for name, v in dict(constants).items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), feeds

    def integers(self, zeros: bool) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
        """Returns a MatMulInteger, with or without zero points."""
        nodes: list[onnx.NodeProto] = []
        kinds = {"x": np.uint8, "w": np.uint8 if zeros else np.int8}
        feeds = {n: self.rng.integers(-128, 256, shape).astype(kinds[n]) for n, shape in self.shapes.items()}
        inputs = ["x", self.turn("w", nodes)]
        if zeros:
            feeds |= {"xz": np.array(120, np.uint8), "wz": np.array(131, np.uint8)}
            inputs += ["xz", "wz"]
        nodes.append(node("MatMulInteger", inputs, ["y"]))
        return self.model(nodes, feeds, TensorProto.INT32)

    def quantized(self) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
        """Returns a MatMul between QuantizeLinear and DequantizeLinear."""
        nodes = [node("Relu", ["x"], ["xr"]), node("Relu", ["w"], ["wr"])]
        feeds = {n: self.rng.standard_normal(shape).astype(np.float32) for n, shape in self.shapes.items()}
        for name, value in (("x", "xr"), ("w", self.turn("wr", nodes))):
            nodes.append(node("QuantizeLinear", [value, "s", f"{name}z"], [f"{name}q"]))
            nodes.append(node("DequantizeLinear", [f"{name}q", "s", f"{name}z"], [f"{name}d"]))
        nodes += [node("MatMul", ["xd", "wd"], ["p"]), node("QuantizeLinear", ["p", "ys", "xz"], ["y"])]
        constants = {"s": np.float32(0.02), "ys": np.float32(0.2), "xz": np.uint8(120), "wz": np.uint8(131)}
        return self.model(nodes, feeds, TensorProto.UINT8, constants)


def runner(model: onnx.ModelProto, target: str | None) -> Callable[[dict[str, np.ndarray]], object]:
    """Returns a function that runs the model with hewn, or with onnxruntime if `target` is None."""
    if target is None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return lambda feeds: session.run(None, feeds)
    import hewn

    return hewn.compile(model, target=target).run


def microseconds(run: Callable[[dict[str, np.ndarray]], object], feeds: dict[str, np.ndarray], seconds: float) -> float:
    """Returns the least CPU time of a run."""
    least, begin, rounds = float("inf"), time.monotonic(), 0
    while rounds < 10 or time.monotonic() - begin < seconds:
        start = time.thread_time()
        run(feeds)
        least = min(least, time.thread_time() - start)
        rounds += 1
    return least * 1e6


def main() -> None:
    """Prints a table for each target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", help="target (default: host); may be repeated")
    parser.add_argument("--seconds", type=float, default=0.5, help="measurement time per figure")
    parser.add_argument("--rows", type=int, action="append", help="number of rows, instead of those of the cases")
    parser.add_argument("--onnxruntime", action="store_true")
    options = parser.parse_args()
    for target in [None] if options.onnxruntime else options.target or ["host"]:
        print(f"| {target or 'onnxruntime'} | MatMulInteger | with zero points | QDQ |\n| --- | --- | --- | --- |")
        for batch, rows, depth, columns, transposed in (
            ((12,), 128, 64, 128, True),
            ((12,), 128, 128, 64, False),
            ((), 512, 64, 512, True),
            ((), 512, 512, 64, False),
        ):
            for count in options.rows or [rows]:
                case = Case(batch, count, depth, columns, transposed)
                models = case.integers(zeros=False), case.integers(zeros=True), case.quantized()
                figures = [microseconds(runner(model, target), feeds, options.seconds) for model, feeds in models]
                print(f"| {case.name} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |", flush=True)


if __name__ == "__main__":
    main()
