# SPDX-License-Identifier: Apache-2.0
"""GridSample in every mode, padding and alignment, on images and volumes, compared with PyTorch's
definition in numpy."""

import itertools

import hewn
import numpy as np
import pytest
from numeric import check, one_node, oracle, run

random = np.random.default_rng(3)


def cubic(distance):
    x, a = np.abs(distance), -0.75
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, far)


def reflected(position, extent, align):
    """Reflects positions at the edges until they are inside. The edges are the centers of the
    outermost elements (`align`), or half an element farther out."""
    low, span = (0.0, extent - 1.0) if align else (-0.5, float(extent))
    if span == 0:
        return np.zeros_like(position)
    distance = np.abs(position - low)
    turns, rest = np.floor(distance / span), np.mod(distance, span)
    return np.clip(np.where(turns % 2 == 0, low + rest, low + span - rest), 0, extent - 1)


def taps(position, extent, mode, padding, align):
    """Returns indices and weights of the elements along one dim that contribute to each position. A
    weight is 0 outside of the image. Linear and nearest mode first shift the position inside."""
    if mode == "nearest":
        position = np.rint(position)
    if mode != "cubic":
        if padding == "border":
            position = np.clip(position, 0, extent - 1)
        elif padding == "reflection":
            position = reflected(position, extent, align)
    base = np.floor(position)
    offsets = {"nearest": [0], "linear": [0, 1], "cubic": [-1, 0, 1, 2]}[mode]
    for offset in offsets:
        at = base + offset
        weight = {
            "nearest": np.ones_like(at),
            "linear": 1 - np.abs(position - at),
            "cubic": cubic(position - at),
        }[mode]
        if padding == "zeros":
            weight = np.where((at >= 0) & (at < extent), weight, 0)
        elif padding == "reflection":
            at = reflected(at, extent, align)
        yield np.clip(at, 0, extent - 1).astype(int), weight


def sampled(x, grid, mode, padding, align):
    x, grid = x.astype(np.float64), grid.astype(np.float64)
    dims = x.shape[2:]
    along = []
    for d, extent in enumerate(dims):
        g = grid[..., len(dims) - 1 - d]
        position = (g + 1) / 2 * (extent - 1) if align else ((g + 1) * extent - 1) / 2
        along.append(list(taps(position, extent, mode, padding, align)))
    result = 0
    batch = np.arange(x.shape[0]).reshape(-1, *[1] * len(dims))
    for combination in itertools.product(*along):
        # The indexed array of this reference has the channels as its last dim.
        element = x[(batch, slice(None), *[index for index, _ in combination])]
        result = result + element * np.prod([w for _, w in combination], axis=0)[..., None]
    return np.moveaxis(result, -1, 1)


# Draws positions inside, at the edges, outside and far away. No position is close to a tie, where
# nearest mode depends on the last bit.
def grid_of(*shape):
    grid = random.uniform(-1.7, 1.7, shape).astype(np.float32)
    ends = np.array([-1, 1, 0, -40.3, 55.1, -1.02, 1.02, -3.3, 3.37], np.float32)
    grid.reshape(-1)[: 3 * ends.size] = np.tile(ends, 3)
    return grid


FORMS = [(m, p, a) for m in ("nearest", "linear", "cubic") for p in ("zeros", "border", "reflection") for a in (0, 1)]
SHAPES = [((2, 3, 7, 6), (2, 5, 9, 2)), ((1, 2, 1, 5), (1, 6, 6, 2)), ((2, 2, 4, 5, 3), (2, 3, 4, 5, 3))]


def model_of(x, grid, mode, padding, align):
    names = {"mode": mode, "padding_mode": padding, "align_corners": align}
    return one_node("GridSample", [x, grid], opset=20, **names)


@pytest.mark.parametrize("mode, padding, align", FORMS)
@pytest.mark.parametrize("shapes", SHAPES, ids=["image", "line", "volume"])
def test_form(shapes, mode, padding, align):
    x, grid = random.standard_normal(shapes[0]).astype(np.float32), grid_of(*shapes[1])
    want = sampled(x, grid, mode, padding, align).astype(np.float32)
    check(run(model_of(x, grid, mode, padding, align), {"x0": x, "x1": grid}), [want], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode, padding, align", FORMS)
def test_as_onnxruntime(mode, padding, align):
    """onnxruntime gives the same results. It also folds positions of cubic mode back inside for
    reflection, which does not change them."""
    x, grid = random.standard_normal((2, 3, 7, 6)).astype(np.float32), grid_of(2, 5, 9, 2)
    model = model_of(x, grid, mode, padding, align)
    (want,) = oracle(model, {"x0": x, "x1": grid})
    np.testing.assert_allclose(sampled(x, grid, mode, padding, align), want, rtol=1e-4, atol=1e-4)


def symbolic(mode, padding, align):
    """Compiles a model in which every dim is symbolic."""
    model = model_of(np.zeros((1, 1, 2, 2), np.float32), np.zeros((1, 2, 2, 2), np.float32), mode, padding, align)
    for value, names in zip(model.graph.input, ("nchw", "nrs")):
        for dim, name in zip(value.type.tensor_type.shape.dim, names):
            dim.dim_param = name
    return hewn.compile(model)


@pytest.mark.parametrize("mode, padding, align", FORMS)
def test_dims_of_none(mode, padding, align):
    """An image without elements is an error, unless there are no positions to sample or the batch
    is empty."""
    module = symbolic(mode, padding, align)
    for x_shape, grid_shape in (
        ((0, 2, 3, 3), (0, 2, 2, 2)),
        ((1, 2, 3, 3), (1, 0, 4, 2)),
        ((1, 2, 0, 3), (1, 0, 4, 2)),
    ):
        y = module.run({"x0": np.ones(x_shape, np.float32), "x1": np.zeros(grid_shape, np.float32)})["y0"]
        assert y.shape == (x_shape[0], x_shape[1], *grid_shape[1:3])
    for x_shape in ((1, 2, 0, 3), (1, 2, 3, 0)):
        with pytest.raises(hewn.RunError, match="GridSample"):
            module.run({"x0": np.ones(x_shape, np.float32), "x1": np.zeros((1, 2, 2, 2), np.float32)})


def test_nothing_to_sample():
    model = model_of(np.ones((1, 2, 0, 3), np.float32), np.zeros((1, 2, 2, 2), np.float32), "linear", "reflection", 0)
    with pytest.raises(hewn.CompileError, match="along dim 2, which has no elements"):
        hewn.compile(model)
