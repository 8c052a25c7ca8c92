# SPDX-License-Identifier: Apache-2.0
"""Random models of ops after an all-reduce: row-wise ops, ops that mix rows, ops that need all
rows, and ops that read several all-reduces. The result equals that of one rank, whichever ops run
on sharded rows."""

import os

import numpy as np
import pytest
from split import Build, draw, norm, run_split, split, whole
from test_partition import check

pytestmark = pytest.mark.skipif("HEWN_PROCESSOR" in os.environ, reason="ranks are processes of their own, not emulated")

WIDTH = 64


def product(b, x):
    """Adds two matmuls. With tensor parallelism, the second one's result is an all-reduce."""
    wide = b(b.random.choice(["Relu", "Tanh"]), b("MatMul", x, b.weight(WIDTH, 2 * WIDTH)))
    return b("MatMul", wide, b.weight(2 * WIDTH, WIDTH))


def step(b, shape, values):
    """Adds a value of this shape, computed from `values`."""
    x, y = (values[i] for i in b.random.integers(0, len(values), 2))
    kind = b.random.integers(0, 9)
    rows = shape[-2]
    if kind == 0:
        return b("Add", x, y)
    if kind == 1:
        return norm(b, x, WIDTH)
    if kind == 2:  # reduces over the rows, so that each rank needs all of them
        return b("Add", x, b("ReduceMean", y, b.ints(-2)))
    if kind == 3:  # exchanges blocks of rows
        return b("Concat", *b("Split", x, b.ints(rows // 4, rows - rows // 4), axis=-2, outputs=2)[::-1], axis=-2)
    if kind == 4:  # merges dims, computes, and restores the shape
        flat = b("Reshape", x, b.ints(-1, WIDTH))
        return b("Reshape", b("Softmax", flat, axis=-1), b.ints(*shape))
    if kind == 5:  # computes on the transposed value
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        return b("Transpose", b("Sigmoid", b("Transpose", x, perm=order)), perm=order)
    if kind == 6:  # adds an operand with one number per row, all of which each rank has
        return b("Mul", x, b.constant(draw(b, rows, 1)))
    if kind == 7:  # expands the value, and reduces it again
        return b("ReduceMax", b("Mul", b("Unsqueeze", x, b.ints(-1)), b.constant(draw(b, 3))), b.ints(-1), keepdims=0)
    return b("Add", product(b, x), y)


def model(seed):
    b = Build(seed)
    shape = [[512, WIDTH], [1, 512, WIDTH], [4, 128, WIDTH], [3, 160, WIDTH], [2, 256, WIDTH]][seed % 5]
    x = b.input("x", shape, draw(b, *shape))
    values = [x, b("Add", product(b, x), x)]
    for _ in range(int(b.random.integers(2, 9))):
        values.append(step(b, shape, values))
    seen = [values[i] for i in sorted(set(b.random.integers(1, len(values), 2).tolist()))]
    return b.model(b("MatMul", norm(b, product(b, values[-1]), WIDTH), b.weight(WIDTH, 6)), *seen)


@pytest.mark.parametrize("seed", range(20))
def test_ranks_give_what_one_gives(seed, tmp_path):
    drawn, feeds = model(seed)
    partition = ["tensor=2", "tensor=4", "tensor=2", "tensor=2,pipeline=2"][seed % 4]
    want = whole(drawn, feeds)
    assert all(np.isfinite(value).all() for value in want.values())
    check(run_split(split(drawn, partition, tmp_path), feeds, tmp_path), want)
