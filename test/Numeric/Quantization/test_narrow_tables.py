# SPDX-License-Identifier: Apache-2.0
"""Embedding tables, whose rows a Gather reads. Quantized tables stay quantized, and `quantize=`
quantizes float tables."""

import pathlib

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import TensorProto, helper, numpy_helper
from quantizing import decibels, layer

ROWS, WIDTH = 600, 48


def table(seed=0, shape=(ROWS, WIDTH)):
    return np.random.default_rng(seed).standard_normal(shape).astype("f")


def model_of(nodes, constants, result, indices=("b", "n")):
    """Builds a model from the indices `i` to the result `y`."""
    graph = helper.make_graph(
        nodes,
        "tables",
        [helper.make_tensor_value_info("i", TensorProto.INT64, indices)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def look_up(w, axis=0):
    return model_of(
        [helper.make_node("Gather", ["w", "i"], ["y"], name="look", axis=axis)], {"w": w}, [None] * (w.ndim + 1)
    )


def weight_bytes(model, tmp_path, **options):
    path = tmp_path / "model.so"
    module = hewn.compile(model, output=path, **options)
    return module, pathlib.Path(f"{path}.weights").stat().st_size


def narrow_forms():
    """Yields tables dequantized as exporters write it: the nodes that compute `w`, their constants,
    and the float values of `w`."""
    rng = np.random.default_rng(1)
    q = rng.integers(-127, 128, (ROWS, WIDTH)).astype("i1")
    by_row = rng.uniform(0.01, 0.1, ROWS).astype("f")
    by_column = rng.uniform(0.01, 0.1, WIDTH).astype("f")
    dequantize, node = "DequantizeLinear", helper.make_node
    yield "rows", [node(dequantize, ["q", "s"], ["w"], axis=0)], {"q": q, "s": by_row}, q * by_row[:, None]
    yield "columns", [node(dequantize, ["q", "s"], ["w"], axis=1)], {"q": q, "s": by_column}, q * by_column
    constants = {"q": q.view("u1"), "s": np.float32(0.02), "z": np.uint8(7)}
    yield (
        "tensor",
        [node(dequantize, ["q", "s", "z"], ["w"])],
        constants,
        (q.view("u1") - np.float32(7)) * np.float32(0.02),
    )
    both = [
        node("Cast", ["q"], ["f"], to=TensorProto.FLOAT),
        node("Sub", ["f", "z"], ["c"]),
        node("Mul", ["c", "s"], ["w"]),
    ]
    yield "cast", both, {"q": q, "z": np.float32(3), "s": by_row[:, None]}, (q - np.float32(3)) * by_row[:, None]
    halves = table().astype(np.float16)
    yield "halves", [node("Cast", ["q"], ["w"], to=TensorProto.FLOAT)], {"q": halves}, halves.astype("f")


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("nodes, constants, floats", [pytest.param(*form[1:], id=form[0]) for form in narrow_forms()])
def test_what_comes_narrow_stays_so(tmp_path, nodes, constants, floats, axis):
    """The result is bitwise equal to that of the float table, and the weights file has the size of
    the quantized table."""
    model = model_of([*nodes, helper.make_node("Gather", ["w", "i"], ["y"], axis=axis)], constants, [None] * 3)
    module, size = weight_bytes(model, tmp_path)
    assert size < 1.2 * sum(value.nbytes for value in constants.values()) + 256
    for shape in ((1, 7), (3, 2), (0, 5)):
        i = np.random.default_rng(2).integers(-WIDTH, WIDTH, shape)
        np.testing.assert_array_equal(module.run({"i": i})["y"], np.take(floats, i, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_one_row_is_read_as_often_as_asked(axis):
    q = np.random.default_rng(1).integers(-127, 128, (1, 20000) if axis == 0 else (20000, 1)).astype("i1")
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s"], ["w"]),
        helper.make_node("Gather", ["w", "i"], ["y"], axis=axis),
    ]
    module = hewn.compile(model_of(nodes, {"q": q, "s": np.float32(0.5)}, [None] * 2, ["n"]))
    for i in ([0, -1, 0], [0], []):
        want = np.take(q * np.float32(0.5), np.array(i, int), axis)
        np.testing.assert_array_equal(module.run({"i": np.array(i, int)})["y"], want)
    with pytest.raises(hewn.RunError, match="index 1 is outside of a dim of 1"):
        module.run({"i": np.array([1])})


def test_what_makes_a_table_is_read_once():
    """The analysis of a table visits each node that computes it once. Here w60 is the end of a
    chain of additions of a value to itself, with 2^60 paths."""
    q = np.random.default_rng(1).integers(-127, 128, (ROWS, WIDTH)).astype("i1")
    nodes = [helper.make_node("Cast", ["q"], ["w0"], to=TensorProto.FLOAT)]
    nodes += [helper.make_node("Add", [f"w{n}", f"w{n}"], [f"w{n + 1}"]) for n in range(60)]
    module = hewn.compile(model_of([*nodes, helper.make_node("Gather", ["w60", "i"], ["y"])], {"q": q}, [None] * 3))
    i = np.arange(8).reshape(2, 4)
    np.testing.assert_array_equal(module.run({"i": i})["y"], q[i] * np.float32(2.0**60))


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("nodes, constants, floats", [pytest.param(*form[1:], id=form[0]) for form in narrow_forms()])
def test_older_processors(nodes, constants, floats, target):
    """Tests targets with AVX2 only, and without an instruction that converts the type to float32.
    All of them reject indices outside of the table."""
    model = model_of([*nodes, helper.make_node("Gather", ["w", "i"], ["y"])], constants, [None] * 3)
    module = compiled(model, target)
    i = np.random.default_rng(2).integers(-ROWS, ROWS, (3, 5))
    np.testing.assert_array_equal(module.run({"i": i})["y"], floats[i])
    for wrong in (ROWS, -ROWS - 1, 2**62, -(2**63)):
        i[1, 2] = wrong
        with pytest.raises(hewn.RunError, match="outside of a dim"):
            module.run({"i": i})


def test_what_is_read_more_than_once_is_floats(tmp_path):
    """If the model reads more elements than the table has, the compiler dequantizes the table."""
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s"], ["w"]),
        helper.make_node("Gather", ["w", "i"], ["y"]),
    ]
    constants = {"q": np.ones((ROWS, WIDTH), "i1"), "s": np.float32(0.5)}
    size = [weight_bytes(model_of(nodes, constants, [None] * 2, [n]), tmp_path)[1] for n in (ROWS, ROWS + 1)]
    assert size[0] < 1.2 * ROWS * WIDTH < 4 * ROWS * WIDTH <= size[1]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "given, share, least",
    [("int8", 0.27, 40), ("int4", 0.27, 40), ("float16", 0.52, 70), ("bfloat16", 0.52, 50), ("float8", 0.27, 28)],
)
def test_a_quantization_keeps_tables_narrow(tmp_path, given, share, least, axis):
    w = table()
    module, size = weight_bytes(
        look_up(w, axis), tmp_path, quantize={"weights": given, "activations": {"type": "float32"}}
    )
    assert size < share * w.nbytes + (4 * max(w.shape) if axis else 0) + 256
    told = layer(module, "look")
    i = np.random.default_rng(3).integers(0, w.shape[axis], (2, 64))
    assert decibels(np.take(w, i, axis), module.run({"i": i})["y"]) > least
    assert (
        told["op"] == "gather" and told["weights_sqnr_db"] > least and told["weight_bytes"] < 0.6 * told["float_bytes"]
    )
    again = hewn.compile(look_up(w, axis), quantize=module.report["quantization"])
    np.testing.assert_array_equal(again.run({"i": i})["y"], module.run({"i": i})["y"])


def test_tables_that_stay_floats():
    """A table stays float if a rule says so, if a codebook is requested (lookups do not support
    it), if it contains infinities, or if a matmul uses it too."""
    narrow = {"weights": "int8", "activations": {"type": "float32"}}
    kept = hewn.compile(look_up(table()), quantize=narrow | {"rules": [{"op": "gather", "keep_float": True}]})
    assert layer(kept, "look")["why"] == "the quantization keeps it in float"
    book = hewn.compile(look_up(table()), quantize="codebook16")
    assert layer(book, "look")["why"] == "tables are quantized to integers or smaller floats, not to a codebook"
    infinite = table()
    infinite[3, 4] = np.inf
    assert (
        layer(hewn.compile(look_up(infinite), quantize=narrow), "look")["why"]
        == "its table has elements that are not finite"
    )
    nodes = [
        helper.make_node("Gather", ["w", "i"], ["g"], name="look"),
        helper.make_node("MatMul", ["g", "w"], ["y"], name="fc"),
    ]
    often = model_of([*nodes[:1], helper.make_node("Identity", ["g"], ["y"])], {"w": table()}, [None] * 2, [ROWS + 1])
    assert layer(hewn.compile(often, quantize=narrow), "look")["why"] == "it gathers more elements than its table has"
    single = hewn.compile(look_up(table(shape=(1, 20000))), quantize=narrow)
    assert layer(single, "look")["why"] == "its table has one row"
    np.testing.assert_array_equal(single.run({"i": np.zeros((2, 1), "i8")})["y"][1, 0], table(shape=(1, 20000))[0])
    square = model_of(nodes, {"w": table(shape=(160, 160))}, [None] * 3)
    assert (
        layer(hewn.compile(square, quantize=narrow), "look")["why"]
        == "its table has other users than gathers, which read it as float32"
    )


def test_a_table_goes_back_for_a_bound():
    """The sensitivity search may fall back to float for tables, as for contractions."""
    w, v = table(), table(4, (WIDTH, 32))
    nodes = [
        helper.make_node("Gather", ["w", "i"], ["g"], name="look"),
        helper.make_node("MatMul", ["g", "v"], ["y"], name="fc"),
    ]
    model = model_of(nodes, {"w": w, "v": v}, [None] * 3)
    data = [{"i": np.random.default_rng(n).integers(0, ROWS, (2, 32))} for n in range(4)]
    report = hewn.compile(model, quantize="int8", calibration=data, min_sqnr=60).report
    assert set(report["returned_to_float"]) == {"look", "fc"}
    free = hewn.compile(model, quantize="int8", calibration=data, min_sqnr=20).report
    assert "returned_to_float" not in free and all(told["weights"] == "int8" for told in free["layers"])


def test_a_table_beside_a_product_of_the_same_name():
    w, v = table(), table(4, (WIDTH, 32))
    nodes = [
        helper.make_node("Gather", ["w", "i"], ["g"], name="both"),
        helper.make_node("MatMul", ["g", "v"], ["y"], name="both"),
    ]
    model = model_of(nodes, {"w": w, "v": v}, [None] * 3)
    report = hewn.compile(model, quantize="int8").report
    assert [(told["node"], told["op"]) for told in report["layers"]] == [("both", "matmul"), ("both:2", "gather")]


@pytest.mark.parametrize("given", ["int8", "int4", "float16", {"weights": "float16"}, {"keep_float": True}])
def test_text_needs_no_data_where_they_chose_nothing(given):
    """The quantization of tables does not depend on calibration. The quantization file has no
    candidates for them, and compiling with it needs no data."""
    data = [{"i": np.random.default_rng(n).integers(0, ROWS, (2, 32))} for n in range(2)]
    module = hewn.compile(look_up(table()), quantize=given, calibration=data)
    again = hewn.compile(look_up(table()), quantize=module.report["quantization"])
    assert again.report["quantization"] == module.report["quantization"]
    np.testing.assert_array_equal(again.run(data[0])["y"], module.run(data[0])["y"])
