# SPDX-License-Identifier: Apache-2.0
"""Models whose inputs declare one name for several dims (--dim-names)."""

import hewn
import numpy as np
import pytest
from numeric import check, oracle
from onnx import TensorProto, helper

random = np.random.default_rng(9)
NAME = "unk__1"


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def model(nodes, inputs, constants=(), outputs=("y",)):
    types = {name: shape if isinstance(shape, tuple) else (TensorProto.FLOAT, shape) for name, shape in inputs.items()}
    graph = helper.make_graph(
        [helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes],
        "names",
        [helper.make_tensor_value_info(name, *kind) for name, kind in types.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [helper.make_tensor(name, TensorProto.INT64, [len(v)], v) for name, v in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def compare(proto, module, *arrays):
    feeds = {i.name: a for i, a in zip(proto.graph.input, arrays)}
    check(module.run(feeds).values(), oracle(proto, feeds))


def test_dims_that_no_op_relates():
    proto = model([("MatMul", ["a", "b"], ["y"])], {"a": [NAME, NAME], "b": [NAME, 3]})
    with pytest.warns(UserWarning, match=r"'unk__1' for dims .*: a\[0\]; a\[1\], b\[0\];"):
        module = hewn.compile(proto)
    assert [i.shape for i in module.inputs] == [(NAME, "unk__1_2"), ("unk__1_2", 3)]
    for rows, depth in ((2, 5), (5, 2), (4, 4), (1, 3)):
        compare(proto, module, floats(rows, depth), floats(depth, 3))
    with pytest.raises(hewn.RunError):
        module.run({"a": floats(2, 5), "b": floats(2, 3)})


def test_strict_names():
    proto = model([("MatMul", ["a", "b"], ["y"])], {"a": [NAME, NAME], "b": [NAME, 3]})
    module = hewn.compile(proto, dim_names="strict")
    compare(proto, module, floats(4, 4), floats(4, 3))
    with pytest.raises(hewn.RunError, match=NAME):
        module.run({"a": floats(2, 5), "b": floats(5, 3)})
    # a name that is bound refers to all of its dims
    bound = hewn.compile(proto, dims={NAME: 4})
    assert [i.shape for i in bound.inputs] == [(4, 4), (4, 3)]
    with pytest.raises(hewn.CompileError, match="there are: strict, lenient"):
        hewn.compile(proto, dim_names="loose")


@pytest.mark.parametrize(
    "nodes, inputs",
    [
        ([("Add", ["a", "b"], ["y"])], {"a": [NAME, 3], "b": [NAME, 3]}),
        ([("Concat", ["a", "b"], ["y"], {"axis": 1})], {"a": [NAME, 3], "b": [NAME, 2]}),
        ([("Transpose", ["b"], ["t"]), ("Mul", ["a", "t"], ["y"])], {"a": [3, NAME], "b": [NAME, 3]}),
        (  # the reshape gives b the first dim of a
            [
                ("Shape", ["a"], ["s"], {"start": 0, "end": 1}),
                ("Concat", ["s", "three"], ["to"], {"axis": 0}),
                ("Reshape", ["b", "to"], ["y"]),
            ],
            {"a": [NAME], "b": [NAME, 3]},
        ),
        (
            [("LSTM", ["a", "w", "r", "", "", "b"], ["y"], {"hidden_size": 2})],
            {"a": [5, NAME, 3], "b": [1, NAME, 2], "w": [1, 8, 3], "r": [1, 8, 2]},
        ),
    ],
)
def test_dims_that_an_op_relates(nodes, inputs, recwarn):
    """The dims keep one symbol, without a warning."""
    proto = model(nodes, inputs, [("three", [3])])
    module = hewn.compile(proto)
    assert not recwarn.list
    assert {d for i in module.inputs for d in i.shape if isinstance(d, str)} == {NAME}
    shapes = [[4 if d == NAME else d for d in i.shape] for i in module.inputs]
    compare(proto, module, *(floats(*shape) for shape in shapes))
    wrong = [[5 if d == 4 and i == 0 else d for d in shape] for i, shape in enumerate(shapes)]
    with pytest.raises(hewn.RunError, match=NAME):
        module.run({i.name: floats(*shape) for i, shape in zip(module.inputs, wrong)})


def test_an_unused_input_and_two_towers():
    proto = model(
        [("Neg", ["a"], ["y"]), ("Exp", ["b"], ["z"])],
        {"a": [NAME, 3], "b": [NAME, 2], "unused": [NAME]},
        outputs=("y", "z"),
    )
    with pytest.warns(UserWarning, match=r"a\[0\]; b\[0\]; unused\[0\]"):
        module = hewn.compile(proto)
    compare(proto, module, floats(2, 3), floats(4, 2), floats(7))


def test_a_condition_that_compares_dims(recwarn):
    """An If that compares two dims of a name relates them, if its branches have different ranks and
    thus need a case: the program then has one case."""
    proto = model(
        [
            ("Shape", ["a"], ["p"], {"start": 0, "end": 1}),
            ("Shape", ["b"], ["q"], {"start": 0, "end": 1}),
            ("Equal", ["p", "q"], ["same"]),
            (
                "If",
                ["same"],
                ["y"],
                {
                    branch: helper.make_graph(
                        [helper.make_node(op, ["a"], [f"{op}_y"], **options)],
                        branch,
                        [],
                        [helper.make_tensor_value_info(f"{op}_y", TensorProto.FLOAT, None)],
                    )
                    for branch, op, options in (
                        ("then_branch", "Neg", {}),
                        ("else_branch", "ReduceMax", {"keepdims": 0}),
                    )
                },
            ),
        ],
        {"a": [NAME, 3], "b": [NAME, 2]},
    )
    module = hewn.compile(proto)
    assert not recwarn.list and not module.cases
    compare(proto, module, floats(4, 3), floats(4, 2))


def test_squeeze_of_dims_that_no_op_relates():
    """The cases of a Squeeze are those of each symbol."""
    proto = model(
        [("Squeeze", ["a"], ["y"]), ("Neg", ["b"], ["z"])], {"a": [NAME, 3], "b": [NAME, 2]}, outputs=("y", "z")
    )
    with pytest.warns(UserWarning, match=NAME):
        module = hewn.compile(proto)
    for n, m in ((1, 4), (4, 1), (1, 1), (3, 2)):
        compare(proto, module, floats(n, 3), floats(m, 2))
