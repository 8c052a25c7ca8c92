#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how strongly a model amplifies rounding errors, to judge a difference between engines.

    tools/measure/rounding_sensitivity.py MODEL.onnx INPUTS.npz [--rounds N] [--ulps N]

Runs onnxruntime (without optimizations) with the model and with N copies of it, in which the float32
weights are moved by up to --ulps units in the last place. Tensors of fewer than 64 elements are not
moved, nor scales of quantizations: they may be scales of sizes, or masks.
Prints, for each output, its difference between the model and each copy, and between onnxruntime and
hewn: the largest difference relative to the largest element, or the two shapes if they differ. If
onnxruntime differs from itself as much as from hewn, the differences between the engines are
rounding errors that the model amplifies. Models with DynamicQuantizeLinear do that: an error of one
ulp may move an integer, which changes the result by 1/255 of its range.
"""

from __future__ import annotations

import argparse
import math
import pathlib

import hewn
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper

QUANTIZATION = ("QuantizeLinear", "DequantizeLinear", "QLinear", "MatMulInteger", "ConvInteger", "DynamicQuantizeLSTM")


def weights_of(model: onnx.ModelProto) -> list[tuple[onnx.TensorProto, np.ndarray]]:
    """Returns the float32 initializers that are weights, with their values."""
    scales = {name for node in model.graph.node if node.op_type.startswith(QUANTIZATION) for name in node.input}
    return [
        (tensor, numpy_helper.to_array(tensor))
        for tensor in model.graph.initializer
        if tensor.data_type == TensorProto.FLOAT and tensor.name not in scales and math.prod(tensor.dims) >= 64
    ]


def run_onnxruntime(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Returns the outputs of onnxruntime without optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def difference(value: np.ndarray, reference: np.ndarray) -> str:
    """Returns the largest difference relative to the largest reference element, as text."""
    if value.shape != reference.shape:
        return f"{value.shape} instead of {reference.shape}"
    largest = np.abs(reference.astype(np.float64)).max(initial=0) or 1
    error = np.abs(value.astype(np.float64) - reference.astype(np.float64)).max(initial=0) / largest
    return f"{error:.1e}"


def main() -> None:
    """Prints the differences that perturbed inputs and weights cause."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("inputs", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=6, metavar="N")
    parser.add_argument("--ulps", type=int, default=2, metavar="N")
    said = parser.parse_args()
    model, feeds = onnx.load(said.model), dict(np.load(said.inputs))
    names, reference = [output.name for output in model.graph.output], run_onnxruntime(model, feeds)

    def show(title: str, values: list[np.ndarray]) -> None:
        found = [f"{name} {difference(value, exact)}" for name, value, exact in zip(names, values, reference)]
        print(f"{title}: {', '.join(found)}", flush=True)

    module = hewn.compile(str(said.model))
    results = module.run(feeds)
    show("hewn", [results[name] for name in names])
    weights = weights_of(model)
    for seed in range(said.rounds):
        generator = np.random.default_rng(seed)
        for tensor, values in weights:
            moved = values * (1 + generator.integers(-said.ulps, said.ulps + 1, values.shape) * 2.0**-23)
            tensor.CopyFrom(numpy_helper.from_array(moved.astype(np.float32), tensor.name))
        show(f"onnxruntime, weights moved ({seed})", run_onnxruntime(model, feeds))


if __name__ == "__main__":
    main()
