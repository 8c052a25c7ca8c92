# SPDX-License-Identifier: Apache-2.0
"""Weight-only quantization: a DequantizeLinear of a constant is an operand of a float MatMul."""

import hewn
import ml_dtypes
import numpy as np
import pytest
from numeric import compiled, oracle
from onnx import TensorProto, helper, numpy_helper

TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
DEPTH, COLUMNS = 384, 140
TYPES = {
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
    "int4": np.dtype(ml_dtypes.int4),
    "uint4": np.dtype(ml_dtypes.uint4),
    "int2": np.dtype(ml_dtypes.int2),
    "uint2": np.dtype(ml_dtypes.uint2),
}


def data(*shape, seed=7):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Weights:
    """A quantized matrix [depth, columns]: its DequantizeLinear node, its initializers, and its
    values in float64. `block` is the number of rows per scale; None means one scale per column, 0
    one scalar scale."""

    def __init__(self, kind, block=None, zero=False, depth=DEPTH, columns=COLUMNS, scale=np.float32, stored="kn"):
        random = np.random.default_rng(3)
        element = TYPES[kind]
        low, high = int(ml_dtypes.iinfo(element).min), int(ml_dtypes.iinfo(element).max)
        integers = random.integers(low, high + 1, (depth, columns))
        blocks = {None: 1, 0: 1}.get(block, -(-depth // block) if block else 1)
        scales = random.uniform(0.01, 0.1, (blocks, 1 if block == 0 else columns)).astype(scale)
        zeros = random.integers(low, high + 1, scales.shape) * int(zero)
        each = lambda x: np.repeat(x, block or depth, 0)[:depth]  # noqa: E731
        self.matrix = (integers - each(zeros)) * each(scales.astype(np.float64))
        self.attributes = {}
        if block:
            self.attributes = {"block_size": block, "axis": stored.index("k")}
        elif block is None:
            self.attributes = {"axis": stored.index("n")}
        turned = (lambda x: x.T) if stored == "nk" else (lambda x: x)
        shared = turned if block else lambda x: x.reshape(() if block == 0 else -1)
        self.initializers = {"w": turned(integers).astype(element), "s": shared(scales)}
        if zero:
            self.initializers["z"] = shared(zeros).astype(element)
        self.node = helper.make_node("DequantizeLinear", list(self.initializers), ["d"], **self.attributes)
        self.turn = [helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0])] if stored == "nk" else []
        self.name = "t" if stored == "nk" else "d"


