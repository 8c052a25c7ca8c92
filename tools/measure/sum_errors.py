# SPDX-License-Identifier: Apache-2.0
"""Measures the rounding error of float32 sums by their length.

Covers each kernel generator that accumulates. Prints a table of
docs/decisions/numbers/long-sums.md.

    .venv/bin/python tools/measure/sum_errors.py [--lengths 1000,100000] [--only rows] [--target T]

The data are flat (equal positive elements, the worst case) or uniform in [0, 1). An error is the
largest one of the outputs, relative to the exact result; times are minima of several runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import hewn
import numpy as np
import onnx
import onnxruntime
from onnx import parser

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
CHANNELS = 64  # of a sum over rows of several columns


class Form:
    """A model with sums of n elements: its text, the shapes of its inputs, and the exact result."""

    def __init__(
        self,
        text: Callable[[int], str],
        shapes: Callable[[int], list[tuple[int, ...]]],
        exact: Callable[..., np.ndarray],
        longest: int,
    ) -> None:
        self.text, self.shapes, self.exact, self.longest = text, shapes, exact, longest


def reduce_sum(types: str, axes: str) -> str:
    """Returns a graph with a ReduceSum."""
    body = f"a = Constant <value_ints=[{axes}]> () y = ReduceSum <keepdims=0> (x, a)"
    return f"g {types} {{ {body} }}"


def elements(n: int) -> str:
    """Returns a graph with a ReduceSum of a Concat along the innermost dim."""
    types = f"(float[1, {n}, 2] x, float[1, {n}, 2] z) => (float[1, 2] y)"
    body = "a = Constant <value_ints=[1]> () b = Concat <axis=2> (x, z) c = ReduceSum <keepdims=0> (b, a)"
    return f"g {types} {{ {body} i = Constant <value_ints=[0, 3]> () y = Gather <axis=1> (c, i) }}"


def convolution(n: int) -> str:
    """Returns a graph with a 3x3 convolution."""
    c = n // 9
    types = f"(float[1, {c}, 4, 4] x, float[16, {c}, 3, 3] w) => (float[1, 16, 4, 4] y)"
    return f"g {types} {{ y = Conv <pads=[1, 1, 1, 1]> (x, w) }}"


def mean_after_convolution(n: int) -> str:
    """Returns a graph with a global average of a convolution's result."""
    types = f"(float[1, 8, {side(n)}, {side(n)}] x, float[16, 8, 1, 1] w) => (float[1, 16, 1, 1] y)"
    return f"g {types} {{ c = Conv (x, w) r = Relu(c) y = GlobalAveragePool (r) }}"


def instance_norm(n: int) -> str:
    """Returns a graph with an InstanceNormalization."""
    ones = "s = Constant <value_floats=[1.0, 1.0]> () b = Constant <value_floats=[0.0, 0.0]> ()"
    body = "y = InstanceNormalization <epsilon=0.0> (x, s, b)"
    return f"g (float[1, 2, {n}] x) => (float[1, 2, {n}] y) {{ {ones} {body} }}"


def product(k: object, m: int, n: int) -> str:
    """Returns a graph with a MatMul."""
    return f"g (float[{m}, {k}] x, float[{k}, {n}] z) => (float[{m}, {n}] y) {{ y = MatMul (x, z) }}"


def row_op(n: int, op: str) -> str:
    """Returns a graph with an op on one row."""
    return f"g (float[1, {n}] x) => (float[1, {n}] y) {{ {op} }}"


def side(n: int) -> int:
    """Returns the side of a square image with about `n` pixels."""
    return max(1, round(n**0.5))


def centered(x: np.ndarray) -> np.ndarray:
    """Returns the normalized rows in the precision of `x`."""
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True))


def softmax(x: np.ndarray) -> np.ndarray:
    """Returns the softmax of all elements."""
    e = np.exp(x - x.max())
    return e / e.sum()


def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Returns the 3x3 convolution with zero padding."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwij,fcij->nfhw", windows, w, optimize=True)


