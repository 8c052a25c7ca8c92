# SPDX-License-Identifier: Apache-2.0
"""Kernels that process rows: row-wise reductions with merged dims, strided rows and short rows;
skinny matmuls; padding; box pooling; and scatter ops."""

import numpy as np
import pytest
from numeric import check, compiled, feeds_of, one_node, oracle, run
from onnx import helper

random = np.random.default_rng(11)
ALL = ("host", "x86-64-v3", "x86-64-v2")


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def nan_at(x, *places):
    x = x.copy()
    for place in places:
        x[place] = np.nan
    return x


def int64(*values):
    return np.array(values, np.int64)


# Each case of a reduction has the operand's shape and the reduced dims.
ROWS = [
    ((1, 3, 17, 23), (2, 3)),
    ((2, 5, 3, 7, 11), (2, 3, 4)),
    ((2, 5, 3, 7, 11), (1, 3, 4)),
    ((3, 40, 7, 7), (2, 3)),
    ((70, 16), (1,)),
    ((70, 33), (1,)),
    ((9, 200), (0,)),
    ((2, 64, 56), (1,)),
    ((3, 12, 515), (1,)),
    ((4, 9, 31), (1,)),
    ((1, 1, 1, 129), (2, 3)),
    ((5, 1, 40, 1), (1, 2, 3)),
]
REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceLogSumExp", "ReduceProd")


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("shape, axes", ROWS)
def test_rows(op, shape, axes, target):
    inputs = [floats(*shape) * np.float32(0.9), int64(*axes)]
    model = one_node(op, inputs, opset=18, constants=[1], keepdims=len(shape) % 2)
    check(run(model, feeds_of(inputs, [1]), target), oracle(model, feeds_of(inputs, [1])), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape, axis", [((2, 37, 70), 1), ((3, 5, 130), 1), ((90, 10), 1), ((64, 200), 0)])
@pytest.mark.parametrize("op", ["ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax"])
def test_rows_that_are_read_again(op, shape, axis):
    inputs = [np.round(floats(*shape) * 3)]
    model = one_node(op, inputs, opset=13, axis=axis)
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)))


