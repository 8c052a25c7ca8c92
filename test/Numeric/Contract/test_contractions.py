# SPDX-License-Identifier: Apache-2.0
"""Convolutions and matmuls in the shapes for which the GEMM kernel generator has special forms,
compared with onnxruntime."""

import hewn
import ml_dtypes
import numpy as np
import onnx
import pytest
from numeric import compiled
from onnx import TensorProto, helper
from sessions import oracle

# Parameters of convolutions: channels, features, groups, kernel, size, pads, strides, dilations.
CONVOLUTIONS = [
    (16, 32, 1, (3, 3), (14, 14), (1, 1, 1, 1), (1, 1), (1, 1)),
    (16, 40, 1, (3, 3), (7, 7), (1, 1, 1, 1), (1, 1), (1, 1)),
    (8, 24, 1, (3, 3), (9, 23), (0, 2, 1, 0), (2, 2), (1, 1)),
    (8, 16, 1, (5, 5), (11, 11), (4, 4, 4, 4), (1, 1), (2, 2)),
    (8, 16, 1, (3, 3), (2, 2), (2, 2, 2, 2), (1, 1), (1, 1)),
    (16, 16, 1, (3, 3), (16, 16), (12, 12, 12, 12), (1, 1), (12, 12)),
    (16, 16, 1, (3, 3), (16, 17), (36, 36, 36, 36), (1, 1), (36, 36)),
    (16, 24, 1, (3, 3), (20, 70), (24, 24, 24, 24), (2, 2), (24, 24)),
    (16, 16, 16, (3, 3), (19, 40), (9, 9, 9, 9), (1, 1), (9, 9)),
    (16, 8, 1, (5,), (200,), (128, 0), (1,), (32,)),
    (3, 16, 1, (7, 7), (21, 21), (3, 3, 3, 3), (2, 2), (1, 1)),
    (24, 24, 24, (3, 3), (13, 13), (1, 1, 1, 1), (1, 1), (1, 1)),
    (20, 20, 20, (5, 5), (10, 31), (2, 2, 2, 2), (2, 2), (1, 1)),
    (32, 32, 32, (3, 1), (9, 4), (1, 0, 1, 0), (1, 1), (1, 1)),
    (16, 32, 16, (3, 3), (8, 8), (1, 1, 1, 1), (1, 1), (1, 1)),
    (32, 64, 4, (3, 3), (8, 8), (1, 1, 1, 1), (1, 1), (1, 1)),
    (16, 16, 8, (3, 3), (9, 11), (2, 2, 2, 2), (1, 1), (2, 2)),
    (12, 12, 3, (3, 2), (9, 20), (1, 0, 1, 1), (1, 1), (1, 1)),
    (22, 22, 11, (3, 3), (11, 9), (1, 1, 1, 1), (2, 2), (1, 1)),
    (24, 24, 3, (3,), (40,), (3, 3), (1,), (3,)),
    (6, 6, 2, (3, 3), (7, 7), (1, 1, 1, 1), (1, 1), (1, 1)),
    (16, 8, 4, (3, 3), (7, 7), (1, 1, 1, 1), (1, 1), (1, 1)),
    (64, 64, 1, (1, 1), (9, 5), (0, 0, 0, 0), (1, 1), (1, 1)),
    (64, 64, 1, (1, 1), (9, 6), (0, 0, 0, 0), (2, 2), (1, 1)),
    (12, 17, 1, (3,), (50,), (1, 1), (1,), (1,)),
    (16, 8, 1, (10,), (64,), (9, 0), (1,), (1,)),
    (8, 16, 1, (3, 3, 3), (5, 6, 7), (1, 1, 1, 1, 1, 1), (1, 1, 1), (1, 1, 1)),
]


