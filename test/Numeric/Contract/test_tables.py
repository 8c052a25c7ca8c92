# SPDX-License-Identifier: Apache-2.0
"""Tables whose rows are looked up and which a product multiplies as well, as language models have them: there once, in the product's panels."""

import numpy as np
import pytest
from numeric import TensorProto, compiled, oracle
from onnx import helper, numpy_helper

ROWS, WIDTH = 203, 37
IDS = np.int64([[0, ROWS - 1, -1], [5, -ROWS, 48]])
TURN = helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0])
PRODUCT = helper.make_node("MatMul", ["x", "t"], ["y"])
# Nodes, what they look up, and whether the table is there once.
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
    # Words in and words out, with nothing between.
    "both": (
        [helper.make_node("Gather", ["w", "i"], ["e"]), TURN, helper.make_node("MatMul", ["e", "t"], ["y"])],
        IDS,
        True,
    ),
    # Who reads the table row by row keeps it.
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


@pytest.mark.parametrize("target", ["host", "x86-64-v3,x86-64-v2"])
@pytest.mark.parametrize("lookup", LOOKUPS)
def test_a_table_that_is_multiplied(tmp_path, lookup, target):
    nodes, ids, once = LOOKUPS[lookup]
    rng = np.random.default_rng(0)
    table = rng.standard_normal((ROWS, WIDTH), dtype=np.float32)
    arrays = {"x": rng.standard_normal((4, WIDTH), dtype=np.float32), "i": ids, "x0": np.float32([[2]])}
    used = {name for node in nodes for name in node.input}
    feeds = {name: array for name, array in arrays.items() if name in used}
    outputs = ["e", "y", *(["u"] if lookup == "summed" else [])]
    graph = helper.make_graph(
        nodes,
        "table",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(table, "w"), numpy_helper.from_array(np.int64([1]), "axis")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    got = compiled(model, target, output=tmp_path / "libtable.so").run(feeds)
    for name, want in zip(outputs, oracle(model, feeds)):
        np.testing.assert_allclose(got[name], want, rtol=1e-4, atol=1e-4)
    if once:
        assert (tmp_path / "table.weights").stat().st_size < 1.5 * table.nbytes
