# SPDX-License-Identifier: Apache-2.0
"""Resize compared with its definition in exact fractions (test/Random/resampling.py). Each case runs
with constant dims, with symbolic dims, and with sizes or scales as an input."""

import pathlib
import sys

import numpy as np
import pytest
from numeric import check, compiled, one_node
from onnx import helper

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Random"))
from resampling import resized

random = np.random.default_rng(43)
FORMS = ("static", "dynamic", "runtime")
FLOOR = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


def model_of(form, x, scales=None, sizes=None, **attributes):
    inputs = [x, None, scales, sizes]
    constants = () if form == "runtime" else (2, 3)
    model = one_node("Resize", inputs, opset=19, constants=constants, **attributes)
    if form != "static":
        for i, dim in enumerate(model.graph.input[0].type.tensor_type.shape.dim):
            if i > 1:
                dim.dim_param = f"d{i}"
    return model


def agree(form, x, scales=None, sizes=None, target="host", tolerance=0.0, **attributes):
    scales = None if scales is None else np.array(scales, np.float32)
    sizes = None if sizes is None else np.array(sizes, np.int64)
    feeds = {"x0": x}
    if form == "runtime":
        feeds |= {"x2": scales} if sizes is None else {"x3": sizes}
    got = list(compiled(model_of(form, x, scales, sizes, **attributes), target).run(feeds).values())
    check(got, [resized(x, None, scales, sizes, **attributes)], rtol=tolerance, atol=tolerance)


def numbered(*shape, dtype=np.float32):
    """Returns an array in which an element shows its position."""
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given, made", [(518, 37), (700, 100), (26, 64), (3001, 1500)])
def test_nearest_at_exact_positions(given, made, form):
    """y * given / made is a whole number for some y, where float32 arithmetic gives the neighbor."""
    agree(form, numbered(1, 1, 2, given), sizes=(1, 1, 2, made), mode="nearest", **FLOOR)
    agree(form, numbered(1, 1, given, 3), sizes=(1, 1, made, 3), mode="nearest", **FLOOR)


@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("form", FORMS)
def test_nearest_of_every_ratio(form, nearest, coordinates):
    """Runs all pairs of sizes up to 40, each pair of dims in one run."""
    attributes = {"nearest_mode": nearest, "coordinate_transformation_mode": coordinates}
    if form == "static":  # a model for each pair: fewer pairs
        for given, made in [(20, 6), (21, 6), (12, 1), (9, 15), (40, 8)]:
            agree(form, numbered(1, 1, given), sizes=(1, 1, made), **attributes)
        return
    x, sizes = numbered(1, 1, 40, 40), np.ones(4, np.int64)
    if form == "dynamic":
        model = model_of(form, x, sizes=np.array([1, 1, 17, 24]), **attributes)
        pairs = [(n, n + 1, 17, 24) for n in range(1, 40)]
    else:
        model = model_of(form, x, sizes=sizes, **attributes)
        pairs = [(n, 41 - n, m, m) for n in range(1, 41) for m in range(1, 41, 3 if n % 2 else 1)]
    module = compiled(model)
    for h, w, rows, columns in pairs:
        sizes = np.array([1, 1, rows, columns])
        feeds = {"x0": x[:, :, :h, :w].copy()} | ({"x3": sizes} if form == "runtime" else {})
        check(list(module.run(feeds).values()), [resized(feeds["x0"], None, None, sizes, **attributes)], rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["uint8", "float64", "float16"])
@pytest.mark.parametrize("target", ["host", "x86-64-v2"])
def test_nearest_of_other_types(target, dtype):
    x = (numbered(1, 2, 3, 77) % 251).astype(dtype)
    for form in FORMS:
        agree(form, x, sizes=(1, 2, 7, 33), target=target, mode="nearest", nearest_mode="round_prefer_ceil")
        agree(form, x, scales=(1, 1, 1.3, 0.7), target=target, mode="nearest", **FLOOR)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale, n", [(0.1, 30), (1 / 3, 30), (1.3, 30), (0.35, 640), (706 / 224, 224), (1e-13, 30)])