def conv_model(case, dynamic, activation):
    channels, features, groups, kernel, size, pads, strides, dilations = case
    generator = np.random.default_rng(1)
    weights = generator.standard_normal((features, channels // groups, *kernel)).astype(np.float32)
    bias = generator.standard_normal(features).astype(np.float32)
    nodes = [
        helper.make_node(
            "Conv",
            ["x", "w", "b"],
            ["c"],
            group=groups,
            pads=pads,
            strides=strides,
            dilations=dilations,
            kernel_shape=kernel,
        ),
        helper.make_node(activation, ["c"], ["y"]),
    ]
    shape = ["n", channels, *(f"d{i}" for i in range(len(size)))] if dynamic else [2, channels, *size]
    graph = helper.make_graph(
        nodes,
        "conv",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weights, "w"), onnx.numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, {"x": generator.standard_normal((2, channels, *size)).astype(np.float32)}


# Parameters of transposed convolutions: channels, features, groups, kernel, size, pads, strides,
# output padding.
TRANSPOSED = [
    (8, 6, 1, (4, 4), (5, 7), (1, 1, 1, 1), (2, 2), (0, 0)),
    (8, 6, 1, (3, 3), (5, 7), (1, 1, 1, 1), (2, 2), (1, 1)),
    (8, 6, 1, (3, 3), (5, 7), (0, 0, 0, 0), (2, 2), (0, 1)),
    (8, 32, 1, (3, 2), (5, 7), (0, 1, 2, 0), (2, 3), (1, 2)),
    (8, 6, 2, (5, 4), (4, 4), (3, 2, 0, 1), (2, 2), (0, 0)),
    (6, 6, 6, (4, 4), (4, 9), (1, 1, 1, 1), (2, 2), (0, 0)),
    (6, 12, 6, (4, 4), (4, 9), (1, 1, 1, 1), (2, 2), (0, 0)),
    (16, 8, 1, (16,), (20,), (4, 4), (8,), (0,)),
    (16, 8, 1, (11,), (20,), (7, 9), (5,), (4,)),
    (16, 8, 1, (2,), (20,), (0, 0), (5,), (0,)),
    (4, 4, 1, (3, 3, 3), (4, 3, 5), (1, 0, 1, 1, 0, 1), (2, 1, 2), (1, 0, 1)),
    (8, 6, 1, (1, 4), (3, 3), (0, 0, 0, 0), (1, 4), (0, 0)),
]


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("case", TRANSPOSED, ids=lambda c: "-".join(str(x) for x in c).replace(" ", ""))
def test_transposed_convolution(case, dynamic):
    channels, features, groups, kernel, size, pads, strides, more = case
    generator = np.random.default_rng(4)
    weights = generator.standard_normal((channels, features // groups, *kernel)).astype(np.float32)
    attributes = {"group": groups, "pads": pads, "strides": strides, "output_padding": more}
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)
    shape = ["n", channels, *(f"d{i}" for i in range(len(size)))] if dynamic else [2, channels, *size]
    bias = generator.standard_normal(features).astype(np.float32)
    graph = helper.make_graph(
        [node],
        "transposed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weights, "w"), onnx.numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = {"x": generator.standard_normal((2, channels, *size)).astype(np.float32)}
    (got,) = hewn.compile(model).run(feeds).values()
    np.testing.assert_allclose(got, expected(model, feeds), rtol=1e-4, atol=1e-4)


def expected(model, feeds):
    return oracle(model, feeds)[0]


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda c: "-".join(str(x) for x in c).replace(" ", ""))
def test_convolution(case, dynamic):
    model, feeds = conv_model(case, dynamic, "Tanh" if case[1] % 3 == 1 else "Relu")
    (got,) = hewn.compile(model).run(feeds).values()
    np.testing.assert_allclose(got, expected(model, feeds), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda c: "-".join(str(x) for x in c).replace(" ", ""))
def test_convolution_for_other_machines(case, target):
    model, feeds = conv_model(case, False, "Relu")
    (got,) = compiled(model, target).run(feeds).values()
    np.testing.assert_allclose(got, expected(model, feeds), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 2, 5, 6, 7, 13, 64])
@pytest.mark.parametrize("columns", [1, 15, 16, 33, 100])
def test_product_of_any_rows_and_columns(rows, columns):
    generator = np.random.default_rng(2)
    weights = generator.standard_normal((70, columns)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Sigmoid", ["p"], ["y"])]
    x = generator.standard_normal((3, rows, 70)).astype(np.float32)
    for shape in ([3, rows, 70], ["batch", "rows", 70]):
        graph = helper.make_graph(
            nodes,
            "product",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [onnx.numpy_helper.from_array(weights, "w")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        (got,) = hewn.compile(model).run({"x": x}).values()
        np.testing.assert_allclose(got, expected(model, {"x": x}), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [7, "rows"])
def test_an_operand_that_is_made_of_positions(rows):
    """The producer of the contraction's operand is EyeLike, an indexing op without operands."""
    weights = np.random.default_rng(5).standard_normal((7, 20)).astype(np.float32)
    nodes = [helper.make_node("EyeLike", ["x"], ["e"], k=-1), helper.make_node("MatMul", ["e", "w"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "eye",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 7])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (got,) = hewn.compile(model).run({"x": np.zeros((7, 7), np.float32)}).values()
    np.testing.assert_array_equal(got, np.eye(7, k=-1, dtype=np.float32) @ weights)


def test_a_residual_is_overwritten_row_by_row():
    """With dynamic rows, the last tile recomputes rows of the previous one. It must not read
    results that were stored over the residual."""
    generator = np.random.default_rng(4)
    weights = generator.standard_normal((64, 64)).astype(np.float32)
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["r"]),
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "r"], ["s"]),
        helper.make_node("MatMul", ["s", "w"], ["q"]),
        helper.make_node("Add", ["q", "s"], ["t"]),
        helper.make_node("Sin", ["t"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "residual",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weights / 8, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    module = hewn.compile(model)
    for rows in (1, 2, 3, 4, 5, 8, 9, 10, 16, 100):
        feeds = {"x": generator.standard_normal((rows, 64)).astype(np.float32)}
        (got,) = module.run(feeds).values()
        np.testing.assert_allclose(got, expected(model, feeds), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", [CONVOLUTIONS[i] for i in (0, 1, 2, 3, 11, 12)], ids=str)
def test_medium_rounds_operands_alone(case):
    """At medium precision, operands are bfloat16 and accumulators float32. The error is at most
    2^-8 of |x| @ |w|."""
    model, feeds = conv_model(case, False, "Relu")
    exact = hewn.compile(model).run(feeds)["y"]
    (got,) = hewn.compile(model, precision="medium").run(feeds).values()
    magnitude = np.abs(exact).max() * 4
    assert np.abs(got - exact).max() <= magnitude * 2.0**-8


@pytest.mark.parametrize("rows", [1, 6, 64, "rows"])
def test_medium_with_slow_dot_products(rows):
    """On a target with slow bfloat16 dot products, the kernel has one of three forms: bfloat16
    operands, bfloat16 weights that it converts to float32, or float32 operands."""
    generator = np.random.default_rng(41)
    weights = generator.standard_normal((1024, 4096)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 1024])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    module = compiled(model, "icelake-server+bf16", precision="medium")
    for count in (rows,) if isinstance(rows, int) else (0, 1, 7, 33):
        x = generator.standard_normal((count, 1024)).astype(np.float32)
        (got,) = module.run({"x": x}).values()
        want = np.maximum(x @ weights, 0)
        assert got.shape == want.shape
        assert np.abs(got - want).max(initial=0) <= 2.0**-8 * np.abs(want).max(initial=1)


def narrowed(model, dtype):
    """Converts the model to a 16-bit element type. Constants are rounded to it."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.elem_type = kind
    for constant in model.graph.initializer:
        values = onnx.numpy_helper.to_array(constant).astype(dtype)
        constant.CopyFrom(helper.make_tensor(constant.name, kind, values.shape, values.tobytes(), raw=True))
    model.opset_import[0].version, model.ir_version = 22, 10
    return model


def widened(model):
    """Converts a 16-bit model to float32. The constants keep their rounded values."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for value in [*wide.graph.input, *wide.graph.output]:
        value.type.tensor_type.elem_type = TensorProto.FLOAT
    for constant in wide.graph.initializer:
        values = onnx.numpy_helper.to_array(constant).astype(np.float32)
        constant.CopyFrom(onnx.numpy_helper.from_array(values, constant.name))
    return wide


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("case", CONVOLUTIONS[:18], ids=lambda c: "-".join(str(x) for x in c).replace(" ", ""))
def test_narrow_floats(case, dtype):
    """A 16-bit model accumulates in float32. It differs from a float32 model only by the rounding
    of each op's result."""
    model, feeds = conv_model(case, False, "Relu")
    model = narrowed(model, dtype)
    feeds = {name: value.astype(dtype) for name, value in feeds.items()}
    (got,) = hewn.compile(model).run(feeds).values()
    (want,) = (
        hewn.compile(widened(model)).run({name: value.astype(np.float32) for name, value in feeds.items()}).values()
    )
    assert got.dtype == dtype
    error = np.abs(got.astype(np.float32) - want)
    assert (error <= 2 * float(ml_dtypes.finfo(dtype).eps) * np.maximum(np.abs(want), 1)).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v2"])
def test_narrow_weights(target, dtype):
    """A skinny GEMM converts its 16-bit weights to float32 when it loads them, also if N and K are
    not multiples of the vector length."""
    generator = np.random.default_rng(5)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for rows in (1, 3, 5):
        for depth, columns in ((64, 64), (33, 50), (7, 1)):
            w = generator.standard_normal((depth, columns)).astype(dtype)
            x = generator.standard_normal((rows, depth)).astype(dtype)
            graph = helper.make_graph(
                [helper.make_node("MatMul", ["x", "w"], ["y"])],
                "product",
                [helper.make_tensor_value_info("x", kind, x.shape)],
                [helper.make_tensor_value_info("y", kind, None)],
                [helper.make_tensor("w", kind, w.shape, w.tobytes(), raw=True)],
            )
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
            got = compiled(model, target).run({"x": x})["y"].astype(np.float64)
            want = x.astype(np.float64) @ w.astype(np.float64)
            error = np.abs(got - want) / np.maximum(np.abs(want), 1)
            assert error.max() <= 2 * float(ml_dtypes.finfo(dtype).eps), (rows, depth, columns)


def threads_model():
    """Returns a model with one kernel of each generator: a convolution, elementwise ops, row-wise
    reductions and an indexing op. Each kernel is large enough to be split among threads."""
    generator = np.random.default_rng(3)
    weights = generator.standard_normal((48, 32, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Softmax", ["c"], ["s"], axis=1),
        helper.make_node("Mul", ["s", "s"], ["m"]),
        helper.make_node("Transpose", ["m"], ["t"], perm=[0, 3, 2, 1]),
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Add", ["e", "x"], ["a"]),
        helper.make_node("ReduceMax", ["a"], ["r"], axes=[3]),
    ]
    graph = helper.make_graph(
        nodes,
        "threads",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 32, 60, 61])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("t", "a", "r")],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, {"x": generator.standard_normal((2, 32, 60, 61)).astype(np.float32)}


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_change_no_bit(threads):
    model, feeds = threads_model()
    alone = hewn.compile(model).run(feeds)
    shared = hewn.compile(model, threads=threads)
    for _ in range(5):
        for name, value in shared.run(feeds).items():
            np.testing.assert_array_equal(value, alone[name])


@pytest.mark.parametrize("left, right", [((58800,), (58800,)), ((3, 58800), (58800, 5)), ((9, 16411), (16411, 40))])
def test_long_sums_lose_little(left, right):
    # The result's elements are sums of squares, all of the same sign. With a single accumulator,
    # each addition loses half an ulp, which adds up to 1e-4 of these sums.
    generator = np.random.default_rng(3)
    x, w = (np.cos(generator.uniform(3, 7, shape)).astype(np.float32) for shape in (left, right))
    x, w = x * x, w * w
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in (("x", x), ("w", w))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    y = hewn.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])).run({"x": x, "w": w})["y"]
    wanted = x.astype(np.float64) @ w.astype(np.float64)
    # K can't be blocked, because 16411 is a prime number: one accumulator adds all products.
    assert np.max(np.abs(y - wanted) / wanted) < (1e-4 if 16411 in left else 1.5e-5)


def test_sums_of_many_places_lose_little():
    generator = np.random.default_rng(4)
    x = generator.uniform(0.5, 1, (1, 4096, 6, 6)).astype(np.float32)
    w = generator.uniform(0.5, 1, (8, 4096, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"])],
        "windows",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(w, "w")],
    )
    y = hewn.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])).run({"x": x})["y"]
    windows = np.lib.stride_tricks.sliding_window_view(x[0].astype(np.float64), (3, 3), axis=(1, 2))
    wanted = np.einsum("cijhw,fchw->fij", windows, w.astype(np.float64))[None]
    assert np.max(np.abs(y - wanted) / wanted) < 1e-5


