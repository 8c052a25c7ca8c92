# SPDX-License-Identifier: Apache-2.0
"""A graph that is built node by node. Each node is evaluated when it is added, so that types,
shapes and magnitudes of all values are known."""

import dataclasses

import numpy as np
import onnx
import records
from onnx import helper
from oracle import Unknown
from records import BOOL, F16, FLOATS, I64, INTS

MOST_INPUTS = 14


class Reject(Exception):
    """Raised if the drawn node can't be added. The caller draws another one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """A named array of the graph. A dim's label names its symbol, or ('?...') marks a size that is
    unknown before the run."""

    name: str
    array: object
    labels: tuple

    dtype = property(lambda self: self.array.dtype)
    shape = property(lambda self: self.array.shape)
    rank = property(lambda self: self.array.ndim)
    size = property(lambda self: self.array.size)

    @property
    def dims(self):
        return tuple(zip(self.shape, self.labels))

    @property
    def static(self):
        return not any(self.labels)


def compatible(a, b):
    """Returns True if two dims broadcast for all sizes of their symbols."""
    return a == b or a == (1, None) or b == (1, None)


def filled(random, dtype, shape, low, high, whole):
    """Draws numbers of a type in a range. If `whole`, the numbers are multiples of 1/4, so that
    sums and products are exact."""
    if dtype == BOOL:
        return random.integers(0, 2, shape).astype(BOOL)
    if dtype in FLOATS:
        if whole:
            return np.asarray(random.integers(round(low * 4), round(high * 4) + 1, shape) / 4, dtype)
        return np.asarray(random.uniform(low, high, shape), dtype)
    if dtype in INTS:
        info = np.iinfo(dtype)
        low, high = max(info.min, round(low)), min(info.max, round(high))
        return random.integers(low, high, shape, dtype=dtype, endpoint=True)
    return np.asarray(
        random.integers(-1, 2, shape) if "uint" not in str(dtype) else random.integers(0, 2, shape)
    ).astype(dtype)


class Graph:
    """A graph under construction. All decisions come from `choice`, a random.Random, so that a seed
    determines the graph."""

    def __init__(self, choice, opset, oracle, sizes, symbols=(), parent=None, most=4096):
        self.choice, self.opset, self.oracle, self.parent, self.most = choice, opset, oracle, parent, most
        self.root = parent.root if parent else self
        self.sizes, self.symbols = sizes, dict(symbols)
        self.values, self.nodes, self.inputs, self.initializers = [], [], [], []
        self.ops = records.ops_of(opset)
        self.counts, self.whole, self.used, self.domains = {}, choice.random() < 0.5, set(), set()
        self.arrays = np.random.default_rng(choice.getrandbits(32))
        self.palette, self.any_view, self.rounding = (records.F32,), None, 0.0

    # Names and dims

    def name(self, stem):
        counts = self.root.counts
        counts[stem] = counts.get(stem, 0) + 1
        return f"{stem}{counts[stem]}"

    def dim(self):
        """Returns one of the graph's sizes, or one of its symbols."""
        if self.root.symbols and self.choice.random() < 0.5:
            label = self.choice.choice(sorted(self.root.symbols))
            return self.root.symbols[label], label
        return self.choice.choice(self.sizes), None

    def dims(self, low=1, high=4):
        found = [self.dim() for _ in range(self.choice.randint(low, high))]
        while np.prod([d for d, _ in found]) > self.most:
            found[self.choice.randrange(len(found))] = (self.choice.choice((1, 2)), None)
        return tuple(found)

    def visible(self):
        return self.values + (self.parent.visible() if self.parent else [])

    # Values that rules use as operands

    def constant(self, array, stem="c"):
        array = np.asarray(array)
        value = Value(self.name(stem), array, (None,) * array.ndim)
        self.initializers.append(helper.make_tensor(value.name, *tensor_parts(array)))
        return value

    def ints(self, values, run_time=0.15):
        """Returns int64 parameters of an op, as a constant or as an input. A list that is an input
        sometimes has dynamic length."""
        array = np.asarray(values, I64)
        if self.choice.random() < run_time:
            length = self.unknown() if array.ndim and self.choice.random() < 0.3 else None
            return self.input(array.dtype, tuple((d, length) for d in array.shape), lambda random, shape: array, "n")
        return self.constant(array, "n")

    def input(self, dtype, dims, make, stem="x"):
        root = self.root
        if len(root.inputs) >= MOST_INPUTS:
            raise Reject("inputs enough")
        value = Value(root.name(stem), make(root.arrays, tuple(d for d, _ in dims)), tuple(label for _, label in dims))
        root.inputs.append((value, make))
        root.values.append(value)
        return value

    def leaf(self, dtype, dims, low=-3, high=3, constant=0.3):
        """Returns a new input of the model or, if no dim is symbolic, sometimes a constant."""
        dtype, whole = np.dtype(dtype), self.root.whole
        if any(label and label.startswith("?") for _, label in dims):
            raise Reject("the dim is unknown before the run")
        if dtype not in FLOATS and dtype in INTS and dtype.kind == "u":
            low = max(low, 0)

        def make(random, shape):
            return filled(random, dtype, shape, low, high, whole)

        if not any(label for _, label in dims) and self.choice.random() < constant:
            return self.constant(make(self.arrays, tuple(d for d, _ in dims)))
        return self.input(dtype, tuple(dims), make)

    def find(self, test):
        """Returns a value that satisfies `test`, preferably a recent one, or None."""
        found = [v for v in self.visible() if not isinstance(v.array, list) and test(v)]
        if not found:
            return None
        found.sort(key=lambda v: v.name in self.root.used)
        return found[min(int(self.choice.expovariate(0.5)), len(found) - 1)]

    def value(self, types, low=0, high=5, test=lambda v: True):
        """Returns an operand: an existing value, a cast of one, or a new input or constant. It is
        sometimes read through a view."""
        types = [np.dtype(t) for t in types]
        roll, found = self.choice.random(), None
        if roll < 0.75:
            found = self.find(lambda v: v.dtype in types and low <= v.rank <= high and test(v))
        elif roll < 0.85:
            found = self.find(lambda v: low <= v.rank <= high and v.size and test(v))
            if found is not None and found.dtype not in types:
                found = self.cast(found, self.choice.choice(types))
        if found is None:
            palette = [t for t in types if t in self.root.palette] or types
            found = self.leaf(
                self.choice.choice(palette), self.dims(max(low, 1) if self.choice.random() < 0.9 else low, min(high, 4))
            )
        if not test(found):
            raise Reject("nothing that fits")
        if self.choice.random() < 0.15:
            seen = self.view(found)
            if low <= seen.rank <= high and test(seen):
                return seen
        return found

    def view(self, value):
        try:
            return self.root.any_view(self, value)
        except Reject:
            return value

    def cast(self, value, dtype):
        dtype = np.dtype(dtype)
        if value.dtype == dtype:
            return value
        if (value.dtype in FLOATS or value.dtype in records.STORED) and dtype in INTS:
            info, wide = np.iinfo(dtype), value.array.astype(np.float64)
            if value.size and (not np.isfinite(wide).all() or wide.min() < info.min + 1 or wide.max() > info.max / 2):
                raise Reject("out of the type's range")
        return self.node("Cast", [value], to=helper.np_dtype_to_tensor_dtype(dtype))

    def like(self, dims, dtype, low=-3, high=3):
        """Returns a value of exactly these dims and this type: an existing one, one computed from
        an existing one, or a new one."""
        dims = tuple(dims)
        if self.choice.random() < 0.75:
            found = self.find(lambda v: v.dims == dims and v.dtype == dtype)
            found = found if found is not None else self.find(lambda v: v.dims == dims and v.size)
            if found is not None:
                return self.cast(found, dtype)
            found = self.find(
                lambda v: v.dtype == dtype and v.rank > 1 and sorted(map(str, v.dims)) == sorted(map(str, dims))
            )
            if found is not None:
                free, perm = list(range(found.rank)), []
                for dim in dims:
                    perm.append(next(i for i in free if found.dims[i] == dim))
                    free.remove(perm[-1])
                return self.node("Transpose", [found], perm=perm)
        return self.leaf(dtype, dims, low, high)

    def broadcast(self, dims, dtype, low=-3, high=3):
        """Returns a value that broadcasts to these dims, or together with them. Prefers an existing
        one."""

        def fits(v):
            return v.dtype == dtype and all(compatible(a, b) for a, b in zip(v.dims[::-1], dims[::-1]))

        limit = self.most * 2
        found = self.find(
            lambda v: (
                fits(v)
                and np.prod(
                    [max(a, b) for a, b in zip(((1,) * 9 + v.shape)[-9:], ((1,) * 9 + tuple(d for d, _ in dims))[-9:])]
                )
                <= limit
            )
        )
        if found is not None and self.choice.random() < 0.7:
            return found
        if self.choice.random() < 0.3:
            return self.like(dims, dtype, low, high)
        kept = [dim if self.choice.random() < 0.6 else (1, None) for dim in dims]
        return self.leaf(
            dtype, kept[self.choice.randint(0, len(kept)) if self.choice.random() < 0.4 else 0 :], low, high
        )

    # Nodes

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        """Adds a node. Returns its result, or a list if `outputs` is not 1. Omitted optional inputs
        are None."""
        names = [v.name if v is not None else "" for v in inputs]
        while names and not names[-1]:
            names.pop()
        attributes = {k: v for k, v in attributes.items() if v is not None and v != []}
        proto = helper.make_node(op, names, [self.name("v") for _ in range(outputs)], domain=domain, **attributes)
        return self.add(proto, [v for v in inputs if v is not None], outputs)

    def add(self, proto, operands, outputs=1):
        self.allowed(proto, {v.name: v for v in operands})
        unique = list({v.name: v for v in operands}.values())
        try:
            arrays = self.oracle.run(proto, [v.name for v in unique], [v.array for v in unique], self.opset)
        except Unknown as problem:
            raise Reject(str(problem)) from None
        if any(a is None for a in arrays):
            raise Reject("an empty optional")
        for array in arrays:
            self.accept(array)
        labels = self.labels(proto, unique, arrays)
        results = [Value(n, a, d) for n, a, d in zip([n for n in proto.output if n], arrays, labels)]
        if proto.domain:
            self.root.domains.add(proto.domain)
        self.nodes.append(proto)
        self.values.extend(results)
        self.root.used.update(v.name for v in operands)
        return results[0] if outputs == 1 else results

    def allowed(self, proto, operands):
        """Rejects types that the op does not accept in this opset, because the references often
        accept more types."""
        op = self.ops.get(f"{proto.domain}.{proto.op_type}" if proto.domain else proto.op_type)
        if op is None:
            raise Reject(f"no {proto.op_type} in this opset")
        for i, name in enumerate(proto.input):
            if op is None or op.schema is None or not name or isinstance(operands[name].array, list):
                continue
            formal = op.schema.inputs[min(i, len(op.schema.inputs) - 1)]
            element = onnx.TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(operands[name].dtype)).lower()
            if not any(t[7:-1] == element or (t.startswith("optional") and element in t) for t in formal.types):
                raise Reject(f"{proto.op_type} takes no {element}")

    def accept(self, array):
        if isinstance(array, list):
            for item in array:
                self.accept(item)
            return
        if array.size > 4 * self.most:
            raise Reject("large")
        if array.ndim > 6:
            raise Reject("many dims")
        if array.dtype in FLOATS and array.size:
            wide = array.astype(np.float64)
            if not np.isfinite(wide).all() or np.abs(wide).max() > (2e3 if array.dtype == F16 else 1e6):
                raise Reject("not finite, or large numbers")

    def labels(self, proto, operands, arrays):
        """Returns the labels of the dims of a node's results, from ONNX's shape inference."""
        plain = [(None,) * a.ndim if not isinstance(a, list) else () for a in arrays]
        if all(v.static for v in operands if not isinstance(v.array, list)) and proto.op_type not in (
            "If",
            "Loop",
            "NonZero",
            "Unique",
            "Compress",
            "SequenceAt",
        ):
            return plain
        try:
            version = self.opset if not proto.domain else onnx.defs.onnx_opset_version()
            schema = onnx.defs.get_schema(proto.op_type, version, proto.domain)
            types = {v.name: type_of(v) for v in operands}
            data = {
                v.name: onnx.numpy_helper.from_array(v.array, v.name)
                for v in operands
                if v.name.startswith(("n", "c")) and self.is_constant(v)
            }
            told = onnx.shape_inference.infer_node_outputs(schema, proto, types, data)
        except Exception:
            told = {}
        found = []
        for name, none in zip([n for n in proto.output if n], plain):
            shape = (
                told[name].tensor_type.shape.dim if name in told and told[name].tensor_type.HasField("shape") else []
            )
            if len(shape) != len(none):
                found.append(tuple(self.unknown() for _ in none))
                continue
            found.append(tuple(d.dim_param or (None if d.HasField("dim_value") else self.unknown()) for d in shape))
        return found

    def is_constant(self, value):
        return any(t.name == value.name for t in self.initializers) or (
            self.parent is not None and self.parent.is_constant(value)
        )

    def unknown(self):
        return self.name("?")

    # Subgraphs

    def body(self):
        inner = Graph(self.choice, self.opset, self.oracle, self.sizes, parent=self, most=self.most)
        inner.palette = self.root.palette
        return inner

    def proto(self, outputs, inputs=(), name="body"):
        return helper.make_graph(
            self.nodes,
            name,
            [helper.make_value_info(v.name, type_of(v)) for v in inputs],
            [helper.make_value_info(v.name, type_of(v, shape=False)) for v in outputs],
            self.initializers,
        )


def tensor_parts(array):
    proto = onnx.numpy_helper.from_array(np.asarray(array))
    if proto.HasField("raw_data"):
        return proto.data_type, list(proto.dims), proto.raw_data, True
    return proto.data_type, list(proto.dims), np.asarray(array).reshape(-1), False


def type_of(value, shape=True):
    if isinstance(value.array, list):
        element = helper.np_dtype_to_tensor_dtype(value.array[0].dtype)
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(element, None))
    element = helper.np_dtype_to_tensor_dtype(value.dtype)
    dims = [label if label and not label.startswith("?") else None if label else size for size, label in value.dims]
    return helper.make_tensor_type_proto(element, dims if shape else None)
