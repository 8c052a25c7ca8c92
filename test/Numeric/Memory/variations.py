# SPDX-License-Identifier: Apache-2.0
"""Models of one node, made from ONNX's own cases: dims become symbols, and runs give them sizes and values that do not fit.

    python test/Numeric/Memory/variations.py [--only PATTERN] [--seconds N] [--shard I/N] [--each RUNS]

Each model runs under guard pages (guarded.py), with every operand's dims once too long, too short, 0, 1 and huge, and with indices
and sizes out of range; onnxruntime runs the same. It prints what must not be: a crash, a run that does not end, memory read before
it is written, an answer where onnxruntime refuses, and another answer than its.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import resource
import signal
import sys
import tempfile
import time
import warnings

import hewn
import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

sys.path += [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]
import guarded
import sessions

RANDOM = (
    "Bernoulli",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Multinomial",
    "Dropout",
)
SECONDS = 20  # that a run may take


def cases():
    """Names of cases whose inputs and outputs are plain tensors, one node each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in load_model_tests(kind="node"):
            graph = case.model.graph
            values = [*graph.input, *graph.output]
            plain = all(v.type.HasField("tensor_type") for v in values) and graph.input and case.data_sets
            types = {v.type.tensor_type.elem_type for v in values if plain}
            if plain and types <= {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13} and "_expanded" not in case.name:
                yield case


def symbolic(model, which):
    """The model with these dims of inputs (input, dim) as symbols, one each, and outputs of any shape."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for i, value in enumerate(model.graph.input):
        shape = value.type.tensor_type.shape
        for d, dim in enumerate(shape.dim):
            if (i, d) in which:
                dim.dim_param = f"i{i}d{d}"
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model


def forms(arrays):
    """Which dims are symbols: as many as may be. A list of sets, each tried where none of those before it can be compiled."""
    every = [(i, d) for i, array in enumerate(arrays) for d in range(array.ndim)]
    lists = {i for i, array in enumerate(arrays) if array.ndim == 1 and array.dtype.kind in "iu"}
    data = [(i, d) for i, d in every if i not in lists]
    yield every
    yield data
    yield [(i, d) for i, d in every if d < arrays[i].ndim - 1]
    yield [(i, d) for i, d in data if d < arrays[i].ndim - 1]
    yield [(i, d) for i, d in data if d == 0]


def resized(array, shape):
    """The array's elements, again and again, in another shape."""
    if 0 in shape or array.size == 0:
        return np.zeros(shape, array.dtype) if np.prod(shape, dtype=object) < 1 << 20 else None
    return np.resize(array, shape)


def sizes(array, d):
    old = array.shape[d]
    yield from (s for s in (old + 1, 2 * old + 3, old - 1, 0, 1) if s != old and s >= 0)


def variations(arrays, which):
    """(what, arrays) for every change of one input, the least of them first."""
    yield "as it is", arrays
    for i, array in enumerate(arrays):
        change = lambda what, new: (what, [*arrays[:i], new, *arrays[i + 1 :]])  # noqa: B023, E731
        for d in (d for j, d in which if j == i):
            for size in sizes(array, d):
                yield change(
                    f"dim {d} of input {i} is {size}", resized(array, (*array.shape[:d], size, *array.shape[d + 1 :]))
                )
            if (i, (d or array.ndim) - 1) in which and array.ndim > 1:  # beside a dim of 0 a dim may be anything
                shape = list(array.shape)
                shape[d], shape[d - 1] = (1 << 62) // array.nbytes if array.nbytes else 1 << 58, 0
                yield change(f"dim {d} of input {i} is huge", np.zeros(shape, array.dtype))
        for value in odd_values(array):
            new = array.copy()
            new.reshape(-1)[-1] = value
            yield change(f"input {i} ends with {value}", new)
    for size in (0, 1, 2):
        several = [
            resized(a, [size if (i, d) in which else n for d, n in enumerate(a.shape)]) for i, a in enumerate(arrays)
        ]
        yield f"all dims are {size}", several


def odd_values(array):
    if array.size == 0 or array.dtype == np.bool_:
        return []
    if array.dtype.kind in "iu":
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        return [v for v in (-1, 0, 7, -100, 1 << 31, 1 << 62, low, high) if low <= v <= high]
    return [np.nan, np.inf, -1e30, -3.0]


class Judge:
    """onnxruntime without its optimizations; `None` where it cannot run the model at all, or not exactly."""

    def __init__(self, model):
        try:
            self.session = sessions.plain_session(model)
        except Exception:
            self.session = None

    def run(self, feeds):
        """The outputs, or why there are none."""
        try:
            return self.session.run(None, feeds)
        except Exception as problem:
            return str(problem)