def test_borders_that_are_most_of_the_picture():
    x = np.random.default_rng(5).standard_normal((7, 1, 1, 1)).astype(np.float32)
    w = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2) + 1
    attributes = {"pads": [255] * 4, "strides": [510, 510], "kernel_shape": [2, 2]}
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], **attributes)],
        "border",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    np.testing.assert_array_equal(hewn.compile(model).run({"x": x})["y"], oracle(model, {"x": x})[0])


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("known", [(), (0,), (1,)])
def test_groups_of_channels_that_a_run_tells(op, groups, known):
    """The offset of a group in the weights is dynamic. `known` lists the dims of the weights that
    are constant in the model; the other dims are symbolic."""
    generator = np.random.default_rng(groups)
    x = generator.standard_normal((2, 6, 9)).astype(np.float32)
    w = generator.standard_normal((6, 6 // groups, 3)).astype(np.float32)
    b = generator.standard_normal(6).astype(np.float32)
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "c", "length"]),
        helper.make_tensor_value_info("w", TensorProto.FLOAT, [w.shape[0] if 0 in known else "m", w.shape[1] if 1 in known else "i", 3]),
        helper.make_tensor_value_info("b", TensorProto.FLOAT, ["k"]),
    ]  # fmt: skip
    node = helper.make_node(op, ["x", "w", "b"], ["y"], group=groups, pads=[1, 1], strides=[2])
    graph = helper.make_graph([node], "open", values, [helper.make_value_info("y", onnx.TypeProto())])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    feeds = {"x": x, "w": w, "b": b}
    (want,) = oracle(model, feeds)
    np.testing.assert_allclose(compiled(model).run(feeds)["y"], want, rtol=1e-4, atol=1e-4)