@pytest.mark.parametrize("reverse, exclusive", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("shape, axis", [((7, 300), 0), ((2, 9, 41), 1), ((3, 20), 1), ((5, 16), 0)])
def test_running_sums(shape, axis, reverse, exclusive):
    inputs = [floats(*shape), np.array(axis, np.int64)]
    model = one_node("CumSum", inputs, opset=14, constants=[1], reverse=reverse, exclusive=exclusive)
    check(run(model, feeds_of(inputs, [1])), oracle(model, feeds_of(inputs, [1])), rtol=1e-4, atol=1e-5)


DOTS = [
    ("MatMul", [floats(5, 70), floats(70)], {}),
    ("MatMul", [floats(3, 5, 64), floats(3, 64, 1)], {}),
    ("MatMul", [floats(1, 33), floats(33, 1)], {}),
    ("Gemm", [floats(1, 100), floats(37, 100), floats(37)], {"transB": 1}),
    ("Gemm", [floats(100, 1), floats(37, 100), floats(1, 37)], {"transA": 1, "transB": 1, "alpha": 0.5}),
    ("Einsum", [floats(9, 130), floats(9, 130)], {"equation": "bi,bi->b"}),
    ("Einsum", [floats(2, 3, 1, 48), floats(2, 3, 21, 48)], {"equation": "bhid,bhjd->bhij"}),
    ("Einsum", [floats(4, 1, 64), floats(17, 64)], {"equation": "bid,jd->jbi"}),
    ("MatMul", [floats(5, 70).astype(np.float64), floats(70).astype(np.float64)], {}),
]


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("op, inputs, attributes", DOTS)
def test_dots(op, inputs, attributes, target):
    model = one_node(op, inputs, opset=13, **attributes)
    check(run(model, feeds_of(inputs), target), oracle(model, feeds_of(inputs)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("features", [1, 2, 3, 5, 6, 12, 20])
def test_few_columns(features, target):
    """A 1x1 convolution with a small number of features is a skinny GEMM. Lanes beyond the last
    feature must not be stored. The images have several tiles, or more rows than fit a cache."""
    inputs = [floats(1, 32, 150, 100), floats(features, 32, 1, 1), floats(features)]
    model = one_node("Conv", inputs, opset=13, constants=[1, 2])
    check(run(model, feeds_of(inputs, [1, 2]), target), oracle(model, feeds_of(inputs, [1, 2])), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["wrap", "reflect", "edge"])
@pytest.mark.parametrize(
    "shape, low, high", [((2, 70), (1, 3), (1, 2)), ((2, 3, 9), (0, 1, 8), (1, 0, 7)), ((4,), (3,), (3,))]
)
def test_borders(mode, shape, low, high):
    inputs = [floats(*shape), int64(*low, *high)]
    model = one_node("Pad", inputs, opset=19, constants=[1], mode=mode)
    x = inputs[0]
    want = np.pad(x, list(zip(low, high)), mode=mode)
    check(run(model, feeds_of(inputs, [1])), [want])


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("seed", range(12))
def test_largest_of_boxes(seed, target):
    """With enough channels and columns, MaxRoiPool is vectorized over channels."""
    generator = np.random.default_rng(seed)
    channels, height, width = (int(generator.choice(of)) for of in ([3, 8, 19, 24], [1, 9, 14], [5, 8, 19, 40]))
    x = generator.standard_normal((2, channels, height, width)).astype(np.float32)
    corners = generator.integers(-5, 45, (9, 4)) * np.array([1, 1, 0.5, 0.5])
    boxes = np.concatenate([generator.integers(0, 2, (9, 1)), corners], 1).astype(np.float32)
    shape = generator.integers(1, 8, 2).tolist()
    model = one_node("MaxRoiPool", [x, boxes], opset=16, pooled_shape=shape)
    check(run(model, feeds_of([x, boxes]), target), oracle(model, feeds_of([x, boxes])))
    x[generator.random(x.shape) < 0.05] = np.nan
    wide = [x.astype(np.float64), boxes.astype(np.float64)]
    narrow = run(one_node("MaxRoiPool", [x, boxes], opset=22, pooled_shape=shape), feeds_of([x, boxes]), target)
    (double,) = run(one_node("MaxRoiPool", wide, opset=22, pooled_shape=shape), feeds_of(wide), target)
    check(narrow, [double.astype(np.float32)])


def cells_of(first, last, cells, extent):
    """Returns the ranges of elements that MaxRoiPool's cells cover, computed in integers of
    arbitrary size."""
    size = max(int(last) - int(first) + 1, 1)
    ends = ((i * size // cells + int(first), -(-(i + 1) * size // cells) + int(first)) for i in range(cells))
    return [(min(max(a, 0), extent), min(max(b, 0), extent)) for a, b in ends]


@pytest.mark.parametrize("shape", [(1, 20000), (1, 6000), (20000, 1), (3, 5000), (1, 1)])
@pytest.mark.parametrize("far", [9e14, 2.0**40, 1e5])
@pytest.mark.parametrize("near", [5, -3, None])
def test_boxes_without_measure(shape, far, near):
    """Boxes have corners far outside of the image, or so many cells that the extent multiplied by
    the cell index overflows. The kernel reads nothing outside of the image."""
    x = floats(1, 9, 7, 19)
    begin, end = np.float32(-far if near is None else near), np.float32(far)
    boxes = np.array([[0, begin, begin, end, end]], np.float32)
    want = np.zeros((1, 9, *shape), np.float32)
    for i, (top, bottom) in enumerate(cells_of(begin, end, shape[0], 7)):
        for j, (left, right) in enumerate(cells_of(begin, end, shape[1], 19)):
            if top < bottom and left < right:
                want[0, :, i, j] = x[0, :, top:bottom, left:right].max((1, 2))
    model = one_node("MaxRoiPool", [x, boxes], opset=16, pooled_shape=list(shape))
    check(run(model, feeds_of([x, boxes])), [want])


@pytest.mark.parametrize("height, width", [(0, 3), (3, 0), (0, 0)])
def test_boxes_of_nothing(height, width):
    inputs = [floats(2, 9, height, width), np.array([[1, 0, 0, 4, 4]], np.float32)]
    model = one_node("MaxRoiPool", inputs, opset=16, pooled_shape=[2, 3])
    check(run(model, feeds_of(inputs)), [np.zeros((1, 9, 2, 3), np.float32)])


@pytest.mark.parametrize("mode", ["max", "avg"])
@pytest.mark.parametrize("ratio", [0, 1, 3])
def test_sampled_boxes(mode, ratio):
    """RoiAlign has specialized float32 loops, one of them for distant samples. The reference is
    float64, because onnxruntime's maximum differs from ONNX's definition."""
    x = nan_at(floats(2, 3, 14, 90), (0, 0, 2, 3), (0, 1, 0, 0), (1, 2, 5, 5))
    boxes = [[0, 0, 18, 13], [3, 2, 9, 9], [5, 5, 5, 5], [-4, -4, 3, 40], [30, 30, 40, 40], [1, 2, 88, 9]]
    boxes = np.array(boxes, np.float32)
    shape = {"output_height": 3, "output_width": 5}

    def of(kind):
        inputs = [x.astype(kind), boxes.astype(kind), int64(0, 1, 0, 1, 0, 1)]
        return run(one_node("RoiAlign", inputs, opset=16, mode=mode, sampling_ratio=ratio, **shape), feeds_of(inputs))

    check(of(np.float32), [of(np.float64)[0].astype(np.float32)], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["max", "avg"])
@pytest.mark.parametrize("height, width", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_sampled_boxes_of_nothing(mode, height, width):
    """RoiAlign on images without elements or with one element, for boxes with NaN or huge corners,
    and without boxes."""
    far = np.float32(2.0**62)
    for corners in ([[0, 0, 2, 2], [np.nan, 0, 1, 1], [-far, 0, far, 1], [far, far, far, far]], np.zeros((0, 4))):
        boxes = np.array(corners, np.float32)

        def of(kind, boxes=boxes):
            inputs = [np.ones((1, 2, height, width), kind), boxes.astype(kind), np.zeros(len(boxes), np.int64)]
            given = {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "mode": mode}
            return run(one_node("RoiAlign", inputs, opset=16, **given), feeds_of(inputs))[0].astype(np.float32)

        check([of(np.float32)], [of(np.float64)], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", ["add", "mul", "max", "min"])
def test_scattered(how):
    """Scatter ops have specialized float32 loops. Results with NaN are compared with float64,
    because onnxruntime's maximum drops NaN."""
    rows = int64(3, 3, 0, 8, 3).reshape(5, 1)
    for op, inputs in (
        ("ScatterND", [floats(9, 21), rows, floats(5, 21)]),
        ("ScatterElements", [floats(9, 21), random.integers(0, 9, (4, 21)), floats(4, 21)]),
    ):
        model = one_node(op, inputs, opset=18, reduction=how)
        check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)))
        inputs = [nan_at(inputs[0], (0, 1), (3, 3)), inputs[1], nan_at(inputs[2], (0, 4), (1, 3))]
        wide = [value.astype(np.float64) if value.dtype == np.float32 else value for value in inputs]
        (double,) = run(one_node(op, wide, opset=18, reduction=how), feeds_of(wide))
        check(run(one_node(op, inputs, opset=18, reduction=how), feeds_of(inputs)), [double.astype(np.float32)])


@pytest.mark.parametrize("beta", [0.25, 0.5, 0.75, 1.5])
def test_powers_of_local_sums(beta):
    inputs = [floats(2, 7, 5, 9)]
    model = one_node("LRN", inputs, opset=13, size=3, beta=beta, alpha=0.3, bias=0.7)
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)))


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 8)])
def test_sampled_in_reflections(size, mode, align):
    inputs = [floats(1, 2, *size), (floats(1, 6, 9, 2) * 2.7).astype(np.float32)]
    model = one_node("GridSample", inputs, opset=20, mode=mode, padding_mode="reflection", align_corners=align)
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)), rtol=1e-4, atol=1e-4)


