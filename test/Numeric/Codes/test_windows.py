# SPDX-License-Identifier: Apache-2.0
"""Convolutions with 8-bit weights from DequantizeLinear. The kernel reads the 8-bit weights, and
multiplies by the scale after accumulation."""

import itertools

import hewn
import numpy as np
import pytest
from numeric import compiled, oracle
from onnx import TensorProto, helper, numpy_helper

TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
# Each case of a convolution has channels, features, window size, stride, groups and image size. The
# cases are 1x1 windows, 3x3 windows with and without Winograd, larger windows, and an image that is
# mostly padding.
WINDOWS = {
    "plain": (192, 136, 1, 1, 1, 13),
    "stepped": (160, 144, 1, 2, 1, 12),
    "filtered": (128, 128, 3, 1, 1, 18),
    "filtered-by-steps": (96, 72, 3, 2, 1, 15),
    "large": (48, 128, 5, 1, 1, 11),
    "small-picture": (128, 160, 3, 1, 1, 3),
    "grouped": (128, 256, 3, 1, 2, 9),
}
# For each form of quantized weights: element type, zero point, and bytes per weight in the weights
# file.
KINDS = {
    "int8": (np.int8, None, 1),
    "int8-zeros": (np.int8, 0, 1),
    "uint8-middle": (np.uint8, 128, 1),
    "uint8": (np.uint8, None, 2),
    "uint8-by-zero": (np.uint8, "random", 2),
    "int8-by-zero": (np.int8, "random", 2),
}


class Window:
    def __init__(self, window, kind="int8", per_feature=True, exact=False, relu=True):
        channels, features, size, step, groups, self.size = WINDOWS[window]
        element, zero, self.bytes = KINDS[kind]
        random = np.random.default_rng(len(window) + len(kind))
        low, high = np.iinfo(element).min, np.iinfo(element).max
        self.shape = (features, channels // groups, size, size)
        self.integers = random.integers(low, high, self.shape, endpoint=True).astype(element)
        count = features if per_feature else 1
        self.scales = (2.0 ** random.integers(-9, -4, count) if exact else random.uniform(0.001, 0.01, count)).astype(
            "f"
        )
        zeros = random.integers(low, high, count, endpoint=True) if zero == "random" else np.full(count, zero or 0)
        self.zeros = zeros.astype(element)
        each = lambda a: a.astype("d").reshape(-1, 1, 1, 1)  # noqa: E731
        self.floats = ((self.integers.astype("d") - each(self.zeros)) * each(self.scales)).astype("f")
        parameters = {"s": self.scales if per_feature else self.scales[0]}
        if zero is not None:
            parameters["z"] = self.zeros if per_feature else self.zeros[0]
        self.channels = channels
        self.x = random.integers(-8, 9, (1, channels, self.size, self.size)).astype("f")
        if not exact:
            self.x += random.standard_normal(self.x.shape).astype("f")
        attributes = {"axis": 0} if per_feature else {}
        scaled = helper.make_node("DequantizeLinear", ["q", *parameters], ["w"], **attributes)
        self.nodes = [
            helper.make_node(
                "Conv", ["x", "w", "b"], ["c"], name="window", strides=[step] * 2, group=groups, pads=[size // 2] * 4
            )
        ]
        self.nodes.append(helper.make_node("Relu" if relu else "Identity", ["c"], ["y"]))
        self.bias = np.round(random.standard_normal(features) * 8).astype("f")
        self.narrow = self.model([scaled, *self.nodes], {"q": self.integers, **parameters})
        self.wide = self.model(self.nodes, {"w": self.floats})

    def model(self, nodes, constants):
        constants = {"b": self.bias, **constants}
        graph = helper.make_graph(
            nodes,
            "windows",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, self.channels, self.size, self.size])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def file_of(model, path, **options):
    module = compiled(model, output=path, **options)
    return module, path.with_name(path.name + ".weights").stat().st_size


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", WINDOWS)
def test_as_floats(window, kind, target):
    """Compares with onnxruntime on the same weights as floats. Half of the cases have one scale per
    feature, the others a scalar scale."""
    made = Window(window, kind, per_feature=(len(window) + len(kind)) % 2 == 0)
    (want,) = oracle(made.wide, {"x": made.x})
    got = compiled(made.narrow, target).run({"x": made.x})["y"]
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-6 * np.abs(want).max())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["int8", "uint8-middle", "uint8"])
@pytest.mark.parametrize("window", WINDOWS)
def test_no_digit_is_lost(window, kind, target):
    """With small integers, the results are exact. Winograd is exact too: the transformed weights
    are quarters of integers with at most 11 bits."""
    made = Window(window, kind, exact=True)
    want = compiled(made.wide, target, optimize=False).run({"x": made.x})["y"]
    np.testing.assert_array_equal(compiled(made.narrow, target).run({"x": made.x})["y"], want)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [w for w in WINDOWS if w != "grouped"])
