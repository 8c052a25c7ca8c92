# SPDX-License-Identifier: Apache-2.0
"""Reduces a model by delta debugging while it shows the same finding."""

import copy
import time

import numpy as np
import onnx
from compare import REFUSED, WRONG, Judge
from generate import Case
from onnx import helper, numpy_helper
from oracle import Oracle, Unknown, captured, evaluate

SECONDS = 240


def needed(model):
    """Removes nodes, inputs and constants that no output needs."""
    graph = model.graph
    names, nodes = {o.name for o in graph.output}, []
    for node in reversed(graph.node):
        if names & set(node.output):
            nodes.append(node)
            names |= set(node.input) | set(captured(node))
    for field, kept in (
        (graph.node, nodes[::-1]),
        (graph.input, [i for i in graph.input if i.name in names]),
        (graph.initializer, [t for t in graph.initializer if t.name in names]),
    ):
        kept = [copy.deepcopy(x) for x in kept]
        del field[:]
        field.extend(kept)
    return model


def input_of(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def output_of(name, array):
    return helper.make_value_info(
        name, helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), None)
    )


class Reducer:
    def __init__(self, case, target, seconds=SECONDS):
        self.oracle = Oracle()
        self.judge = Judge(self.oracle, target)
        self.end = time.monotonic() + seconds
        self.tried = set()
        self.case = case
        self.verdict = self.judge.judge(case)
        if self.verdict.kind not in WRONG + REFUSED:
            return
        # One set of inputs is enough: the one with which the finding appears.
        if len(case.feeds) > 1 and self.verdict.kind.startswith("wrong"):
            self.case = Case(case.name, case.model, [case.feeds[self.verdict.binding]])
            self.verdict = self.judge.judge(self.case)

    @property
    def model(self):
        return self.case.model

    @property
    def feed(self):
        return self.case.feeds[0]

    def values(self):
        return evaluate(self.oracle, self.model, self.feed)

    def attempt(self, model, feeds=None):
        """Replaces the current model by `model` if that shows the same finding."""
        feeds = self.case.feeds if feeds is None else feeds
        model = needed(model)
        names = {i.name for i in model.graph.input}
        feeds = [{k: v for k, v in feed.items() if k in names} for feed in feeds]
        key = model.SerializeToString() + b"".join(v.tobytes() for feed in feeds for v in feed.values())
        if key in self.tried or time.monotonic() > self.end or not model.graph.node:
            return False
        self.tried.add(key)
        try:
            case = Case(self.case.name, model, feeds)
            verdict = self.judge.judge(case)
        except Exception:  # no reference can evaluate the model
            return False
        if not verdict.like(self.verdict):
            return False
        self.case, self.verdict = case, verdict
        return True

    def changed(self):
        return copy.deepcopy(self.model)

    # Each of the following steps reduces the model in one way, and returns whether it succeeded.

    def one_output(self):
        if len(self.model.graph.output) == 1:
            return False
        for name in [self.verdict.output] + [o.name for o in self.model.graph.output]:
            model = self.changed()
            kept = [o for o in model.graph.output if o.name == name]
            if kept:
                del model.graph.output[:]
                model.graph.output.extend(kept)
                if self.attempt(model):
                    return True
        return self.fewer_outputs()

    def fewer_outputs(self):
        for i in range(len(self.model.graph.output)):
            model = self.changed()
            del model.graph.output[i]
            if self.attempt(model):
                return True
        return False

    def earlier_output(self):
        """Replaces an output by a value from which it is computed."""
        values = self.values()
        for i, output in enumerate(self.model.graph.output):
            for node in self.model.graph.node:
                for name in node.output:
                    if (
                        name in values
                        and isinstance(values[name], np.ndarray)
                        and name != output.name
                        and output.name not in node.output
                    ):
                        model = self.changed()
                        model.graph.output[i].CopyFrom(output_of(name, values[name]))
                        if self.attempt(model):
                            return True
        return False

    def cut(self):
        """Removes a node and makes its results inputs."""
        values, outputs = self.values(), {o.name for o in self.model.graph.output}
        for node in reversed(self.model.graph.node):
            if outputs & set(node.output) or not all(isinstance(values.get(n), np.ndarray) for n in node.output if n):
                continue
            model = self.changed()
            kept = [n for n in model.graph.node if list(n.output) != list(node.output)]
            del model.graph.node[:]
            model.graph.node.extend(kept)
            model.graph.input.extend(input_of(n, values[n]) for n in node.output if n)
            feeds = [{**self.feed, **{n: values[n] for n in node.output if n}}]
            if len(self.case.feeds) == 1 and self.attempt(model, feeds):
                return True
        return False

    def bypass(self):
        """Removes a node. The ops that read its result read one of its operands instead of it."""
        values = self.values()
        for node in reversed(self.model.graph.node):
            for name in dict.fromkeys(node.input):
                a, b = values.get(name), values.get(node.output[0])
                if (
                    not isinstance(a, np.ndarray)
                    or not isinstance(b, np.ndarray)
                    or a.shape != b.shape
                    or a.dtype != b.dtype
                ):
                    continue
                model = self.changed()
                for other in model.graph.node:
                    for i, operand in enumerate(other.input):
                        if operand == node.output[0]:
                            other.input[i] = name
                if node.output[0] not in [o.name for o in model.graph.output] and self.attempt(model):
                    return True
        return False

    def no_symbols(self):
        if not any(d.dim_param for i in self.model.graph.input for d in i.type.tensor_type.shape.dim):
            return False
        model = self.changed()
        for info in model.graph.input:
            info.CopyFrom(input_of(info.name, self.feed[info.name]))
        return len(self.case.feeds) == 1 and self.attempt(model)

    def smaller_dims(self):
        sizes = {d for v in self.feed.values() for d in v.shape}
        sizes |= {d for t in self.model.graph.initializer for d in t.dims}
        for size in sorted(sizes, reverse=True):
            for other in sorted({1, 2, 3, size // 2, size - 1} - {0}):
                if other < size and self.resized(size, other):
                    return True
        return False

    def resized(self, size, other):
        """Changes all dims of one size to another size. Also changes numbers in the model that may
        represent that size."""
        if len(self.case.feeds) > 1:
            return False

        def cut(array):
            return np.ascontiguousarray(
                array[tuple(slice(0, other) if d == size else slice(None) for d in array.shape)]
            )

        model, feeds = self.changed(), {k: cut(v) if v.ndim else v for k, v in self.feed.items()}
        for tensor in model.graph.initializer:
            array = numpy_helper.to_array(tensor)
            array = cut(array) if array.ndim else array
            if array.dtype == np.int64 and array.size < 9:
                array = np.where(array == size, other, array)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        for info in model.graph.input:
            for dim, length in zip(info.type.tensor_type.shape.dim, feeds[info.name].shape):
                if dim.HasField("dim_value"):
                    dim.dim_value = length
        for node in model.graph.node:
            for attribute in node.attribute:
                if attribute.name in ("split", "ends"):
                    attribute.ints[:] = [other if x == size else x for x in attribute.ints]
        return self.attempt(model, [feeds])

    def fewer_dims(self):
        """Removes a dim of 1 from one input or from all inputs."""
        if len(self.case.feeds) > 1:
            return False
        names = [i.name for i in self.model.graph.input]
        for chosen in [names, *([n] for n in names)]:
            for axis in range(max((self.feed[n].ndim for n in chosen), default=0)):
                feeds = dict(self.feed)
                for name in chosen:
                    if axis < feeds[name].ndim and feeds[name].shape[axis] == 1:
                        feeds[name] = feeds[name].squeeze(axis)
                model = self.changed()
                for info in model.graph.input:
                    if feeds[info.name].ndim != self.feed[info.name].ndim:
                        info.CopyFrom(input_of(info.name, feeds[info.name]))
                if self.attempt(model, [feeds]):
                    return True
        return False

    def fewer_attributes(self):
        for i, node in enumerate(self.model.graph.node):
            for j in range(len(node.attribute)):
                model = self.changed()
                del model.graph.node[i].attribute[j]
                if self.attempt(model):
                    return True
        return False

    def plain_numbers(self):
        """Fills inputs with 1, 2, 3, ..., so that results show which elements they come from."""
        if len(self.case.feeds) > 1:
            return False
        for name, value in self.feed.items():
            if value.dtype == np.float32 and value.size > 1:
                numbers = np.arange(1, value.size + 1, dtype=np.float32).reshape(value.shape)
                if not np.array_equal(numbers, value) and self.attempt(self.changed(), [{**self.feed, name: numbers}]):
                    return True
        return False

    def reduce(self):
        steps = (
            self.one_output,
            self.fewer_outputs,
            self.no_symbols,
            self.earlier_output,
            self.cut,
            self.bypass,
            self.fewer_attributes,
            self.smaller_dims,
            self.fewer_dims,
            self.plain_numbers,
        )
        progress = True
        while progress and time.monotonic() < self.end:
            progress = False
            for step in steps:
                try:
                    while time.monotonic() < self.end and step():
                        progress = True
                except Unknown:
                    continue
        return self.case


def report(case, target, say=print):
    """Reduces a case, prints the model as ONNX text with its inputs, and saves both as files."""
    from random_graphs import keep

    reducer = Reducer(case, target)
    if reducer.verdict.kind not in WRONG + REFUSED:
        say(f"{case.name} ({target}): {reducer.verdict.kind} {reducer.verdict.text}")
        return 0
    case = reducer.reduce()
    say(f"{case.name} ({target}): {reducer.verdict.kind}, {reducer.verdict.text}")
    say(onnx.printer.to_text(case.model))
    for name, value in case.feeds[0].items():
        numbers = np.array2string(value, separator=", ", threshold=64)
        say(f"{name} = {value.dtype}{list(value.shape)} {numbers}")
    say(f"kept as {keep(case, 'build/random', '-reduced')}")
    return 1
