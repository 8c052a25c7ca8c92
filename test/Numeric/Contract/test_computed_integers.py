# SPDX-License-Identifier: Apache-2.0
"""GEMMs whose two operands are 8-bit integers that other ops compute. Results are exact for all
shapes, signs, zero points and layouts."""

import numpy as np
import onnx
import pytest
from numeric import compiled
from onnx import helper

OPSET = helper.make_opsetid("", 21)
TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v3+avxvnni", "x86-64-v4", "x86-64-v4+vnni"]
KINDS = [np.uint8, np.int8]


class Case:
    """Draws two matrices, or batches of matrices, and the nodes that compute them from the model's
    inputs."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.rows = int(rng.choice([1, 3, 8, 17, 64, 65]))
        self.depth = int(rng.choice([1, 3, 4, 16, 31, 32, 64, 66, 128, 197]))
        self.columns = int(rng.choice([8, 16, 30, 64, 129]))
        # Heads of the left and of the right operand. The cases are: no heads, one head each,
        # several left heads per right head, one right matrix for all heads, and one left matrix for
        # all heads.
        self.heads, self.shared = [((), ()), ((2, 3), (2, 3)), ((2, 6), (2, 2)), ((3,), (1,)), ((1,), (4,))][
            rng.integers(5)
        ]
        self.kinds = KINDS[rng.integers(2)], KINDS[rng.integers(2)]
        self.turned = bool(rng.integers(2)), bool(rng.integers(2))
        self.nodes, self.feeds, self.dims, self.initializers = [], {}, {}, {}

    def draw(self, kind, shape):
        limits = np.iinfo(kind)
        # All elements of the operands are at the ends of their ranges, for the largest possible
        # sums.
        if self.rng.integers(3) == 0:
            return self.rng.choice(np.array([limits.min, limits.max], kind), shape)
        return self.rng.integers(limits.min, limits.max + 1, shape).astype(kind)

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def operand(self, name, kind, heads, matrix, turned, is_open):
        """Adds an input, transposed if `turned`. Returns the name and the value of the operand that
        the GEMM reads."""
        shape = heads + (matrix[::-1] if turned else matrix)
        value = self.draw(kind, shape)
        self.feeds[name], self.dims[name] = value, [f"{name}{i}" if i in is_open else d for i, d in enumerate(shape)]
        if turned:
            order = [*range(len(heads)), len(heads) + 1, len(heads)]
            name, value = self.node("Transpose", [name], f"{name}_turned", perm=order), value.transpose(order)
        return name, value

    def repeated(self, name, value):
        """Repeats each head of the right operand for all left heads that use it."""
        groups = self.heads[1] // self.shared[1]
        to = (self.shared[0], self.shared[1], groups, *value.shape[2:])
        self.initializers |= {"axis": np.array([2]), "to": np.array(to), "all": np.array(self.heads + value.shape[2:])}
        self.node("Unsqueeze", [name, "axis"], f"{name}_heads")
        self.node("Expand", [f"{name}_heads", "to"], f"{name}_groups")
        return self.node("Reshape", [f"{name}_groups", "all"], f"{name}_repeated"), np.repeat(value, groups, axis=1)

    def operands(self):
        open_dims = [((), ()), ((len(self.heads) + self.turned[0],), ()), (range(9), range(9))][self.rng.integers(3)]
        repeats = len(self.heads) == 2 and self.heads != self.shared
        if repeats:
            open_dims = (), ()
        left, x = self.operand("x", self.kinds[0], self.heads, (self.rows, self.depth), self.turned[0], open_dims[0])
        right, w = self.operand(
            "w", self.kinds[1], self.shared, (self.depth, self.columns), self.turned[1], open_dims[1]
        )
        if repeats:
            right, w = self.repeated(right, w)
        return left, x, right, w

    def model(self, result):
        to = helper.np_dtype_to_tensor_dtype
        graph = helper.make_graph(
            self.nodes,
            "computed",
            [helper.make_tensor_value_info(n, to(v.dtype), self.dims.get(n, v.shape)) for n, v in self.feeds.items()],
            [helper.make_tensor_value_info("y", to(np.dtype(result)), None)],
            [onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in self.initializers.items()],
        )
        return helper.make_model(graph, opset_imports=[OPSET], ir_version=10)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(16))
def test_integers(seed, target):
    """Tests MatMulInteger with constant or dynamic zero points, as scalars or per row and
    column."""
    case = Case(seed)
    left, x, right, w = case.operands()
    inputs = [left, right]
    zeros = [np.zeros((), kind) for kind in case.kinds]
    how = seed % 4
    if how:
        shapes = [(), ()] if how < 3 else [(case.rows,) if not case.heads else (), (case.columns,)]
        zeros = [case.draw(kind, shape) for kind, shape in zip(case.kinds, shapes)]
        (case.initializers if how == 1 else case.feeds).update(xz=zeros[0], wz=zeros[1])
        inputs += ["xz", "wz"]
    case.node("MatMulInteger", inputs, "y")
    got = compiled(case.model(np.int32), target).run(case.feeds)["y"]
    of_rows = zeros[0][..., None] if zeros[0].ndim else zeros[0]
    want = (x.astype(np.int64) - of_rows) @ (w.astype(np.int64) - zeros[1])
    np.testing.assert_array_equal(got, want)


def quantized(case, scales, zeros):
    """Adds a MatMul of two DequantizeLinear results and returns its value. The scales are powers of
    two, and the sums stay below 2^24, so that float32 is exact."""
    left, x, right, w = case.operands()
    case.initializers |= {"xs": scales[0], "xz": zeros[0], "ws": scales[1], "wz": zeros[1]}
    case.node("DequantizeLinear", [left, "xs", "xz"], "xd")
    last = {"axis": w.ndim - 1} if zeros[1].ndim else {}
    case.node("DequantizeLinear", [right, "ws", "wz"], "wd", **last)
    case.node("MatMul", ["xd", "wd"], "p")
    return (x.astype(np.int64) - zeros[0]) @ (w.astype(np.int64) - zeros[1]) * (scales[0] * scales[1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(16))
def test_between_quantizations(seed, target):
    """Tests DequantizeLinear, MatMul and QuantizeLinear with a scalar scale and with one scale per
    column."""
    case = Case(100 + seed)
    of_columns = (case.columns,) if seed % 3 == 0 else ()
    scales = np.float32(2.0**-6), (2.0 ** -case.rng.integers(3, 9, of_columns)).astype(np.float32)
    zeros = case.draw(case.kinds[0], ()), case.draw(case.kinds[1], of_columns)
    if seed % 2:
        zeros = zeros[0], zeros[1] * np.array(0, case.kinds[1])
    want = quantized(case, scales, zeros)
    case.initializers |= {"ys": np.float32(2.0**-1), "yz": np.uint8(100)}
    case.node("QuantizeLinear", ["p", "ys", "yz"], "y")
    # In half of the cases, symbolic dims have a range, so that the compiler can prove that integer
    # sums do not overflow.
    opened = {d for dims in case.dims.values() for d in dims if isinstance(d, str)} if seed % 4 < 2 else set()
    got = compiled(case.model(np.uint8), target, dims={d: (1, 256) for d in opened}).run(case.feeds)["y"]
    np.testing.assert_array_equal(got, np.clip(np.rint(want * 2) + 100, 0, 255))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(8))
def test_qlinear(seed, target):
    case = Case(200 + seed)
    left, x, right, w = case.operands()
    scales = [np.float32(2.0**-e) for e in case.rng.integers(4, 9, 3)]
    zeros = [case.draw(kind, ()) for kind in (*case.kinds, np.uint8)]
    names = ["xs", "xz", "ws", "wz", "ys", "yz"]
    case.initializers |= dict(zip(names, [v for pair in zip(scales, zeros) for v in pair]))
    case.node("QLinearMatMul", [left, "xs", "xz", right, "ws", "wz", "ys", "yz"], "y")
    got = compiled(case.model(np.uint8), target).run(case.feeds)["y"]
    sums = (x.astype(np.int64) - zeros[0]) @ (w.astype(np.int64) - zeros[1])
    want = np.rint(sums * float(scales[0] * scales[1] / scales[2])) + zeros[2]
    np.testing.assert_array_equal(got, np.clip(want, 0, 255))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kinds", [(a, b) for a in KINDS for b in KINDS])
@pytest.mark.parametrize("depth", [4096, 32768, 40001])
def test_longest_sums(depth, kinds, target):
    """All values are at one end of their range and the zero points at the other. Sums beyond 2^31
    wrap as 32-bit integers do."""
    for high in (False, True):
        ends = [np.iinfo(kind).max if high else np.iinfo(kind).min for kind in kinds]
        zeros = [np.array(np.iinfo(kind).min if high else np.iinfo(kind).max, kind) for kind in kinds]
        case = Case(0)
        case.feeds = {
            "x": np.full((9, depth), ends[0], kinds[0]),
            "w": np.full((depth, 16), ends[1], kinds[1]),
        }
        case.initializers = {"xz": zeros[0], "wz": zeros[1]}
        case.node("MatMulInteger", ["x", "w", "xz", "wz"], "y")
        want = np.full((9, 16), depth * 255 * 255, np.int64).astype(np.int32)
        np.testing.assert_array_equal(compiled(case.model(np.int32), target).run(case.feeds)["y"], want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", [(0, 5, 40), (6, 0, 40), (6, 5, 0), (1, 1, 1), (70, 3, 9), (70, 4, 200)])
@pytest.mark.parametrize("turned", [False, True])
def test_sizes_that_a_run_gives(turned, sizes, target):
    """Tests GEMMs of which all dims are symbolic and get sizes such as 0 and 1. The model runs on
    two threads."""
    rows, depth, columns = sizes
    case = Case(sum(sizes))
    left, x = case.operand("x", np.uint8, (2,), (rows, depth), turned, range(9))
    right, w = case.operand("w", np.int8, (2,), (depth, columns), not turned, range(9))
    case.initializers = {"xz": np.array(77, np.uint8), "wz": np.array(-5, np.int8)}
    case.node("MatMulInteger", [left, right, "xz", "wz"], "y")
    got = compiled(case.model(np.int32), target, threads=2).run(case.feeds)["y"]
    np.testing.assert_array_equal(got, (x.astype(np.int64) - 77) @ (w.astype(np.int64) + 5))