def model(weights, nodes, inputs, outputs, more=None, element=TensorProto.FLOAT):
    initializers = dict(weights.initializers, **(more or {}))
    graph = helper.make_graph(
        [weights.node, *weights.turn, *nodes],
        "weights",
        [helper.make_tensor_value_info(n, kind, shape) for n, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(n, element, None) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


def product(weights, rows, element=TensorProto.FLOAT):
    nodes = [helper.make_node("MatMul", ["x", weights.name], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    shape = [*rows, weights.matrix.shape[0]]
    return model(weights, nodes, {"x": (element, shape)}, ["y"], element=element)


def close(got, want, tolerance=5e-6, size=1):
    """Compares with a tolerance relative to the largest result, or to `size` if that is larger:
    sums of values with both signs may cancel."""
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * np.abs(want).max(initial=size))


def kernels(model, tmp_path, **options):
    hewn.compile(model, output=tmp_path / "m.so", **options)
    return (tmp_path / "m.so.weights").stat().st_size


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stored", ["kn", "nk"])
@pytest.mark.parametrize("block", [None, 0, 32, 128])
@pytest.mark.parametrize(
    "kind, zero", [("int8", False), ("uint8", True), ("int4", True), ("uint4", False), ("int4", False)]
)
def test_rows_known_when_run(kind, block, zero, stored, target):
    weights = Weights(kind, block, zero, stored=stored)
    module = compiled(product(weights, ["rows"]), target)
    for rows in (1, 2, 5, 40, 0):
        x = data(rows, DEPTH)
        (got,) = module.run({"x": x}).values()
        size = 0.1 * (np.abs(x) @ np.abs(weights.matrix)).max(initial=1)
        close(got, np.maximum(x.astype(np.float64) @ weights.matrix, 0), size=size)


# Block sizes (rows per scale) for which the last block of the weights has a partial vector or a
# half vector.
@pytest.mark.parametrize("columns", [COLUMNS, 136])
@pytest.mark.parametrize("kind", ["int2", "uint2", "int8", "uint4"])
@pytest.mark.parametrize("rows", [(1,), (3,), (31,), (2, 1, 20), (1, 1)])
@pytest.mark.parametrize("zero", [False, True])
def test_rows_known(kind, rows, zero, columns):
    weights, x = Weights(kind, 64, zero, columns=columns), data(*rows, DEPTH)
    (got,) = hewn.compile(product(weights, rows)).run({"x": x}).values()
    close(got, np.maximum(x.astype(np.float64) @ weights.matrix, 0))


@pytest.mark.parametrize("kind, block", [("int8", None), ("uint8", 0), ("int4", 32)])
def test_as_onnxruntime(kind, block):
    weights, x = Weights(kind, block, True), data(3, DEPTH)
    made = product(weights, [3])
    made.opset_import[0].version = 21
    made.ir_version = 10
    # onnxruntime's optimizer fuses the two nodes into MatMulNBits. It would quantize the
    # activations to 8 bits (errors of 4e-3), if sessions.py did not disable that.
    (want,) = oracle(made, {"x": x})
    (got,) = hewn.compile(made).run({"x": x}).values()
    close(got, want)


@pytest.mark.parametrize("depth", [383, 382, 380, 384, 2050])
@pytest.mark.parametrize("block", [None, 0, 32])
def test_depth_of_no_whole_words_or_blocks(depth, block, tmp_path):
    for kind in ("int8", "uint4"):
        weights, x = Weights(kind, block, True, depth=depth), data(2, depth)
        module = hewn.compile(product(weights, [2]), output=tmp_path / "model.so")
        (got,) = module.run({"x": x}).values()
        if not block or depth % block == 0:  # the weights become float if the last block is partial
            assert (tmp_path / "model.so.weights").stat().st_size < (
                1.5 if block else 1.1
            ) * weights.matrix.size + 4096  # each block has a scale and an offset
        module.close()
        close(got, np.maximum(x.astype(np.float64) @ weights.matrix, 0))


@pytest.mark.parametrize("rows", [["rows"], [2], [40]])
@pytest.mark.parametrize("block", [None, 32])
def test_half(rows, block):
    weights = Weights("int4", block, True, scale=np.float16)
    x = data(2 if rows == ["rows"] else rows[0], DEPTH).astype(np.float16)
    (got,) = hewn.compile(product(weights, rows, TensorProto.FLOAT16)).run({"x": x}).values()
    assert got.dtype == np.float16
    close(got, np.maximum(x.astype(np.float64) @ weights.matrix, 0), 1e-3)


@pytest.mark.parametrize("stored", ["kn", "nk"])
@pytest.mark.parametrize("block", [None, 32])
def test_gemm(stored, block):
    weights, bias, x = Weights("int8", block, stored=stored), data(COLUMNS, seed=2), data(2, DEPTH)
    node = helper.make_node("Gemm", ["x", "d", "b"], ["y"], transB=int(stored == "nk"), alpha=0.5, beta=2.0)
    made = model(weights, [node], {"x": (TensorProto.FLOAT, [2, DEPTH])}, ["y"], {"b": bias})
    close(hewn.compile(made).run({"x": x})["y"], 0.5 * (x.astype(np.float64) @ weights.matrix) + 2 * bias)


def test_depth_of_two_dims():
    """A Reshape between DequantizeLinear and MatMul merges two dims of the integers into the K
    dimension."""
    weights, x = Weights("int8", 32, True, stored="nk"), data(2, DEPTH)
    weights.turn = [
        helper.make_node("Reshape", ["d", "shape"], ["r"]),
        helper.make_node("Reshape", ["r", "back"], ["q"]),
        helper.make_node("Transpose", ["q"], ["t"], perm=[1, 0]),
    ]
    weights.initializers["shape"] = np.array([COLUMNS, 4, DEPTH // 4], np.int64)
    weights.initializers["back"] = np.array([COLUMNS, DEPTH], np.int64)
    weights.node = helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], **weights.attributes)
    (got,) = hewn.compile(product(weights, [2])).run({"x": x}).values()
    close(got, np.maximum(x.astype(np.float64) @ weights.matrix, 0))


def test_two_readers(tmp_path):
    weights = Weights("int8")
    nodes = [helper.make_node("MatMul", [x, "d"], [y]) for x, y in (("a", "u"), ("b", "v"))]
    made = model(weights, nodes, {x: (TensorProto.FLOAT, [1, DEPTH]) for x in "ab"}, ["u", "v"])
    a, b = data(1, DEPTH), data(1, DEPTH, seed=8)
    got = hewn.compile(made).run({"a": a, "b": b})
    close(got["u"], a.astype(np.float64) @ weights.matrix)
    close(got["v"], b.astype(np.float64) @ weights.matrix)
    # Packing fills the last panel of the weights with zero columns, so that the weights file is
    # larger than the weights.
    assert kernels(made, tmp_path) <= DEPTH * 192 + COLUMNS * 4 + 4096


def test_numbers_are_read_too():
    weights, x, a = Weights("int4", 32), data(1, DEPTH), data(DEPTH, COLUMNS)
    nodes = [helper.make_node("MatMul", ["x", "d"], ["y"]), helper.make_node("Add", ["a", "d"], ["z"])]
    inputs = {"x": (TensorProto.FLOAT, [1, DEPTH]), "a": (TensorProto.FLOAT, [DEPTH, COLUMNS])}
    got = hewn.compile(model(weights, nodes, inputs, ["y", "z"])).run({"x": x, "a": a})
    close(got["y"], x.astype(np.float64) @ weights.matrix)
    close(got["z"], a + weights.matrix)


def test_tied_embedding():
    """Tests tied embeddings: the model gathers a row of the quantized embedding matrix, and
    multiplies by the full matrix."""
    weights = Weights("int8", stored="nk")
    nodes = [
        helper.make_node("Gather", ["d", "i"], ["e"], axis=0),
        helper.make_node("Sin", ["e"], ["x"]),
        helper.make_node("MatMul", ["x", "t"], ["y"]),
    ]
    made = model(weights, nodes, {"i": (TensorProto.INT64, [1])}, ["y"])
    (got,) = hewn.compile(made).run({"i": np.array([5])}).values()
    close(got, np.sin(weights.matrix.T[[5]]) @ weights.matrix)


@pytest.mark.parametrize("kind, block, bits", [("int8", None, 8), ("int8", 0, 8), ("uint4", 32, 4), ("int2", 128, 2)])
def test_file_of_weights(kind, block, bits, tmp_path):
    weights = Weights(kind, block, columns=512)
    scales = max(1, DEPTH // (block or DEPTH)) * 512 * 4
    offsets = scales if kind == "uint4" else 0  # needed if the zero point is not the midpoint
    for rows in ([1], ["rows"]):
        assert kernels(product(weights, rows), tmp_path) <= DEPTH * 512 * bits // 8 + scales + offsets + 4096


def test_integers_on_both_sides_stay_integers(tmp_path):
    weights = Weights("int8", 0)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "xs", "xz"], ["f"]),
        helper.make_node("MatMul", ["f", "d"], ["y"]),
    ]
    more = {"xs": np.float32(0.02).reshape(()), "xz": np.array(128, np.uint8)}
    made = model(weights, nodes, {"x": (TensorProto.FLOAT, [1, DEPTH])}, ["y"], more)
    x = data(1, DEPTH)
    q = np.clip(np.rint(x / np.float32(0.02)) + 128, 0, 255) - 128
    (got,) = hewn.compile(made).run({"x": x}).values()
    close(got, q * np.float64(np.float32(0.02)) @ weights.matrix, 1e-6)


def test_wrong_number_of_blocks_is_refused():
    weights = Weights("int8", 32)
    weights.initializers["s"] = weights.initializers["s"][1:]
    with pytest.raises(hewn.CompileError, match="needs 12 blocks of scales along axis 0"):
        hewn.compile(product(weights, [2]))


def product_errors(x, block=None, kind="int8"):
    """Returns hewn's result and two errors relative to the largest value: the error of hewn's
    result, and the error of the same matmul in float32."""
    weights = Weights(kind, block, kind == "uint4")
    nodes = [helper.make_node("MatMul", ["x", weights.name], ["y"])]
    made = model(weights, nodes, {"x": (TensorProto.FLOAT, ["rows", DEPTH])}, ["y"])
    (got,) = hewn.compile(made).run({"x": x}).values()
    want = x.astype(np.float64) @ weights.matrix
    floats = np.zeros_like(want, dtype=np.float32)
    for k in range(DEPTH):
        floats += x[:, k, None] * weights.matrix[k].astype(np.float32)
    return np.abs(got - want).max() / np.abs(want).max(), np.abs(floats - want).max() / np.abs(want).max(), got


@pytest.mark.parametrize("kind, block", [("int8", None), ("uint4", 32), ("int4", 128)])
@pytest.mark.parametrize("outlier", [1, 100, 1e4])
@pytest.mark.parametrize("size", [1, 1e-30, 1e30])
def test_no_larger_error_than_of_floats(kind, block, outlier, size):
    x = data(9, DEPTH) * np.float32(size)
    x[:, 37] *= np.float32(outlier)
    own, floats, _ = product_errors(x, block, kind)
    assert own <= 2 * floats + 1e-7


@pytest.mark.parametrize("block", [None, 32])
def test_special_values(block):
    """If a row of the activations has an infinity or NaN, the result's row is NaN, and other rows
    are unaffected. Zeros and denormals keep their magnitude."""
    x = data(6, DEPTH)
    x[1, 5], x[2, 300], x[4], x[5] = np.inf, np.nan, 0, 1e-44
    with np.errstate(invalid="ignore"):
        _, _, got = product_errors(x, block)
    clean, _, rest = product_errors(x[[0, 3]], block)
    assert not np.isfinite(got[[1, 2]]).any()
    close(got[[0, 3]], rest)
    assert clean < 1e-6 and (got[4] == 0).all() and np.abs(got[5]).max() < 1e-30
