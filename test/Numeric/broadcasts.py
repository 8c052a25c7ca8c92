# SPDX-License-Identifier: Apache-2.0
"""Draws small graphs of reductions and elementwise ops that broadcast operands of different ranks,
and computes their results with numpy."""

import numpy as np
import onnx
from onnx import TensorProto, helper

MOST_ELEMENTS, MOST_DIMS = 4096, 5
REDUCTIONS = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceMean": np.mean}
BINARY = {"Add": np.add, "Sub": np.subtract, "Max": np.maximum, "Min": np.minimum, "Mul": np.multiply}
UNARY = {"Neg": np.negative, "Abs": np.abs, "Tanh": np.tanh, "Relu": lambda x: np.maximum(x, np.float32(0))}


class Chain:
    """A graph of random ops. The value of each tensor is computed with numpy when its op is
    added."""

    def __init__(self, seed, prefix):
        self.random, self.prefix = np.random.default_rng(seed), prefix
        self.nodes, self.constants, self.feeds, self.values, self.read = [], {}, {}, {}, set()
        # Dims have one of a small number of extents, so that they are often equal or 1.
        self.extents = [1, *self.random.choice([2, 3, 5, 8, 9, 17, 28], size=self.random.integers(1, 3))]
        self.input([int(d) for d in self.random.choice(self.extents, size=self.random.integers(1, 5))])
        for _ in range(self.random.integers(3, 9)):
            self.random.choice(
                [self.reduce, self.reduce, self.binary, self.binary, self.meet, self.unary, self.product]
            )()

    def name(self, kind):
        return f"{self.prefix}{kind}{len(self.values)}"

    def input(self, shape):
        name = self.name("x")
        self.feeds[name] = self.values[name] = self.random.standard_normal(shape).astype(np.float32)
        return name

    def any(self):
        return str(self.random.choice(list(self.values)))

    def add(self, op, reads, value, constants=(), **attributes):
        if value.size > MOST_ELEMENTS or value.ndim > MOST_DIMS:
            return
        name = self.name("v")
        self.nodes.append(helper.make_node(op, [*reads, *constants], [name], **attributes))
        self.read.update(reads)
        self.values[name] = np.asarray(value, np.float32)

    def reduce(self):
        x = self.any()
        value = self.values[x]
        axes = [a for a in range(value.ndim) if self.random.random() < 0.4] or list(range(value.ndim))[-1:]
        keeps = int(self.random.integers(2))
        op = str(self.random.choice(list(REDUCTIONS)))
        name = self.name("a")
        self.constants[name] = np.array(axes, np.int64)
        self.add(op, [x], REDUCTIONS[op](value, axis=tuple(axes), keepdims=bool(keeps)), [name], keepdims=keeps)

    def combine(self, x, y):
        try:
            np.broadcast_shapes(self.values[x].shape, self.values[y].shape)
        except ValueError:
            return
        op = str(self.random.choice(list(BINARY)))
        self.add(op, [x, y], BINARY[op](self.values[x], self.values[y]))

    def binary(self):
        self.combine(self.any(), self.any())

    def meet(self):
        """Combines a value with a new input that broadcasts with it. The input has another rank,
        some dims of 1, and dims larger than 1 where the value has 1."""
        x = self.any()
        shape = [int(self.random.choice([d, 1, d if d > 1 else self.extents[-1]])) for d in self.values[x].shape]
        cut = int(self.random.integers(len(shape) + 1)) if self.random.random() < 0.5 else 0
        shape = [1] * int(self.random.integers(2)) + shape[cut:]
        y = self.input(shape)
        self.combine(*((x, y) if self.random.random() < 0.5 else (y, x)))

    def unary(self):
        x, op = self.any(), str(self.random.choice(list(UNARY)))
        self.add(op, [x], UNARY[op](self.values[x]))

    def product(self):
        x = self.any()
        value = self.values[x]
        if value.ndim >= 2:
            w = self.input([value.shape[-1], int(self.random.choice(self.extents))])
            self.add("MatMul", [x, w], value @ self.values[w])

    def outputs(self):
        """Returns all results that no op reads, and a fifth of the others."""
        made = [node.output[0] for node in self.nodes]
        return [name for name in made if name not in self.read or self.random.random() < 0.2]


def model_of(seeds):
    """Builds a model with one chain per seed. Returns the model, its inputs and its expected
    results."""
    chains = [Chain(seed, f"s{seed}_") for seed in seeds]
    feeds, nodes, constants, want = {}, [], {}, {}
    for chain in chains:
        nodes += chain.nodes
        constants |= chain.constants
        want |= {name: chain.values[name] for name in chain.outputs()}
        feeds |= chain.feeds
    used = {name for node in nodes for name in node.input}
    feeds, constants = ({name: value for name, value in all.items() if name in used} for all in (feeds, constants))

    def infos(values):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in values.items()]

    graph = helper.make_graph(
        nodes, "chains", infos(feeds), infos(want), [onnx.numpy_helper.from_array(v, n) for n, v in constants.items()]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), feeds, want


def check(got, want):
    for name, value in want.items():
        scale = np.abs(value).max(initial=1)
        np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-5 * scale, err_msg=name)