def test_no_boxes_take_nothing():
    """If there are no boxes, the result of the box pooling op is empty for any pooled shape."""
    inputs = [floats(1, 2, 5, 5), np.zeros((0, 5), np.float32)]
    model = one_node("MaxRoiPool", inputs, opset=16, pooled_shape=[2**31 - 1, 1])
    (got,) = run(model, feeds_of(inputs))
    assert got.shape == (0, 2, 2**31 - 1, 1)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("seed", range(16))
def test_none_in_rows(seed, target):
    """Rows have NaN and infinities at random positions. Extremes propagate NaN. A softmax
    propagates NaN as well, although the maximum that it subtracts may drop NaN."""
    generator = np.random.default_rng(seed)
    row = int(generator.choice([1, 3, 7, 16, 31, 33, 49, 64, 100, 128, 257, 1000]))
    x = generator.standard_normal((40, row) if seed % 4 else (5, row, 9)).astype(np.float32)
    for value in (np.nan, np.inf, -np.inf):
        x[generator.random(x.shape) < 0.3 / row] = value
    x[0], x[1] = np.nan, -np.inf
    axis = int(generator.integers(1, x.ndim))
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        powers = np.exp(wide - wide.max(axis, keepdims=True))
        sums = powers.sum(axis, keepdims=True)
        logs = wide - wide.max(axis, keepdims=True) - np.log(sums)
    wants = {"Softmax": powers / sums, "LogSoftmax": logs, "ReduceMax": wide.max(axis), "ReduceMin": wide.min(axis)}
    for op, want in wants.items():
        said = {"axes": [axis], "keepdims": 0} if op.startswith("Reduce") else {"axis": axis}
        got = run(one_node(op, [x], opset=13, **said), feeds_of([x]), target)
        check(got, [want.astype(np.float32)], rtol=1e-4, atol=1e-5)


