# SPDX-License-Identifier: Apache-2.0
"""Embedding tables that a matmul also multiplies (tied embeddings). The weights file contains the
table once, in the GEMM's packed panels."""

import ml_dtypes
import numpy as np
import pytest
from numeric import compiled, oracle
from onnx import helper, numpy_helper

ROWS, WIDTH = 203, 37
IDS = np.int64([[0, ROWS - 1, -1], [5, -ROWS, 48]])
TURN = helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0])
PRODUCT = helper.make_node("MatMul", ["x", "t"], ["y"])
# Each model has the nodes that use the embedding table, the indices, and whether the weights file
# contains the table only once.
LOOKUPS = {
    "rows": ([helper.make_node("Gather", ["w", "i"], ["e"]), TURN, PRODUCT], IDS, True),
    "columns": ([helper.make_node("Gather", ["w", "i"], ["e"], axis=1), TURN, PRODUCT], np.int64([3, 0, -1]), True),
    "elements": ([helper.make_node("GatherElements", ["w", "i"], ["e"], axis=0), TURN, PRODUCT], IDS, True),
    "places": ([helper.make_node("GatherND", ["w", "i"], ["e"]), TURN, PRODUCT], np.int64([[3, 4], [-1, 36]]), True),
    "gemm": (
        [helper.make_node("Gather", ["w", "i"], ["e"]), helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)],
        IDS,
        True,
    ),
    # The matmul reads the embeddings of the token ids directly, without an op in between.
    "both": (
        [helper.make_node("Gather", ["w", "i"], ["e"]), TURN, helper.make_node("MatMul", ["e", "t"], ["y"])],
        IDS,
        True,
    ),
    # A row-wise reduction of the table needs an unpacked copy of the table.
    "summed": (
        [
            helper.make_node("ReduceSum", ["w", "axis"], ["s"], keepdims=1),
            helper.make_node("Mul", ["s", "x0"], ["u"]),
            helper.make_node("Gather", ["w", "i"], ["e"]),
            TURN,
            PRODUCT,
        ],
        IDS,
        False,
    ),
}


ULPS = {np.dtype(np.float32): 1e-4, np.dtype(np.float16): 2e-3, np.dtype(ml_dtypes.bfloat16): 2e-2}


def model_of(nodes, feeds, outputs, table):
    def values(arrays):
        return [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a), s) for n, a, s in arrays]

    graph = helper.make_graph(
        nodes,
        "table",
        values((name, array.dtype, array.shape) for name, array in feeds.items()),
        values((name, table.dtype, None) for name in outputs),
        [numpy_helper.from_array(table, "w"), numpy_helper.from_array(np.int64([1]), "axis")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.mark.parametrize("target", ["host", "znver4", "x86-64-v3,x86-64-v2"])
@pytest.mark.parametrize("kind", ULPS, ids=str)
@pytest.mark.parametrize("lookup", LOOKUPS)
def test_a_table_that_is_multiplied(tmp_path, lookup, kind, target):
    """The panels may consist of pairs along K for dot-product instructions (znver4: bfloat16)."""
    nodes, ids, once = LOOKUPS[lookup]
    rng = np.random.default_rng(0)
    table = rng.standard_normal((ROWS, WIDTH)).astype(kind)
    arrays = {"x": rng.standard_normal((4, WIDTH)).astype(kind), "i": ids, "x0": np.array([[2]], kind)}
    used = {name for node in nodes for name in node.input}
    feeds = {name: array for name, array in arrays.items() if name in used}
    outputs = ["e", "y", *(["u"] if lookup == "summed" else [])]
    got = compiled(model_of(nodes, feeds, outputs, table), target, output=tmp_path / "libtable.so").run(feeds)
    wide = {name: array.astype(np.float32) if array.dtype == kind else array for name, array in feeds.items()}
    right = oracle(model_of(nodes, wide, outputs, table.astype(np.float32)), wide)
    for name, want in zip(outputs, right):
        largest = max(1, np.abs(want).max())
        np.testing.assert_allclose(got[name].astype(np.float32), want, rtol=ULPS[kind], atol=ULPS[kind] * largest)
    np.testing.assert_array_equal(got["e"].astype(np.float32), right[0])
    # The library has a target on which converting weights to float32 is slow. Targets share
    # constants, so that the GEMM's weights are float32.
    if once and (kind == np.float32 or target in ("host", "znver4")):
        assert (tmp_path / "table.weights").stat().st_size < 1.5 * table.nbytes