def test_sizes_by_scales(scale, n, form):
    """A size is floor(n * scale) of the exact product, whichever of both is known when compiling."""
    for mode in ("nearest", "linear"):
        x = numbered(1, 1, 1, n) / 8
        agree(form, x, scales=(1, 1, 1, scale), mode=mode, tolerance=2e-4 if mode == "linear" else 0, **FLOOR)


def test_sizes_of_dynamic_dims():
    """One module, whose dims scaled by fractions have many sizes."""
    scales = np.array([1, 1, 1 / 3, 1.3], np.float32)
    module = compiled(model_of("dynamic", numbered(1, 1, 4, 4), scales, mode="linear"))
    for h, w in [(8, 12), (7, 5), (30, 11), (3, 1), (9, 10), (2, 20), (0, 3)]:
        x = random.standard_normal((1, 1, h, w)).astype(np.float32)
        want = (
            resized(x, None, scales, mode="linear")
            if h > 2
            else np.zeros((1, 1, 0, int(w * float(scales[3]))), np.float32)
        )
        check(list(module.run({"x0": x}).values()), [want], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("given, made", [(65, 1), (941, 10), (3000, 1)])
def test_antialias_of_large_factors(given, made, mode, form):
    """Each result is the mean of more elements than the code generator unrolls."""
    x = random.standard_normal((1, 2, 1, given)).astype(np.float32)
    attributes = {"mode": mode, "antialias": 1, "exclude_outside": made % 10}
    if given != 941:
        agree(form, x, sizes=(1, 2, 1, made), tolerance=2e-5, **attributes)
    else:
        agree(form, x, scales=(1, 1, 1, (made + 0.3) / given), tolerance=2e-5, **attributes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialias_of_one_dim(mode, form):
    """One dim is enlarged, another one is reduced."""
    x = random.standard_normal((1, 1, 9, 70)).astype(np.float32)
    attributes = {"mode": mode, "antialias": 1}
    agree(form, x, sizes=(1, 1, 23, 11), tolerance=2e-5, exclude_outside=0, **attributes)
    agree(form, x, scales=(1, 1, 0.48, 1.41), tolerance=2e-5, exclude_outside=1, **attributes)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("form", FORMS)
def test_antialias_keeps_the_aspect_ratio(form, policy):
    x = random.standard_normal((1, 1, 90, 50)).astype(np.float32)
    attributes = {"axes": [2, 3], "keep_aspect_ratio_policy": policy, "antialias": 1, "mode": "linear"}
    for sizes in ((1, 1), (7, 2)):
        agree(form, x, sizes=sizes, tolerance=2e-5, **attributes)


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
def test_to_one_element(mode):
    """The coordinate is 0, also if the scale times the size is no whole number."""
    x = random.standard_normal((1, 1, 4, 10)).astype(np.float32)
    attributes = {"mode": mode, "coordinate_transformation_mode": "pytorch_half_pixel"}
    for form in FORMS:
        agree(form, x, sizes=(1, 1, 1, 1), tolerance=1e-6, **attributes)
        agree(form, x, scales=(1, 1, 0.25, 0.15), tolerance=1e-6, **attributes)
        np.testing.assert_array_equal(resized(x, None, None, (1, 1, 1, 1), **attributes), x[..., :1, :1])


@pytest.mark.parametrize(
    "dtype, form",
    [("uint8", form) for form in FORMS]
    + [(t, "static") for t in ("int8", "int16", "uint16", "int32", "uint32", "int64")],
)
def test_overshoot_of_integers(dtype, form):
    """Interpolated integers are rounded to the nearest one, ties to even, and clamped."""
    info = np.iinfo(dtype)
    x = random.choice(
        np.array([info.min // 2**9, info.max // 2**9] if info.bits == 64 else [info.min, info.max]), (1, 1, 3, 12)
    )
    x = x.astype(dtype)
    tolerance = 1 if info.bits > 16 else 0  # of 32 bits, float64 keeps 21 bits of the weights
    for antialias, sizes in ((0, (1, 1, 6, 24)), (1, (1, 1, 3, 6))):
        agree(form, x, sizes=sizes, mode="cubic", antialias=antialias, tolerance=tolerance)
    ties = np.array([0, 1, 2, 3, 3, 6, 7, 8], dtype).reshape(1, 1, 1, 8)
    agree(form, ties, sizes=(1, 1, 1, 4), mode="linear")


def test_extrapolation_of_integers():
    x, roi = np.full((1, 1, 4, 4), 7, np.uint8), np.array([0, 0, -1, 0, 1, 1, 2, 1], np.float32)
    for mode in ("nearest", "linear"):
        for value, want in ((300.0, 255), (-3.0, 0), (41.5, 42)):
            attributes = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": value}
            inputs = [x, roi, None, np.array([1, 1, 4, 4])]
            model = one_node("Resize", inputs, opset=19, constants=(1, 3), mode=mode, **attributes)
            (got,) = compiled(model).run({"x0": x}).values()
            assert got[0, 0, 0, 0] == want and got[0, 0, 1, 1] == 7


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"])
def test_equal_sizes_at_run_time(coordinates, mode):
    """A kernel copies its operand if the sizes of a run do not change it. One module also runs with
    sizes of which one or none is equal."""
    how = {"mode": mode, "coordinate_transformation_mode": coordinates}
    first = numbered(1, 2, 26, 26)
    module = compiled(model_of("runtime", first, sizes=np.array((1, 2, 26, 26)), **how))
    for dims in ((26, 26), (3, 40), (1, 1)):
        x = random.standard_normal((1, 2, *dims)).astype(np.float32)
        for sizes in ((1, 2, *dims), (1, 2, dims[0], 26), (1, 2, 7, dims[1]), (1, 2, 52, 13)):
            (got,) = module.run({"x0": x, "x3": np.array(sizes)}).values()
            check([got], [resized(x, None, None, np.array(sizes), **how)], rtol=1e-5, atol=1e-5)
            assert sizes[2:] != dims or np.array_equal(got, x)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_grid_sample_of_integers(dtype):
    """A cubic GridSample of integers rounds and clamps as Resize. Its positions are those of a
    Resize."""
    info = np.iinfo(dtype)
    x = random.choice(np.array([info.min, info.max], dtype), (1, 1, 9, 9))
    steps = ((np.arange(18) + 0.5) / 9 - 1).astype(np.float32)
    grid = np.stack(np.meshgrid(steps, steps, indexing="xy"), -1)[None]
    model = one_node("GridSample", [x, grid], opset=20, mode="cubic", padding_mode="border")
    (got,) = compiled(model).run({"x0": x, "x1": grid}).values()
    np.testing.assert_array_equal(got, resized(x, None, None, (1, 1, 18, 18), mode="cubic"))


def test_data_dependent_length():
    """The number of nonzero elements times 1/300, as in text to speech."""
    nodes = [
        helper.make_node("NonZero", ["m"], ["i"]),
        helper.make_node("Cast", ["i"], ["f"], to=1),
        helper.make_node("Unsqueeze", ["f", "axis"], ["x"]),
        helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear"),
    ]
    values = {"axis": np.array([0]), "scales": np.array([1, 1, 1 / 300], np.float32)}
    graph = helper.make_graph(
        nodes,
        "length",
        [helper.make_tensor_value_info("m", 9, ["n"])],
        [helper.make_tensor_value_info("y", 1, None)],
        [helper.make_tensor(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape, v) for k, v in values.items()],
    )
    module = compiled(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9))
    for count in (300, 599, 600, 2700):
        feeds = {"m": np.ones(count, np.bool_)}
        x = np.arange(count, dtype=np.float32).reshape(1, 1, -1)
        check(list(module.run(feeds).values()), [resized(x, None, values["scales"], mode="linear")], atol=1e-2)
