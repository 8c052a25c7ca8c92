# SPDX-License-Identifier: Apache-2.0
"""Measures the error of hewn with each precision, and of onnxruntime's float32, against float64.

Prints the table of docs/measured/precision-errors.md.

    .venv/bin/python tools/measure/precision.py [--dim NAME=SIZE] MODEL.onnx ...

The reference is the model with each float32 replaced by float64, compiled by hewn, because
onnxruntime has no float64 convolutions. The small error of onnxruntime relative to this reference
confirms the reference. An error is the largest difference over all outputs, relative to the largest
element of the output. Inputs are random; dynamic dims are 1 unless --dim gives a size.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import hewn
import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from benchmark import inputs_of

PRECISIONS = ("highest", "high", "medium")


def widen_tensor(tensor: TensorProto) -> None:
    """Replaces a float32 tensor by a float64 tensor."""
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def widen(graph: onnx.GraphProto) -> None:
    """Replaces float32 by float64 in a graph, including types that attributes name."""
    for tensor in graph.initializer:
        widen_tensor(tensor)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for attribute in (a for node in graph.node for a in node.attribute):
        if attribute.type == AttributeProto.TENSOR:
            widen_tensor(attribute.t)
        elif attribute.type == AttributeProto.GRAPH:
            widen(attribute.g)
        elif attribute.name in ("to", "dtype", "stash_type") and attribute.i == TensorProto.FLOAT:
            attribute.i = TensorProto.DOUBLE


def run_float64(path: str, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Returns the outputs of the model computed in float64."""
    model = onnx.load(path)
    widen(model.graph)
    wide = {name: x.astype(np.float64) if x.dtype == np.float32 else x for name, x in feeds.items()}
    return list(hewn.compile(model, threads=2).run(wide).values())


def error(got: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """Returns the largest error of the outputs, relative to the largest element of each."""
    return max(float(np.abs(x - y).max() / max(np.abs(y).max(), 1e-30)) for x, y in zip(got, wanted) if y.size)


def main() -> None:
    """Prints the table."""
    import onnxruntime

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    said = parser.parse_args()
    dims = {name: int(size) for name, size in (d.split("=") for d in said.dim)}
    print(f"| model | onnxruntime | {' | '.join(PRECISIONS)} |\n|{' --- |' * (len(PRECISIONS) + 2)}")
    for path in said.models:
        feeds = inputs_of(path, dims)
        wanted = run_float64(path, feeds)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        errors = [error(session.run(None, feeds), wanted)]
        for precision in PRECISIONS:
            errors.append(error(list(hewn.compile(path, threads=2, precision=precision).run(feeds).values()), wanted))
        print(f"| {pathlib.Path(path).stem} | {' | '.join(f'{e:.1e}' for e in errors)} |", flush=True)


if __name__ == "__main__":
    main()
