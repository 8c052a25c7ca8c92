# SPDX-License-Identifier: Apache-2.0
"""float16 and bfloat16: a kernel that computes in float32 rounds to the type before ops that depend
on the last bits (docs/decisions/numbers/half-precision.md)."""

import hewn
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    "float16": (np.float16, TensorProto.FLOAT16, 11),
    "bfloat16": (ml_dtypes.bfloat16, TensorProto.BFLOAT16, 8),
}
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64

# Nodes that compute y from v, which is a * b rounded to the 16-bit type. Each entry also has the
# expected y as a function of the rounded v, of w and of 1.
JUMPS = {
    "cast to integers": ([("Cast", ["v"], "y", {"to": INT64})], lambda v, w, one: v.astype(np.int64)),
    "floor": ([("Floor", ["v"], "y", {})], lambda v, w, one: np.floor(v)),
    "ceil": ([("Ceil", ["v"], "y", {})], lambda v, w, one: np.ceil(v)),
    "round": ([("Round", ["v"], "y", {})], lambda v, w, one: np.rint(v)),
    "floor of floats": (
        [("Cast", ["v"], "f", {"to": FLOAT}), ("Floor", ["f"], "y", {})],
        lambda v, w, one: np.floor(v.astype(np.float32)),
    ),
    "equal": ([("Equal", ["v", "w"], "y", {})], lambda v, w, one: v == w),
    "less": ([("Less", ["v", "w"], "y", {})], lambda v, w, one: v < w),
    "greater or equal": ([("GreaterOrEqual", ["w", "v"], "y", {})], lambda v, w, one: w >= v),
    "behind what keeps it": (
        [("Max", ["v", "one"], "m", {}), ("Neg", ["m"], "n", {}), ("Floor", ["n"], "y", {})],
        lambda v, w, one: np.floor(-np.maximum(v, one)),
    ),
    "mod": ([("Mod", ["v", "one"], "y", {"fmod": 1})], lambda v, w, one: np.fmod(v, one)),
    "quantize": (
        [("QuantizeLinear", ["v", "one", "zero"], "y", {})],
        lambda v, w, one: np.clip(np.rint(v.astype(np.float32)), -128, 127).astype(np.int8),
    ),
}


def factors(kind, shape):
    """Returns two operands whose exact product needs more bits than the type has, the exact
    product, and the product rounded once."""
    dtype, _, digits = TYPES[kind]
    generator = np.random.default_rng(7)
    a = (generator.integers(1, 2 ** (digits // 2 + 1), shape) / 2).astype(dtype)
    b = generator.integers(2 ** (digits - 2), 2**digits, shape).astype(dtype) / dtype(2 ** (digits // 2))
    exact = a.astype(np.float32) * b.astype(np.float32)
    assert (exact != exact.astype(dtype).astype(np.float32)).any()
    return a, b, exact, exact.astype(dtype)


def run(kind, nodes, values):
    """Runs nodes that read `values` in the 16-bit type. Returns y as float32."""
    element = TYPES[kind][1]
    casts = [helper.make_node("Cast", [f"{x}32"], [x], to=element) for x in values]
    graph = helper.make_graph(
        [
            *casts,
            *(helper.make_node(op, i, [o], **a) for op, i, o, a in nodes),
            helper.make_node("Cast", ["y"], ["z"], to=FLOAT),
        ],
        "jumps",
        [helper.make_tensor_value_info(f"{x}32", FLOAT, value.shape) for x, value in values.items()],
        [helper.make_tensor_value_info("z", FLOAT, None)],
        [numpy_helper.from_array(np.int8(0), "zero")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    return hewn.compile(model).run({f"{x}32": value.astype(np.float32) for x, value in values.items()})["z"]


@pytest.mark.parametrize("name", JUMPS)
@pytest.mark.parametrize("kind", TYPES)
def test_jumps(kind, name):
    """float32 holds a * b of two 16-bit floats exactly, so that v is rounded once."""
    nodes, want = JUMPS[name]
    a, b, _, v = factors(kind, (40, 200))
    generator = np.random.default_rng(8)
    w = np.where(generator.random(v.shape) < 0.5, v, generator.permutation(v.flatten()).reshape(v.shape)).astype(
        v.dtype
    )
    one = np.ones((), v.dtype)
    got = run(kind, [("Mul", ["a", "b"], "v", {}), *nodes], {"a": a, "b": b, "w": w, "one": one})
    np.testing.assert_array_equal(got, np.asarray(want(v, w, one)).astype(np.float32))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", TYPES)
def test_first_of_equals(kind, axis):
    """Two products a * b are equal after rounding to the 16-bit type, but the exact value of the
    second one is larger. ArgMax of the rounded products must select the first one."""
    a, b, exact, v = (x[np.argsort(factors(kind, 8000)[2], kind="stable")] for x in factors(kind, 8000))
    low = np.flatnonzero((v[1:] == v[:-1]) & (exact[1:] > exact[:-1]))[:100]
    pairs = {"a": np.stack([a[low], a[low + 1]], axis), "b": np.stack([b[low], b[low + 1]], axis)}
    nodes = [("Mul", ["a", "b"], "v", {}), ("ArgMax", ["v"], "y", {"axis": axis, "keepdims": 0})]
    np.testing.assert_array_equal(run(kind, nodes, pairs), np.zeros(len(low)))
