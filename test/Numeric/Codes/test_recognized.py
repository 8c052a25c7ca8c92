# SPDX-License-Identifier: Apache-2.0
"""Low-bit weights that exporters write as Cast, Sub and Mul nodes. The compiler raises these nodes
to DequantizeLinear if and only if no bit of the float weights changes."""

import hewn
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from sessions import oracle

DEPTH, COLUMNS = 256, 192


def model(nodes, constants):
    graph = helper.make_graph(
        [*nodes, helper.make_node("MatMul", ["x", "w"], ["y"])],
        "weights",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, DEPTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def integers(kind, *shape):
    limits = ml_dtypes.iinfo(kind)
    return (
        np.random.default_rng(1).integers(int(limits.min), int(limits.max) + 1, shape or (DEPTH, COLUMNS)).astype(kind)
    )


def scales(*shape):
    return np.random.default_rng(2).uniform(0.01, 0.1, shape).astype("f")


def node(op, *inputs, **attributes):
    return helper.make_node(op, list(inputs[:-1]), [inputs[-1]], **attributes)


def cast(of, to):
    return node("Cast", of, to, to=TensorProto.FLOAT)


FORMS = {
    "a scale a column": ([cast("q", "f"), node("Mul", "f", "s", "w")], {"q": integers("i1"), "s": scales(COLUMNS)}),
    "the scale first": ([cast("q", "f"), node("Mul", "s", "f", "w")], {"q": integers("u1"), "s": scales(1, 1)}),
    "a zero point": (
        [cast("q", "f"), node("Sub", "f", "z", "c"), node("Mul", "c", "s", "w")],
        {"q": integers("u1"), "z": np.float32(range(30, 30 + COLUMNS)), "s": scales(COLUMNS)},
    ),
    "a zero point of integers": (
        [cast("q", "f"), cast("z", "g"), node("Sub", "f", "g", "c"), node("Mul", "c", "s", "w")],
        {"q": integers("u1"), "z": integers("u1", COLUMNS), "s": scales(COLUMNS)},
    ),
    "divided": (
        [cast("q", "f"), node("Div", "f", "s", "w")],
        {"q": integers("i1"), "s": 2.0 ** np.random.default_rng(3).integers(2, 6, COLUMNS).astype("f")},
    ),
    "transposed": (
        [cast("q", "f"), node("Mul", "f", "s", "m"), node("Transpose", "m", "w", perm=[1, 0])],
        {"q": integers("i1", COLUMNS, DEPTH), "s": scales(COLUMNS, 1)},
    ),
    "blocks": (
        [cast("q", "f"), node("Mul", "f", "s", "m"), node("Reshape", "m", "shape", "w")],
        {"q": integers("i1", 4, 64, COLUMNS), "s": scales(4, 1, COLUMNS), "shape": np.int64([DEPTH, COLUMNS])},
    ),
    "four bits": (
        [cast("q", "f"), node("Sub", "f", "z", "c"), node("Mul", "c", "s", "w")],
        {"q": integers(np.dtype(ml_dtypes.uint4)), "z": np.float32(8), "s": scales(COLUMNS)},
    ),
    "a scale of zero": (
        [cast("q", "f"), node("Mul", "f", "s", "w")],
        {"q": integers("i1"), "s": np.where(np.arange(COLUMNS) % 3, scales(COLUMNS), np.float32(0))},
    ),
}
OTHERS = {
    "an offset": (
        [cast("q", "f"), node("Mul", "f", "s", "m"), node("Add", "m", "o", "w")],
        {"q": integers("i1"), "s": scales(COLUMNS), "o": scales(COLUMNS)},
    ),
    "a curve": (
        [cast("q", "f"), node("Mul", "f", "s", "m"), node("Tanh", "m", "w")],
        {"q": integers("i1"), "s": scales(COLUMNS)},
    ),
    "two tensors": (
        [cast("q", "f"), cast("p", "g"), node("Add", "f", "g", "m"), node("Mul", "m", "s", "w")],
        {"q": integers("i1"), "p": integers("u1"), "s": scales(COLUMNS)},
    ),
    "rounding on the way": (
        [cast("q", "f"), node("Mul", "f", "s", "m"), node("Mul", "m", "t", "w")],
        {"q": integers("i1"), "s": scales(COLUMNS), "t": np.float32(1.1)},
    ),
    "a zero point between integers": (
        [cast("q", "f"), node("Sub", "f", "z", "c"), node("Mul", "c", "s", "w")],
        {"q": integers("u1"), "z": np.float32(127.5), "s": scales(COLUMNS)},
    ),
}


def weights_bytes(path):
    return path.with_suffix(".so.weights").stat().st_size


@pytest.mark.parametrize("form", FORMS)
def test_stays_small(form, tmp_path):
    made = model(*FORMS[form])
    module = hewn.compile(made, output=tmp_path / "m.so")
    x = np.random.default_rng(5).standard_normal((1, DEPTH)).astype("f")
    want = oracle(made, {"x": x})[0]
    np.testing.assert_allclose(module.run({"x": x})["y"], want, rtol=1e-5, atol=5e-6 * np.abs(want).max())
    assert weights_bytes(tmp_path / "m.so") < 2 * DEPTH * COLUMNS


@pytest.mark.parametrize("form", OTHERS)
def test_stays_float(form, tmp_path):
    made = model(*OTHERS[form])
    remarks = tmp_path / "remarks.json"
    module = hewn.compile(made, output=tmp_path / "m.so", remarks=remarks)
    x = np.random.default_rng(5).standard_normal((1, DEPTH)).astype("f")
    want = oracle(made, {"x": x})[0]
    np.testing.assert_allclose(module.run({"x": x})["y"], want, rtol=1e-5, atol=5e-6 * np.abs(want).max())
    assert weights_bytes(tmp_path / "m.so") >= 4 * DEPTH * COLUMNS
    said = "its ops do not compute (q - zero_point) * scale"
    assert (said in remarks.read_text()) == (form != "two tensors")


def test_a_scale_an_element_is_no_code(tmp_path):
    """Weights with one scale per element are not treated as low-bit weights."""
    nodes = [cast("q", "f"), node("Mul", "f", "s", "w")]
    hewn.compile(model(nodes, {"q": integers("i1"), "s": scales(DEPTH, COLUMNS)}), output=tmp_path / "m.so")
    assert weights_bytes(tmp_path / "m.so") >= 4 * DEPTH * COLUMNS


def test_many_scales_are_not_looked_at(tmp_path):
    """To raise weights to DequantizeLinear, the compiler checks each scale with every integer of
    the type. Beyond a limit on the number of scales, the weights stay float."""
    nodes = [cast("q", "f"), node("Mul", "f", "s", "m"), node("Reshape", "m", "shape", "w")]
    constants = {"q": integers("i1", DEPTH // 2, 2, 2304), "s": scales(DEPTH // 2, 1, 2304)}
    constants["shape"] = np.int64([DEPTH, 2304])
    remarks = tmp_path / "remarks.json"
    hewn.compile(model(nodes, constants), output=tmp_path / "m.so", remarks=remarks)
    assert "it has too many scales to evaluate every integer with each of them" in remarks.read_text()