def convolved_mean(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Returns the mean over the pixels of a 1x1 convolution."""
    return np.einsum("nchw,fc->nf", x, w[:, :, 0, 0])[:, :, None, None] / (x.shape[2] * x.shape[3])


COLUMNS = f"(float[h, w, {CHANNELS}] x) => (float[{CHANNELS}] y)"
FORMS = {
    "rows": Form(
        lambda n: reduce_sum(f"(float[1, {n}] x) => (float[1] y)", "1"), lambda n: [(1, n)], lambda x: x.sum(1), 10**8
    ),
    "rows, dynamic": Form(
        lambda n: reduce_sum("(float[1, n] x) => (float[1] y)", "1"), lambda n: [(1, n)], lambda x: x.sum(1), 10**8
    ),
    "columns": Form(
        lambda n: reduce_sum(f"(float[{n}, {CHANNELS}] x) => (float[{CHANNELS}] y)", "0"),
        lambda n: [(n, CHANNELS)],
        lambda x: x.sum(0),
        10**6,
    ),
    "columns, dynamic": Form(
        lambda n: reduce_sum(COLUMNS, "0, 1"),
        lambda n: [(side(n), side(n), CHANNELS)],
        lambda x: x.sum((0, 1)),
        10**6,
    ),
    "elements": Form(
        elements,
        lambda n: [(1, n, 2), (1, n, 2)],
        lambda x, z: np.stack([x.sum(1)[:, 0], z.sum(1)[:, 1]], 1),
        10**6,
    ),
    "dot product": Form(lambda n: product(n, 1, 1), lambda n: [(1, n), (n, 1)], np.matmul, 10**8),
    "GEMM": Form(lambda n: product(n, 12, 32), lambda n: [(12, n), (n, 32)], np.matmul, 10**6),
    "GEMM, dynamic": Form(lambda n: product("k", 12, 32), lambda n: [(12, n), (n, 32)], np.matmul, 10**6),
    "convolution 3x3": Form(convolution, lambda n: [(1, n // 9, 4, 4), (16, n // 9, 3, 3)], convolve, 10**5),
    "softmax": Form(lambda n: row_op(n, "y = Softmax <axis=1> (x)"), lambda n: [(1, n)], softmax, 10**7),
    "mean after a convolution": Form(
        mean_after_convolution, lambda n: [(1, 8, side(n), side(n)), (16, 8, 1, 1)], convolved_mean, 10**6
    ),
    "instance norm": Form(instance_norm, lambda n: [(1, 2, n)], centered, 10**7),
    "prefix sum": Form(
        lambda n: row_op(n, "a = Constant <value_int=1> () y = CumSum (x, a)"),
        lambda n: [(1, n)],
        lambda x: x.cumsum(1),
        10**7,
    ),
}


def values(form: str, data: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Returns input data: constant, uniform, or with a large mean."""
    if form == "instance norm":  # a deviation much smaller than the mean
        return (10 + rng.standard_normal(shape) / 16).astype(np.float32)
    if data == "flat":
        return np.full(shape, 0.1, np.float32)
    return rng.random(shape, dtype=np.float32)


def measure(run: Callable[[], list[np.ndarray]], wanted: np.ndarray) -> tuple[float, float]:
    """Returns the relative error of the first output, and the least time of a run."""
    got = run()[0]
    error = float(
        (np.abs(got.astype(np.float64) - wanted) / np.maximum(np.abs(wanted), 1e-6 * np.abs(wanted).max())).max()
    )
    if (wanted < 0).any():
        error = float(np.abs(got - wanted).max() / np.abs(wanted).max())
    best, end = 1e30, time.perf_counter() + 0.3
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return error, best


def compare(name: str, form: Form, n: int, target: str) -> None:
    """Prints the table rows of a form for `n` summands."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model: onnx.ModelProto = parser.parse_model(HEAD + form.text(n))
    module = hewn.compile(model, target=target)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    for data in ("flat", "uniform"):
        rng = np.random.default_rng(0)
        arrays = [values(name, data, shape, rng) for shape in form.shapes(n)]
        feeds = dict(zip((i.name for i in model.graph.input), arrays))
        wanted = form.exact(*(x.astype(np.float64) for x in arrays))
        own, own_time = measure(partial(lambda f: list(module.run(f).values()), feeds), wanted)
        other, other_time = measure(partial(session.run, None, feeds), wanted)
        print(
            f"| {name} | {data} | {n} | {own:.1e} | {other:.1e} | {n**0.5 / 2**24:.1e} "
            f"| {own_time * 1e6:.4g} | {other_time * 1e6:.4g} |",
            flush=True,
        )


def main() -> None:
    """Prints the table for the forms and lengths of the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--lengths", default="1000,10000,100000,1000000,10000000,100000000")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--target", default="host")
    given = arguments.parse_args()
    print("| sum | data | n | error | onnxruntime | sqrt(n) / 2^24 | us | onnxruntime us |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, form in FORMS.items():
        for n in map(int, given.lengths.split(",")):
            if given.only in name and n <= form.longest:
                compare(name, form, n, given.target)


if __name__ == "__main__":
    main()