# Einsum equation and dims of the operands. In these batches, the left matrix is shared, or the
# right operand has two column dims.
ONE_BY_SEVERAL = [
    ("mk,bkn->bmn", (17, 29), (3, 29, 37)),
    ("mk,bckn->bcmn", (5, 16), (2, 3, 16, 130)),
    ("mk,bkn->mbn", (17, 29), (3, 29, 37)),
    ("mk,bnk->bmn", (17, 29), (3, 37, 29)),
    ("hmk,bhkn->bhmn", (4, 9, 12), (3, 4, 12, 50)),
]


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize("constant", [0, 1, None])
@pytest.mark.parametrize("precision", ["highest", "medium"])
@pytest.mark.parametrize("equation, left, right", ONE_BY_SEVERAL)
def test_one_matrix_by_several(equation, left, right, precision, constant, target):
    generator = np.random.default_rng(8)
    values = [generator.standard_normal(shape).astype(np.float32) for shape in (left, right)]
    names = ["a", "b"]
    inputs = [
        helper.make_tensor_value_info(
            name, TensorProto.FLOAT, [f"{name}{i}" if i == 0 else d for i, d in enumerate(x.shape)]
        )
        for i, (name, x) in enumerate(zip(names, values))
        if i != constant
    ]
    initializers = [onnx.numpy_helper.from_array(x, names[i]) for i, x in enumerate(values) if i == constant]
    nodes = [helper.make_node("Einsum", names, ["p"], equation=equation), helper.make_node("Relu", ["p"], ["y"])]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", inputs, [output], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = {name: x for i, (name, x) in enumerate(zip(names, values)) if i != constant}
    got = compiled(model, target=target, precision=precision).run(feeds)["y"]
    want = np.maximum(np.einsum(equation, *(x.astype(np.float64) for x in values)), 0)
    np.testing.assert_allclose(got, want, atol=(1e-5 if precision == "highest" else 2e-2) * np.abs(want).max())


def test_one_matrix_of_bytes_by_several():
    generator = np.random.default_rng(9)
    a = generator.integers(0, 255, (17, 29)).astype(np.uint8)
    b = generator.integers(-127, 127, (3, 29, 37)).astype(np.int8)
    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    inputs = [helper.make_tensor_value_info("b", TensorProto.INT8, b.shape)]
    output = helper.make_tensor_value_info("y", TensorProto.INT32, None)
    graph = helper.make_graph([node], "g", inputs, [output], [onnx.numpy_helper.from_array(a, "a")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    np.testing.assert_array_equal(compiled(model).run({"b": b})["y"], a.astype(np.int32) @ b.astype(np.int32))
