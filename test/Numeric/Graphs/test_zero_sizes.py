# SPDX-License-Identifier: Apache-2.0
"""Reshape with sizes of 0 that are known only at run time. ONNX takes a 0 in the shape for "copy the
dim of the input" (unless allowzero is set), so that a size that happens to be 0 may mean a dim."""

import itertools
import math

import hewn
import numpy as np
import onnx
import pytest

# The sizes of the shape operand by the dims of the input. None is -1.
SHAPES = {
    "swapped": lambda a, b, c: [b, a, c],
    "product behind": lambda a, b, c: [a, b * c],
    "product before": lambda a, b, c: [a * b, c],
    "all": lambda a, b, c: [a * b * c],
    "extended": lambda a, b, c: [1, a, b, c],
    "rotated": lambda a, b, c: [c, a, b],
    "inferred before": lambda a, b, c: [None, c, 4],
    "inferred behind": lambda a, b, c: [b, None],
    "inferred product": lambda a, b, c: [b * c, None],
    "inferred middle": lambda a, b, c: [c, None, 2],
}


def model_of(shape, allowzero):
    names = {}

    class Size(str):
        """Text of multiplied dims."""

        def __mul__(self, other):
            return Size(f"{self}*{other}")

    sizes = shape(*map(Size, "abc"))
    lines = [f"d{name} = Shape <start = {i}, end = {i + 1}> (x)" for i, name in enumerate("abc")]
    for i, size in enumerate(sizes):
        if size is None or isinstance(size, Size):
            product = [f"d{factor}" for factor in size.split("*")] if size else ["minus"]
            names[i] = product[0]
            for n, factor in enumerate(product[1:]):
                lines.append(f"p{i}_{n} = Mul({names[i]}, {factor})")
                names[i] = f"p{i}_{n}"
        else:
            lines.append(f"k{i} = Constant <value_ints = [{size}]> ()")
            names[i] = f"k{i}"
    lines.append(f"shape = Concat <axis = 0> ({', '.join(names.values())})")
    lines.append(f"y = Reshape <allowzero = {allowzero}> (x, shape)")
    body = "\n".join(lines)
    return onnx.parser.parse_model(
        f"<ir_version: 10, opset_import: ['': 21]> g (float[a, b, c] x) => (float[] y)"
        f" <int64[1] minus = {{-1}}> {{ {body} }}".replace("'", '"')
    )


def resolved(dims, sizes, allowzero):
    """Returns the shape by ONNX's text, or None if the operand is invalid."""
    if not allowzero:
        if any(size == 0 and i >= len(dims) for i, size in enumerate(sizes)):
            return None
        sizes = [dims[i] if size == 0 else size for i, size in enumerate(sizes)]
    total = math.prod(dims)
    known = math.prod(size for size in sizes if size is not None)
    if None in sizes:
        if known == 0 or total % known:
            return None
        return tuple(total // known if size is None else size for size in sizes)
    return tuple(sizes) if known == total else None


@pytest.mark.parametrize("allowzero", [0, 1])
@pytest.mark.parametrize("name", SHAPES)
def test_sizes(name, allowzero):
    module = hewn.compile(model_of(SHAPES[name], allowzero))
    counts = dict.fromkeys(["right", "refused", "invalid"], 0)
    for dims in itertools.product([0, 1, 2, 4], repeat=3):
        sizes = SHAPES[name](*dims)
        want = resolved(dims, sizes, allowzero)
        x = np.arange(math.prod(dims), dtype=np.float32).reshape(dims)
        try:
            got = module.run({"x": x})["y"]
        except hewn.RunError as error:
            # The only valid shapes that are refused are those in which a 0 copies another dim.
            is_copy = want is not None and any(s == 0 and want[i] != 0 for i, s in enumerate(sizes))
            assert want is None or (is_copy and not allowzero and "copies the dim" in str(error)), (dims, want)
            counts["invalid" if want is None else "refused"] += 1
            continue
        if want is None:  # a size of 0 in an empty tensor stays a size
            assert x.size == got.size == 0, dims
            assert all(s in (None, g) for s, g in zip(sizes, got.shape, strict=True)), dims
            continue
        assert got.shape == want, dims
        np.testing.assert_array_equal(got.ravel(), x.ravel())
        counts["right"] += 1
    assert counts["right"] >= 5
    if allowzero:
        assert not counts["refused"]