def rows_that_meet(generator):
    """Draws reductions of one or two tensors over equal or different dims, combined by elementwise
    ops."""
    shape = [int(generator.choice([1, 2, 3, 8, 17, 40])) for _ in range(3)]
    dims = [list(d) for d in ((2,), (1, 2), (0, 1, 2), (1,))]
    axes = dims[generator.integers(0, len(dims))]
    nodes, wide, thin = [], ["x", "z"][: generator.integers(1, 3)], []
    for i in range(generator.integers(3, 9)):
        name, kind = f"v{i}", generator.integers(0, 5)
        if kind == 0 or len(thin) < 2:
            other = axes if generator.random() < 0.9 else dims[generator.integers(0, len(dims))]
            op = str(generator.choice(["ReduceMax", "ReduceMin", "ReduceMean"]))
            nodes.append(helper.make_node(op, [str(generator.choice(wide))], [name], axes=other))
            thin.append(name)
        elif kind == 1:
            nodes.append(helper.make_node("Abs", [str(generator.choice(thin))], [name]))
            thin.append(name)
        elif kind == 2:
            nodes.append(helper.make_node("Sub", [str(v) for v in generator.choice(thin, 2)], [name]))
            thin.append(name)
        else:
            op = str(generator.choice(["Sub", "Add", "Max"]))
            nodes.append(helper.make_node(op, [str(generator.choice(wide)), str(generator.choice(thin))], [name]))
            wide.append(name)
    read = {operand for node in nodes for operand in node.input}
    ends = [node.output[0] for node in nodes if node.output[0] not in read or generator.random() < 0.2]
    inputs = [helper.make_tensor_value_info(n, 1, shape) for n in "xz"]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ends]
    graph = helper.make_graph(nodes, "rows", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return model, {n: generator.standard_normal(shape).astype(np.float32) for n in "xz"}


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("seed", range(8))
def test_rows_that_meet(seed, target):
    generator = np.random.default_rng(seed)
    for _ in range(8):
        model, feeds = rows_that_meet(generator)
        check(list(compiled(model, target).run(feeds).values()), oracle(model, feeds), rtol=1e-4, atol=1e-4)
