#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the decoder of a language model as an ONNX file of about 100 kB without weights.

The constants of the model refer to an external file that does not exist.

The decoder has the ops of Llama as exporters write them (RMS norm, rotary embeddings, grouped-query
attention, gated MLP, and a key-value cache with `--past`); sizes are freely chosen. The file
suffices for `hewn explain --partition auto --cluster FILE`, which needs no weights.

    tools/measure/decoder_shapes.py 7b /tmp/7b.onnx --words 512
    tools/measure/decoder_shapes.py 70b /tmp/70b.onnx --past 2048
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = {  # layers, width, heads, key-value heads, hidden size of the MLP, vocabulary size
    "tiny": (2, 256, 8, 4, 704, 1024),
    "135m": (30, 576, 9, 3, 1536, 49152),
    "7b": (32, 4096, 32, 32, 11008, 32000),
    "8b": (32, 4096, 32, 8, 14336, 128256),
    "70b": (80, 8192, 64, 8, 28672, 32000),
}


class Decoder:
    """Builds the graph of a decoder node by node."""

    def __init__(
        self, sizes: Sequence[int], kind: int, words: int, past: int, weights: np.random.Generator | None = None
    ) -> None:
        self.layers, self.width, self.heads, self.shared, self.hidden, self.vocabulary = sizes
        self.kind, self.words, self.past = kind, words, past
        self.random = weights  # numpy generator that draws the constants; None: they refer to a missing file
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def weight(self, *shape: int) -> str:
        """Adds a weight of this shape and returns its name."""
        name = f"w{len(self.constants)}"
        if self.random is not None:
            drawn = self.random.standard_normal(shape) / np.sqrt(shape[0])
            self.constants.append(
                numpy_helper.from_array(drawn.astype(helper.tensor_dtype_to_np_dtype(self.kind)), name)
            )
            return name
        tensor = TensorProto(name=name, data_type=self.kind, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="not-there.bin")
        self.constants.append(tensor)
        return name

    def constant(self, array: npt.ArrayLike) -> str:
        """Adds a constant and returns its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *values: int) -> str:
        """Adds a one-dimensional int64 constant and returns its name."""
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        """Adds a scalar of the decoder's type and returns its name."""
        return self.constant(np.array(value, helper.tensor_dtype_to_np_dtype(self.kind)))

    def __call__(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Adds a node and returns the name of its result, or a list of names if it has several."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"n{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def norm(self, x: str) -> str:
        """Adds an RMS normalization."""
        mean = self("ReduceMean", self("Mul", x, x), self.ints(-1))
        return self("Mul", self("Div", x, self("Sqrt", self("Add", mean, self.number(1e-5)))), self.weight(self.width))

    def rotated(self, x: str, cos: str, sin: str) -> str:
        """Adds a rotary position embedding."""
        left, right = self("Split", x, outputs=2, axis=-1, num_outputs=2)
        turned = self("Concat", self("Neg", right), left, axis=-1)
        return self("Add", self("Mul", x, cos), self("Mul", turned, sin))

    def attention(self, x: str, layer: int, cos: str, sin: str, mask: str) -> str:
        """Adds an attention layer with its projections and, with past tokens, its cache."""
        size = self.width // self.heads

        def by_heads(count: int) -> str:
            made = self("MatMul", x, self.weight(self.width, count * size))
            return self("Transpose", self("Reshape", made, self.ints(0, 0, count, size)), perm=[0, 2, 1, 3])

        q, k, v = by_heads(self.heads), by_heads(self.shared), by_heads(self.shared)
        q, k = self.rotated(q, cos, sin), self.rotated(k, cos, sin)
        for which in "kv" if self.past else "":
            old = f"past_{which}_{layer}"
            shape: list[str | int | None] = ["batch", self.shared, self.past, size]
            self.inputs.append(helper.make_tensor_value_info(old, self.kind, shape))
            new = self("Concat", old, k if which == "k" else v, axis=2)
            k, v = (new, v) if which == "k" else (k, new)
            self.outputs.append(helper.make_tensor_value_info(new, self.kind, None))
        if self.heads != self.shared:
            many = self.ints(1, 1, self.heads // self.shared, 1, 1)
            k, v = (
                self(
                    "Reshape",
                    self("Expand", self("Unsqueeze", t, self.ints(2)), many),
                    self.ints(0, self.heads, -1, size),
                )
                for t in (k, v)
            )
        scores = self("Mul", self("MatMul", q, self("Transpose", k, perm=[0, 1, 3, 2])), self.number(1 / np.sqrt(size)))
        scores = self("Softmax", self("Add", scores, mask), axis=-1)
        seen = self("Transpose", self("MatMul", scores, v), perm=[0, 2, 1, 3])
        return self("MatMul", self("Reshape", seen, self.ints(0, 0, self.width)), self.weight(self.width, self.width))

    def model(self) -> onnx.ModelProto:
        """Adds all layers and returns the model."""
        size, all_words = self.width // self.heads, self.past + self.words
        self.inputs += [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", self.words]),
            helper.make_tensor_value_info("positions", TensorProto.INT64, [self.words]),
            helper.make_tensor_value_info("mask", self.kind, [self.words, all_words]),
        ]
        x = self("Gather", self.weight(self.vocabulary, self.width), "ids")
        cos, sin = (self("Gather", self.weight(max(all_words, 64), size), "positions") for _ in range(2))
        for layer in range(self.layers):
            x = self("Add", x, self.attention(self.norm(x), layer, cos, sin, "mask"))
            n = self.norm(x)
            gate, up = (self("MatMul", n, self.weight(self.width, self.hidden)) for _ in range(2))
            gated = self("Mul", self("Mul", gate, self("Sigmoid", gate)), up)
            x = self("Add", x, self("MatMul", gated, self.weight(self.hidden, self.width)))
        logits = self("MatMul", self.norm(x), self.weight(self.width, self.vocabulary))
        self.outputs.insert(0, helper.make_tensor_value_info(logits, self.kind, None))
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def decoder(
    size: str, kind: str = "float32", words: int = 128, past: int = 0, weights: np.random.Generator | None = None
) -> onnx.ModelProto:
    """Returns the decoder as a model.

    If `weights`, a numpy random generator, is given, it draws the constants; otherwise they refer
    to a file that does not exist.
    """
    types = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}
    return Decoder(SIZES[size], types[kind], words, past, weights).model()


def main() -> None:
    """Writes the decoder that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("to")
    parser.add_argument("--words", type=int, help="tokens per run (default: 128; with --past: 1)")
    parser.add_argument("--past", type=int, default=0, help="tokens in the cache")
    parser.add_argument("--type", default="float32", choices=["float32", "float16", "bfloat16"])
    parser.add_argument(
        "--weights", action="store_true", help="draw random weights and store them in the file (less than 2 GB)"
    )
    given = parser.parse_args()
    words = given.words or (1 if given.past else 128)
    random = np.random.default_rng(0) if given.weights else None
    onnx.save(decoder(given.size, given.type, words, given.past, random), given.to)


if __name__ == "__main__":
    main()