def same(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    with np.errstate(all="ignore"):
        largest = np.abs(want[np.isfinite(want)]).max(initial=0)
        return np.allclose(got, want, rtol=1e-2, atol=1e-3 * max(1, float(largest)), equal_nan=True)


def check_run(model, judge, arrays, names, random):
    """What is wrong with a run, as (kind, text); None: nothing."""
    results = []
    for at_end, poison in ((True, 0xA5), (False, 0x3C)):
        try:
            results.append(model.run(arrays, at_end, poison))
        except guarded.Refused as problem:
            results.append(problem)
    if any(isinstance(r, guarded.Refused) for r in results):
        return (
            None if all(isinstance(r, guarded.Refused) for r in results) else ("unsteady", "one of two runs is refused")
        )
    if not random and not all(a.tobytes() == b.tobytes() for a, b in zip(*results)):
        return "unwritten", "the outputs depend on what memory held before"
    huge = any(max(a.shape, default=0) > 1 << 40 for a in arrays)
    want = judge.run(dict(zip(names, arrays))) if judge.session and not huge else None
    if isinstance(want, str):
        return "answered", want.splitlines()[0]
    if want is not None and not random and not all(same(g, w) for g, w in zip(results[0], want)):
        return "differs", f"{[g.shape for g in results[0]]}, not {[w.shape for w in want]}"
    return None


def work(case, say, most):
    """Runs a case's variations; `say` hears of each run before it begins, and of its outcome."""
    graph = case.model.graph
    arrays = [np.array(a, order="C") for a in case.data_sets[0][0]]
    if any(a.dtype.kind not in "biuf" for a in arrays):
        return
    names = [v.name for v in graph.input]
    random = any(node.op_type in RANDOM for node in graph.node)
    with tempfile.TemporaryDirectory() as folder:
        for which in forms(arrays):
            model = symbolic(case.model, which)
            say({"at": f"compile {len(which)}"})
            try:
                library = guarded.compile_apart(model, folder)
                shapes = [(t.dtype, len(t.shape)) for t in hewn.load(library).outputs]
            except hewn.CompileError:
                continue
            compiled, judge = guarded.Guarded(library, shapes), Judge(model)
            todo = list(variations(arrays, which))
            for number, (what, changed) in enumerate(todo):
                if any(a is None for a in changed) or (
                    most and number * most // len(todo) == (number - 1) * most // len(todo)
                ):
                    continue
                say({"at": what})
                signal.alarm(SECONDS)
                wrong = check_run(compiled, judge, changed, names, random)
                signal.alarm(0)
                say({"done": what, "wrong": wrong})
            break


def in_child(case, most):
    """(runs, [(kind, where, text)]) of a case, in a process of its own, which may crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with os.fdopen(writing, "w") as out:
            try:
                work(case, lambda message: print(json.dumps(message), file=out, flush=True), most)
            except BaseException as problem:
                print(json.dumps({"broke": f"{type(problem).__name__}: {problem}"}), file=out, flush=True)
        os._exit(0)
    os.close(writing)
    runs, wrong, at = 0, [], "start"
    with os.fdopen(reading) as lines:
        for line in map(json.loads, lines):
            at = line.get("at", at)
            runs += "done" in line
            if line.get("wrong"):
                wrong.append((line["wrong"][0], line["done"], line["wrong"][1]))
            if "broke" in line:
                wrong.append(("broke", at, line["broke"]))
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        wrong.append(("hangs" if number == signal.SIGALRM else "crashes", at, signal.Signals(number).name))
    return runs, wrong


def reads_beyond(folder, without_requirements):
    """Whether a product of operands that do not fit crashes, where nobody looks at their dims (or somebody does)."""
    from onnx import helper

    values = [helper.make_tensor_value_info(n, 1, dims) for n, dims in (("x", [2, "n"]), ("w", ["m", 3]))]
    made = [helper.make_tensor_value_info("y", 1, None)]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", values, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    lose = lambda text: re.sub(r"graph\.requires = \[\[.*?\]\], ", "", text) if without_requirements else text  # noqa: E731
    library = guarded.compile_apart(model, folder, lose)
    child = os.fork()
    if child == 0:
        try:
            guarded.Guarded(library, [(np.dtype("f4"), 2)]).run([np.ones((2, 4096), "f4"), np.ones((2, 3), "f4")])
        except guarded.Refused:
            os._exit(0)
        os._exit(1)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV


# What is no matter of memory: onnxruntime refuses and hewn answers, or they answer otherwise.
JUDGED = ("answered", "differs")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--each", type=int, default=0, help="runs of a model at most; 0: all")
    given = parser.parse_args()
    first, step = map(int, given.shard.split("/"))
    start, total, found = time.monotonic(), 0, collections.Counter()
    chosen = [case for case in cases() if re.search(given.only, case.name)][first::step]
    for case in chosen:
        if time.monotonic() - start > given.seconds:
            break
        runs, wrong = in_child(case, given.each)
        total += runs
        for kind, where, text in wrong:
            found[kind] += 1
            print(f"{case.name}: {kind}: {where}: {text}", flush=True)
    print(f"{total} runs, {dict(found)}")
    return any(kind not in JUDGED for kind in found)


if __name__ == "__main__":
    sys.exit(main())
