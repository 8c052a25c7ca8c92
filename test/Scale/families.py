# SPDX-License-Identifier: Apache-2.0
"""Builds graphs of about a given number of nodes, in families that resemble the output of
exporters, tracers and other tools. Each family exists with static sizes and with a symbolic dim."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Model:
    """Builds a model node by node. `rows` is the size of the first dim of most inputs: the number
    4, or a symbol."""

    def __init__(self, is_open, width=8):
        self.rows, self.open, self.width = "n" if is_open else 4, is_open, width
        self.nodes, self.weights, self.inputs, self.outputs, self.functions = [], [], [], [], []
        self.random, self.shared = np.random.default_rng(0), {}

    def input(self, shape, kind=FLOAT, name=None):
        name = name or f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def x(self):
        return self.input([self.rows, self.width])

    def weight(self, *shape):
        """Adds a constant with random elements and returns its name."""
        array = (self.random.standard_normal(shape) / max(1, np.prod(shape[1:])) ** 0.5).astype(np.float32)
        return self.constant(array)

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *values):
        """Returns a constant with these integers. Calls with equal integers return the same
        constant."""
        if values not in self.shared:
            self.shared[values] = self.constant(np.array(values, np.int64))
        return self.shared[values]

    def add(self, op, *operands, results=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(op, operands, names, **attributes))
        return names[0] if results == 1 else names

    def give(self, *names):
        self.outputs += [helper.make_value_info(name, onnx.TypeProto()) for name in names]

    def proto(self):
        graph = helper.make_graph(self.nodes, "graph", self.inputs, self.outputs, self.weights)
        imports = [helper.make_opsetid("", 19)] + [helper.make_opsetid("own", 1)] * bool(self.functions)
        return helper.make_model(graph, opset_imports=imports, functions=self.functions, ir_version=10)


def chained(each, nodes=1, start=Model.x):
    """Returns a family of graphs that applies the function `each` repeatedly to a value. One
    application adds about `nodes` nodes."""

    def build(m, count):
        value = start(m)
        for i in range(max(1, count // nodes)):
            value = each(m, value, i)
        m.give(value)

    return build


ELEMENTWISE = ["Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Exp", "Erf", "Softplus"]


def elementwise(m, value, i):
    return m.add(ELEMENTWISE[i % len(ELEMENTWISE)], value)


def products(m, value, i):
    return m.add("Add", m.add("MatMul", value, m.weight(8, 8)), m.weight(8))


def picture(m):
    return m.input([m.rows if m.open else 1, 8, 6, 6])


def residual_block(m, value, i):
    made = m.add("Relu", m.add("Conv", value, m.weight(8, 8, 3, 3), m.weight(8), pads=[1] * 4))
    made = m.add("Conv", made, m.weight(8, 8, 3, 3), m.weight(8), pads=[1] * 4)
    return m.add("Relu", m.add("Add", made, value))


def inverted_block(m, value, i):
    """Adds an inverted residual block with squeeze-and-excitation."""
    made = m.add("HardSwish", m.add("Conv", value, m.weight(16, 8, 1, 1)))
    made = m.add("HardSwish", m.add("Conv", made, m.weight(16, 1, 3, 3), group=16, pads=[1] * 4))
    gate = m.add("Relu", m.add("Conv", m.add("GlobalAveragePool", made), m.weight(4, 16, 1, 1)))
    gate = m.add("HardSigmoid", m.add("Conv", gate, m.weight(16, 4, 1, 1)))
    return m.add("Add", m.add("Conv", m.add("Mul", made, gate), m.weight(8, 16, 1, 1)), value)


def dense_blocks(m, count):
    """Adds blocks of eight layers. Each layer reads all earlier layers of its block."""
    value = picture(m)
    for _ in range(max(1, count // 25)):
        parts = [value]
        for _ in range(8):
            joined = parts[0] if len(parts) == 1 else m.add("Concat", *parts, axis=1)
            parts.append(m.add("Relu", m.add("Conv", joined, m.weight(4, 4 + 4 * len(parts), 1, 1))))
        value = m.add("Conv", m.add("Concat", *parts, axis=1), m.weight(8, 40, 1, 1))
    m.give(value)


def split_network(m, count):
    """Splits the channels at random positions, applies random ops to each part, and concatenates
    the parts in random order."""
    value = m.input([m.rows if m.open else 1, 16, 4, 4])
    made = 0
    while made < count:
        ways = int(m.random.integers(2, 5))
        cut = sorted(m.random.choice(np.arange(1, 16), ways - 1, replace=False))
        sizes = np.diff([0, *cut, 16])
        parts = m.add("Split", value, m.ints(*map(int, sizes)), axis=1, results=ways)
        for k in range(ways):
            for _ in range(m.random.integers(0, 3)):
                parts[k] = drawn(m, parts[k], int(sizes[k]))
                made += 1
        order = m.random.permutation(ways)
        value = m.add("Concat", *(parts[k] for k in order), axis=1)
        made += 2
    m.give(value)


def drawn(m, value, channels):
    kind = m.random.integers(0, 6)
    if kind == 0:
        return m.add("Conv", value, m.weight(channels, channels, 3, 3), pads=[1] * 4)
    if kind == 1:
        return m.add("MaxPool", value, kernel_shape=[3, 3], pads=[1] * 4)
    if kind == 2:
        return m.add("Softmax", value, axis=int(m.random.integers(0, 4)))
    if kind == 3:
        return m.add("Transpose", value, perm=[0, 1, 3, 2])
    if kind == 4:
        return m.add("Add", value, m.weight(channels, 1, 1))
    return m.add(ELEMENTWISE[m.random.integers(0, len(ELEMENTWISE))], value)


def step_of(m, x, i):
    return m.add("Slice", x, m.ints(i), m.ints(i + 1), m.ints(0))


def unrolled(m, count):
    """A recurrence that a tracer has unrolled, and a Concat of the states of all steps."""
    steps = max(2, count // 6)
    x, state, states = m.input([steps, 8]), m.input([1, 8]), []
    a, b, c = m.weight(8, 8), m.weight(8, 8), m.weight(8)
    for i in range(steps):
        taken = m.add("MatMul", step_of(m, x, i), a)
        state = m.add("Tanh", m.add("Add", m.add("Add", taken, m.add("MatMul", state, b)), c))
        states.append(state)
    m.give(m.add("Concat", *states, axis=0))


def unrolled_columns(m, count):
    """An unrolled recurrence whose input has the batch as its first dim, so that the rows of a step
    are not contiguous."""
    steps = max(2, count // 7)
    x, state, states = m.input([m.rows, steps, 8]), m.input([m.rows, 8]), []
    a, b = m.weight(8, 8), m.weight(8, 8)
    for i in range(steps):
        taken = m.add("MatMul", m.add("Gather", x, m.constant(np.int64(i)), axis=1), a)
        state = m.add("Tanh", m.add("Add", taken, m.add("MatMul", state, b)))
        states.append(m.add("Unsqueeze", state, m.ints(1)))
    m.give(m.add("Concat", *states, axis=1))


def joined_rows(m, count):
    """Multiplies single rows by one matrix and accumulates the results in a chain of Adds."""
    steps = max(2, count // 3)
    x, a = m.input([steps, 8]), m.weight(8, 8)
    value = m.input([1, 8])
    for i in range(steps):
        value = m.add("Add", value, m.add("MatMul", step_of(m, x, i), a))
    m.give(value)


def sliced_again(m, count):
    """A chain of Slices, each of which removes the first row of the remaining rows."""
    steps = max(2, count // 3)
    rest, value = m.input([steps, 8]), m.input([1, 8])
    for _ in range(steps - 1):
        value = m.add("Add", value, m.add("Slice", rest, m.ints(0), m.ints(1), m.ints(0)))
        rest = m.add("Slice", rest, m.ints(1), m.ints(2**62), m.ints(0))
    m.give(value, rest)


def sliced_products(m, count):
    """Repeatedly slices off the first row of the remaining rows, multiplies each of these rows by
    one matrix, and sums up the results."""
    steps = max(2, count // 3)
    rest, a, made = m.input([steps, 8]), m.weight(8, 8), []
    for _ in range(steps - 1):
        made.append(m.add("MatMul", m.add("Slice", rest, m.ints(0), m.ints(1), m.ints(0)), a))
        rest = m.add("Slice", rest, m.ints(1), m.ints(2**62), m.ints(0))
    m.give(m.add("Sum", *made))


def cache_of_rows(m, count):
    """A value to which a Concat appends one row in each step, and a reduction of this value in each
    step."""
    steps = max(2, count // 3)
    x, kept = m.x(), m.input([1, 8])
    for _ in range(steps):
        kept = m.add("Concat", kept, m.add("ReduceSum", x, m.ints(0)), axis=0)
        x = m.add("Add", x, m.add("ReduceMax", kept, m.ints(0)))
    m.give(x)


def written_rows(m, count):
    """Replaces the rows of a value one after another, with an op for each row."""
    steps = max(2, count // 2)
    value = m.input([steps, 8])
    for i in range(steps):
        value = m.add("ScatterND", value, m.constant(np.array([[i]], np.int64)), m.add("Relu", m.input([1, 8])))
    m.give(value)


def fan_out(m, count):
    x = m.x()
    m.give(*(m.add("Mul", x, m.weight(8)) for _ in range(count)))


def fan_out_products(m, count):
    x = m.x()
    m.give(*(m.add("MatMul", x, m.weight(8, 8)) for _ in range(count // 2)))


def fan_in(op, **attributes):
    def build(m, count):
        x = m.x()
        m.give(
            m.add(
                op, *(m.add(ELEMENTWISE[i % 8], m.add("Add", x, m.weight(8))) for i in range(count // 2)), **attributes
            )
        )

    return build


def fan_in_products(m, count):
    x = m.x()
    m.give(m.add("Concat", *(m.add("MatMul", x, m.weight(8, 8)) for _ in range(count)), axis=1))


def tree(m, count):
    """Adds up matmul results in a binary tree."""
    x = m.x()
    values = [m.add("MatMul", x, m.weight(8, 8)) for _ in range(max(2, count // 2))]
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [m.add("Add", a, b) for a, b in pairs] + values[len(values) & ~1 :]
    m.give(*values)


def inputs(m, count):
    value = m.x()
    for _ in range(count):
        value = m.add("Add", value, m.x())
    m.give(value)


def inputs_and_outputs(m, count):
    m.give(*(m.add("Relu", m.x()) for _ in range(count)))


def branches(m, count):
    x = m.x()
    for _ in range(max(1, count // 4)):
        m.give(m.add("Softmax", m.add("Relu", m.add("Add", m.add("MatMul", x, m.weight(8, 8)), m.weight(8)))))


def skips(m, count):
    """A U-Net: each value is read by the next layer, and by the layer that is as far from the end
    as the value is from the start."""
    values = [m.x()]
    for _ in range(count // 4):
        values.append(m.add("MatMul", values[-1], m.weight(8, 8)))
    last = values[-1]
    for earlier in reversed(values[:-1]):
        last = m.add("Add", m.add("MatMul", last, m.weight(8, 8)), earlier)
    m.give(last)


def body(m, name, inputs, nodes, outputs):
    return helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(n, kind, shape) for n, kind, shape in inputs],
        [helper.make_value_info(n, onnx.TypeProto()) for n in outputs],
    )


def ifs(m, value, i):
    """Adds one If after another, with the same condition and different branches."""
    then = body(m, f"t{i}", [], [helper.make_node("Relu", [value], [f"t{i}r"])], [f"t{i}r"])
    other = body(m, f"e{i}", [], [helper.make_node("Neg", [value], [f"e{i}r"])], [f"e{i}r"])
    return m.add("If", "c", then_branch=then, else_branch=other)


def with_condition(m):
    m.input([], BOOL, "c")
    return m.x()


def nested_ifs(m, count):
    """Adds one If after another, each nested ten deep."""
    value = with_condition(m)

    def nest(i, depth, value):
        name = f"i{i}_{depth}"
        inner, made = ([helper.make_node("Exp", [value], [f"{name}b"])], f"{name}b")
        if depth:
            inner, made = nest(i, depth - 1, value)
        then = body(m, f"{name}t", [], [*inner, helper.make_node("Relu", [made], [f"{name}r"])], [f"{name}r"])
        other = body(m, f"{name}e", [], [helper.make_node("Neg", [value], [f"{name}n"])], [f"{name}n"])
        return [helper.make_node("If", ["c"], [name], then_branch=then, else_branch=other)], name

    for i in range(max(1, count // 30)):
        nodes, value = nest(i, 9, value)
        m.nodes += nodes
    m.give(value)


def loops(m, value, i):
    b = body(
        m,
        f"b{i}",
        [(f"i{i}", INT64, []), (f"c{i}", BOOL, []), (f"s{i}", FLOAT, [m.rows, 8])],
        [
            helper.make_node("Identity", [f"c{i}"], [f"d{i}"]),
            helper.make_node("MatMul", [f"s{i}", m.weight(8, 8)], [f"p{i}"]),
            helper.make_node("Tanh", [f"p{i}"], [f"r{i}"]),
        ],
        [f"d{i}", f"r{i}"],
    )
    return m.add("Loop", m.ints(5), "", value, body=b)


def scans(m, value, i):
    b = body(
        m,
        f"b{i}",
        [(f"s{i}", FLOAT, [8]), (f"e{i}", FLOAT, [8])],
        [helper.make_node("Add", [f"s{i}", f"e{i}"], [f"a{i}"]), helper.make_node("Tanh", [f"a{i}"], [f"r{i}"])],
        [f"a{i}", f"r{i}"],
    )
    m.nodes.append(helper.make_node("Scan", [m.weight(8), value], [f"z{i}", f"y{i}"], num_scan_inputs=1, body=b))
    return f"y{i}"


def large_body(m, count):
    """Adds one Loop whose body contains all nodes."""
    value = m.x()
    nodes, last = [helper.make_node("Identity", ["lc"], ["ld"])], "ls"
    for i in range(count // 2):
        nodes += [
            helper.make_node("MatMul", [last, m.weight(8, 8)], [f"p{i}"]),
            helper.make_node("Tanh", [f"p{i}"], [f"r{i}"]),
        ]
        last = f"r{i}"
    inputs = [("li", INT64, []), ("lc", BOOL, []), ("ls", FLOAT, [m.rows, 8])]
    m.give(m.add("Loop", m.ints(5), "", value, body=body(m, "b", inputs, nodes, ["ld", last])))


def words(m):
    return m.input([1, m.rows if m.open else 6, 16])


def heads(m, value):
    return m.add("Transpose", m.add("Reshape", value, m.ints(0, 0, 2, 8)), perm=[0, 2, 1, 3])


def layer_norm(m, value):
    return m.add("LayerNormalization", value, m.weight(16), m.weight(16), axis=-1)


def attention_layer(m, value, i):
    q, k, v = (heads(m, m.add("Add", m.add("MatMul", value, m.weight(16, 16)), m.weight(16))) for _ in range(3))
    scores = m.add("Mul", m.add("MatMul", q, m.add("Transpose", k, perm=[0, 1, 3, 2])), m.constant(np.float32(0.3)))
    made = m.add("Transpose", m.add("MatMul", m.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    made = m.add("MatMul", m.add("Reshape", made, m.ints(0, 0, 16)), m.weight(16, 16))
    value = layer_norm(m, m.add("Add", made, value))
    made = m.add("Relu", m.add("MatMul", value, m.weight(16, 32)))
    return layer_norm(m, m.add("Add", m.add("MatMul", made, m.weight(32, 16)), value))


def norms(m, value, i):
    mean = m.add("ReduceMean", value, m.ints(-1))
    off = m.add("Sub", value, mean)
    square = m.add("ReduceMean", m.add("Mul", off, off), m.ints(-1))
    return m.add("Div", off, m.add("Sqrt", m.add("Add", square, m.constant(np.float32(1e-5)))))


def views(m, value, i):
    """Adds reshapes and transposes that do not cancel."""
    value = m.add("Transpose", m.add("Reshape", value, m.ints(-1, 4, 2)), perm=[1, 0, 2] if i % 2 else [0, 2, 1])
    return m.add("Reshape", value, m.ints(-1, 8))


def views_between(m, value, i):
    return m.add("Relu", views(m, m.add("Add", value, m.weight(8)), i))


def shape_arithmetic(m, value, i):
    """Reshapes to sizes that other nodes compute, as torch.onnx exports `view`."""
    size = m.add("Gather", m.add("Shape", value), m.constant(np.int64(0)))
    target = m.add("Concat", m.add("Unsqueeze", size, m.ints(0)), m.ints(4), m.ints(-1), axis=0)
    value = m.add("Relu", m.add("Reshape", value, target))
    size = m.add("Mul", m.add("Gather", m.add("Shape", value), m.constant(np.int64(2))), m.constant(np.int64(4)))
    return m.add("Reshape", value, m.add("Concat", m.ints(-1), m.add("Unsqueeze", size, m.ints(0)), axis=0))


def split_many(m, count):
    """Adds a Split into many parts, and one op for each part."""
    parts = m.add("Split", m.input([m.rows, count]), axis=1, num_outputs=count // 2, results=count // 2)
    m.give(m.add("Concat", *(m.add(ELEMENTWISE[i % 8], p) for i, p in enumerate(parts)), axis=1))


def gather_many(m, count):
    x = m.input([50, m.rows if m.open else 8])
    m.give(*(m.add("Gather", x, m.constant(np.array([i % 50, (3 * i) % 50], np.int64))) for i in range(count)))


def quantized(m, value, zero=128):
    scale, zero = m.constant(np.float32(0.05)), m.constant(np.uint8(zero))
    return m.add("DequantizeLinear", m.add("QuantizeLinear", value, scale, zero), scale, zero)


def quantized_weight(m, *shape):
    codes = m.constant(m.random.integers(-127, 128, shape).astype(np.int8))
    return m.add("DequantizeLinear", codes, m.constant(np.float32(0.01)), m.constant(np.int8(0)))


def qdq(m, value, i):
    return quantized(m, value)


def qdq_products(m, value, i):
    return m.add("Relu", m.add("MatMul", quantized(m, value), quantized_weight(m, 8, 8)))


def qdq_convolutions(m, value, i):
    return m.add("Relu", m.add("Conv", quantized(m, value), quantized_weight(m, 8, 8, 3, 3), pads=[1] * 4))


def reductions(m, value, i):
    op = ["ReduceMax", "ReduceSum", "ReduceMean", "ReduceL2"][i % 4]
    return m.add("Sub", value, m.add(op, value, m.ints(i // 4 % 2)))


def softmaxes(m, value, i):
    return m.add("Softmax", value, axis=i % 2)


def where(m, value, i):
    return m.add("Where", m.add("Less", value, m.weight(8)), m.add("Neg", value), value)


def casts(m, value, i):
    kind = [TensorProto.FLOAT16, TensorProto.INT32, TensorProto.DOUBLE, TensorProto.FLOAT][i % 4]
    return m.add("Cast", value, to=kind)


def pads_and_cuts(m, value, i):
    value = m.add("Pad", value, m.ints(0, 1, 0, 1))
    return m.add("Slice", value, m.ints(0), m.ints(8), m.ints(1))


def tops(m, value, i):
    return m.add("TopK", value, m.ints(8), axis=1, results=2)[0]


def running_sums(m, value, i):
    return m.add("CumSum", value, m.constant(np.int64(i % 2)))


def resizes(m, value, i):
    value = m.add(
        "Resize", value, "", m.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest" if i % 2 else "linear"
    )
    return m.add("AveragePool", value, kernel_shape=[2, 2], strides=[2, 2])


def transposed_convolutions(m, value, i):
    value = m.add("ConvTranspose", value, m.weight(8, 8, 2, 2), strides=[2, 2])
    return m.add("Relu", m.add("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2]))


def recurrent(op, gates):
    def each(m, value, i):
        r = m.add(
            op,
            value,
            m.weight(1, 8 * gates, 8),
            m.weight(1, 8 * gates, 8),
            m.weight(1, 16 * gates),
            hidden_size=8,
            results=2,
        )
        return m.add("Squeeze", r[0], m.ints(1))

    return chained(each, 2, lambda m: m.input([5, m.rows if m.open else 1, 8]))


def einsums(m, value, i):
    return m.add("Einsum", value, m.weight(8, 8), equation="ab,bc->ac" if i % 2 else "ab,cb->ac")


def batched_products(m, value, i):
    """Batched matmuls in which both operands are computed."""
    return m.add("Softmax", m.add("MatMul", value, m.add("MatMul", m.add("Transpose", value, perm=[1, 0]), value)))


def expands(m, value, i):
    wide = m.add("Expand", m.add("Unsqueeze", value, m.ints(1)), m.ints(1, 3, 1))
    return m.add("ReduceMax", wide, m.ints(1), keepdims=0)


def tiles(m, value, i):
    return m.add(
        "ReduceSum", m.add("Reshape", m.add("Tile", value, m.ints(1, 3)), m.ints(-1, 3, 8)), m.ints(1), keepdims=0
    )


def functions(m, count):
    """Defines a function that the model calls many times, and that calls another function."""
    imports = [helper.make_opsetid("", 19), helper.make_opsetid("own", 1)]
    inner = [helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])]
    outer = [helper.make_node("inner", ["a"], ["t"], domain="own"), helper.make_node("Add", ["t", "a"], ["b"])]
    m.functions = [
        helper.make_function("own", name, ["a"], ["b"], nodes, imports)
        for name, nodes in (("inner", inner), ("outer", outer))
    ]
    value = m.x()
    for _ in range(max(1, count // 3)):
        value = m.add("outer", value, domain="own")
    m.give(value)


def sequences(m, count):
    """A sequence to which each node appends a tensor, and a concat of all its elements."""
    x, kept = m.x(), m.add("SequenceEmpty")
    for i in range(max(1, count // 2)):
        kept = m.add("SequenceInsert", kept, m.add(ELEMENTWISE[i % 8], x))
    m.give(m.add("ConcatFromSequence", kept, axis=0))


def folded(m, count):
    """Builds a graph that folds to a constant."""
    value = m.weight(4, 8)
    for i in range(count):
        value = m.add(ELEMENTWISE[i % 8] if i % 2 else "Add", value, *([] if i % 2 else [m.weight(8)]))
    m.give(m.add("Add", m.x(), value))


def doubled(m, value, i):
    """Adds an op that reads the previous value twice, so that the number of paths is exponential in
    the number of nodes."""
    return m.add("Add", m.add("Tanh", value), m.add("MatMul", value, m.weight(8, 8)))


def doubled_views(m, value, i):
    a, b = m.add("Transpose", value, perm=[1, 0]), m.add("Reshape", value, m.ints(8, 8))
    return m.add("Sub", a, b)


def grid(m, count):
    """Adds in rows and columns: each value is the sum of the values above and to the left."""
    side, x = max(2, round(count**0.5)), m.x()
    above = [x] * side
    for _ in range(side):
        left = x
        for j in range(side):
            left = above[j] = m.add("Add", above[j], left)
    m.give(left)


def random_op(m, kinds, a, b):
    """Adds a node with a random op of the list `kinds`, with the operands `a` and `b`."""
    kind = kinds[m.random.integers(0, len(kinds))]
    if kind == "MatMul":
        return m.add("MatMul", a, m.weight(8, 8))
    if kind == "Softmax":
        return m.add("Softmax", a, axis=1)
    if kind == "ReduceMax":
        return m.add("Sub", a, m.add("ReduceMax", b, m.ints(1)))
    if kind == "Where":
        return m.add("Where", m.add("Less", a, b), a, b)
    return m.add("Add", a, b) if kind == "Add" else m.add(ELEMENTWISE[m.random.integers(0, 5)], a)


def random_graph(m, count):
    """Nodes with random ops, whose operands are random earlier values."""
    values = [m.x()]
    for _ in range(count):
        a, b = (values[m.random.integers(0, len(values))] for _ in range(2))
        values.append(random_op(m, ("MatMul", "Softmax", "ReduceMax", "elementwise", "Where", "Add"), a, b))
    m.give(values[-1], *values[-10:-1])


def random_near(m, count):
    """Nodes with random ops, whose operands are among the last few values."""
    values = [m.x()]
    for _ in range(count):
        a, b = (values[-int(m.random.integers(1, min(6, len(values)) + 1))] for _ in range(2))
        values.append(random_op(m, ("MatMul", "Softmax", "elementwise", "Add"), a, b))
    m.give(values[-1])


FAMILIES = {
    "elementwise": chained(elementwise),
    "products": chained(products, 2),
    "residual_blocks": chained(residual_block, 5, picture),
    "inverted_blocks": chained(inverted_block, 11, picture),
    "dense_blocks": dense_blocks,
    "split_network": split_network,
    "unrolled": unrolled,
    "unrolled_columns": unrolled_columns,
    "joined_rows": joined_rows,
    "sliced_again": sliced_again,
    "sliced_products": sliced_products,
    "cache_of_rows": cache_of_rows,
    "written_rows": written_rows,
    "fan_out": fan_out,
    "fan_out_products": fan_out_products,
    "fan_in_sum": fan_in("Sum"),
    "fan_in_concat": fan_in("Concat", axis=1),
    "fan_in_products": fan_in_products,
    "tree": tree,
    "inputs": inputs,
    "inputs_and_outputs": inputs_and_outputs,
    "branches": branches,
    "skips": skips,
    "ifs": chained(ifs, 3, with_condition),
    "nested_ifs": nested_ifs,
    "loops": chained(loops, 4),
    "scans": chained(scans, 3),
    "large_body": large_body,
    "attention": chained(attention_layer, 28, words),
    "norms": chained(norms, 7),
    "views": chained(views, 3),
    "views_between": chained(views_between, 5),
    "shape_arithmetic": chained(shape_arithmetic, 11),
    "split_many": split_many,
    "gather_many": gather_many,
    "qdq": chained(qdq, 2),
    "qdq_products": chained(qdq_products, 5),
    "qdq_convolutions": chained(qdq_convolutions, 5, picture),
    "reductions": chained(reductions, 2),
    "softmaxes": chained(softmaxes),
    "where": chained(where, 3),
    "casts": chained(casts),
    "pads_and_cuts": chained(pads_and_cuts, 2),
    "tops": chained(tops),
    "running_sums": chained(running_sums),
    "resizes": chained(resizes, 2, picture),
    "transposed_convolutions": chained(transposed_convolutions, 3, picture),
    "lstm": recurrent("LSTM", 4),
    "gru": recurrent("GRU", 3),
    "einsums": chained(einsums),
    "batched_products": chained(batched_products, 4),
    "expands": chained(expands, 3),
    "tiles": chained(tiles, 3),
    "functions": functions,
    "sequences": sequences,
    "folded": folded,
    "doubled": chained(doubled, 3),
    "doubled_views": chained(doubled_views, 3, lambda m: m.input([8, 8])),
    "grid": grid,
    "random_graph": random_graph,
    "random_near": random_near,
}


def model(family, count, is_open=False):
    m = Model(is_open)
    FAMILIES[family](m, count)
    return m.proto()