def test_file(window, kind, target, tmp_path):
    """The weights file has one byte per weight, or two if a zero point makes the values exceed 8
    bits. For Winograd, it has 16 float16 values per 9 weights. Targets with shorter vectors store
    float32."""
    made = Window(window, kind)
    module, size = file_of(made.narrow, tmp_path / "m.so", target=target)
    module.close()
    # Packing fills the last panel of the weights with zero columns, so that the weights file is
    # larger than the weights.
    columns = -(-made.shape[0] // 64) * 64 / made.shape[0]
    assert size < (32 / 9 if window == "filtered" else made.bytes) * made.integers.size * columns + 8192


@pytest.mark.parametrize("precision", ["high", "medium"])
@pytest.mark.parametrize("window", ["plain", "filtered"])
def test_precisions(window, precision):
    made = Window(window)
    (want,) = oracle(made.wide, {"x": made.x})
    for target in ("host", "x86-64-v3"):
        got = compiled(made.narrow, target, precision=precision).run({"x": made.x})["y"]
        np.testing.assert_allclose(got, want, rtol=0, atol=(1e-4 if precision == "high" else 1e-2) * np.abs(want).max())


def test_several_machines(tmp_path):
    """A library for several targets stores the weights once, in the form that the oldest target
    needs."""
    made = Window("plain")
    (want,) = oracle(made.wide, {"x": made.x})
    module, size = file_of(made.narrow, tmp_path / "m.so", target="portable")
    np.testing.assert_allclose(module.run({"x": made.x})["y"], want, rtol=0, atol=3e-6 * np.abs(want).max())
    assert size < 4.5 * made.integers.size


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_matrices_of_many_rows(target, tmp_path):
    """GEMMs with many rows on targets without int8 dot products: the kernel converts 8-bit weights
    to float32. Weights with one scale per block along K are converted at compile time, because the
    kernel could not apply the scales after the accumulation."""
    random = np.random.default_rng(5)
    q = random.integers(-128, 128, (256, 192)).astype(np.int8)
    for block, narrow in ((None, True), (32, False)):
        s = random.uniform(0.001, 0.01, (8, 192) if block else 192).astype("f")
        attributes = {"axis": 0, "block_size": block} if block else {"axis": 1}
        nodes = [
            helper.make_node("DequantizeLinear", ["q", "s"], ["w"], **attributes),
            helper.make_node("MatMul", ["x", "w"], ["y"]),
        ]
        graph = helper.make_graph(
            nodes,
            "matrix",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [60, 256])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(q, "q"), numpy_helper.from_array(s, "s")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        module, size = file_of(model, tmp_path / "m.so", target=target)
        x = random.standard_normal((60, 256)).astype("f")
        want = x.astype("d") @ (q * (np.repeat(s, 32, 0) if block else s).astype("d"))
        np.testing.assert_allclose(module.run({"x": x})["y"], want, rtol=0, atol=3e-6 * np.abs(want).max())
        assert (size < 1.4 * q.size) == narrow
        module.close()


@pytest.mark.parametrize("stored", list(itertools.permutations(range(4)))[1::5])
def test_behind_views(stored, tmp_path):
    """A Transpose between DequantizeLinear and Conv permutes the weights. The scales are along the
    dim that holds the features."""
    made = Window("stepped")
    back = np.argsort(stored)
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s"], ["t"], axis=list(stored).index(0)),
        helper.make_node("Transpose", ["t"], ["w"], perm=back),
        *made.nodes,
    ]
    model = made.model(nodes, {"q": made.integers.transpose(stored), "s": made.scales})
    (want,) = oracle(made.wide, {"x": made.x})
    module, size = file_of(model, tmp_path / "m.so", target="x86-64-v3")
    np.testing.assert_allclose(module.run({"x": made.x})["y"], want, rtol=0, atol=3e-6 * np.abs(want).max())
    assert size < 1.6 * made.integers.size


@pytest.mark.parametrize("axis", [1, 2])
def test_scales_along_the_sum(axis, tmp_path):
    """The weights become float if their scales are along K: such scales can't be applied after
    accumulation."""
    made = Window("stepped")
    scales = np.random.default_rng(1).uniform(0.001, 0.01, made.shape[axis]).astype("f")
    nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=axis), *made.nodes]
    shape = [-1 if d == axis else 1 for d in range(4)]
    wide = made.model(made.nodes, {"w": (made.integers * scales.reshape(shape)).astype("f")})
    got = hewn.compile(made.model(nodes, {"q": made.integers, "s": scales})).run({"x": made.x})["y"]
    (want,) = oracle(wide, {"x": made.x})
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-6 * np.abs(want).max())
