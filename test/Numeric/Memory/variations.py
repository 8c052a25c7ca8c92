# SPDX-License-Identifier: Apache-2.0
"""Runs models of one node with invalid sizes and values, to find accesses out of bounds.

  python test/Numeric/Memory/variations.py [--only PATTERN] [--seconds N] [--shard I/N] [--each RUNS]

The models are ONNX's node tests with symbolic dims. Each model runs between guard pages
(guarded.py). In each run, one dim of one operand is too large, too small, 0, 1 or huge, or an index
or size is out of range. onnxruntime runs the same inputs. The script prints failures: a crash, a
run that does not end, a read of unwritten memory, a result where onnxruntime reports an error, and
a result that differs from both onnxruntime and ONNX's reference. judged.py lists the differences
where onnxruntime is wrong or ONNX defines no result."""

import argparse
import collections
import faulthandler
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
from onnx.reference import ReferenceEvaluator

sys.path += [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]
import guarded
import judged
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
SECONDS = 10  # limit of one run in seconds


def cases():
    """Yields the cases of one node whose inputs and outputs are plain tensors."""
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
    """Returns a copy of the model in which the dims in `which`, pairs of (input, dim), are distinct
    symbols. Outputs have no declared shape."""
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
    """Yields lists of dims to make symbolic, the largest list first. The caller tries the next list
    if the model does not compile with the previous one."""
    every = [(i, d) for i, array in enumerate(arrays) for d in range(array.ndim)]
    lists = {i for i, array in enumerate(arrays) if array.ndim == 1 and array.dtype.kind in "iu"}
    data = [(i, d) for i, d in every if i not in lists]
    yield every
    yield data
    yield [(i, d) for i, d in every if d < arrays[i].ndim - 1]
    yield [(i, d) for i, d in data if d < arrays[i].ndim - 1]
    yield [(i, d) for i, d in data if d == 0]


def resized(array, shape):
    """Returns an array of another shape, filled by repeating the elements of `array`."""
    if 0 in shape or array.size == 0:
        return zeros(shape, array.dtype) if np.prod(shape, dtype=object) < 1 << 20 else None
    return np.resize(array, shape)


def zeros(shape, dtype):
    """Returns zeros, or None if numpy does not support the shape, although it has no elements."""
    try:
        return np.zeros(shape, dtype)
    except ValueError:
        return None


def sizes(array, d):
    old = array.shape[d]
    yield from (s for s in (old + 1, 2 * old + 3, old - 1, 0, 1) if s != old and s >= 0)


def variations(arrays, which):
    """Yields (description, arrays) for every change of one input, the smallest changes first."""
    yield "as it is", arrays
    for i, array in enumerate(arrays):
        change = lambda what, new: (what, [*arrays[:i], new, *arrays[i + 1 :]])  # noqa: B023, E731
        for d in (d for j, d in which if j == i):
            for size in sizes(array, d):
                yield change(
                    f"dim {d} of input {i} is {size}", resized(array, (*array.shape[:d], size, *array.shape[d + 1 :]))
                )
            # Another dim of the array may be arbitrarily large if one dim is 0.
            if (i, (d or array.ndim) - 1) in which and array.ndim > 1:
                shape = list(array.shape)
                shape[d], shape[d - 1] = (1 << 62) // array.nbytes if array.nbytes else 1 << 58, 0
                yield change(f"dim {d} of input {i} is huge", zeros(shape, array.dtype))
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


class Judges:
    """Computes reference results by onnxruntime without optimizations and by ONNX's reference
    implementation. `models` are forms of the case's model with fewer and fewer symbolic dims. Takes
    the first one that onnxruntime accepts. Omits onnxruntime if it disagrees with ONNX on the
    original case, or fails on it in each form."""

    def __init__(self, case, models, names, random):
        self.names, self.model, self.session = names, models[0], None
        inputs, outputs = case.data_sets[0]
        for model in models:
            try:
                session = sessions.plain_session(model)
                got = session.run(None, dict(zip(names, map(np.asarray, inputs))))
            except Exception:
                continue
            if random or all(same(g, np.asarray(w)) for g, w in zip(got, outputs)):
                self.session = session
            return

    def onnxruntime(self, arrays):
        """Returns the outputs of onnxruntime, or its error message."""
        try:
            return self.session.run(None, dict(zip(self.names, arrays)))
        except Exception as problem:
            return str(problem)

    def reference(self, arrays):
        """Returns the outputs of ONNX's reference, or None."""
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return [np.asarray(v) for v in ReferenceEvaluator(self.model).run(None, dict(zip(self.names, arrays)))]
        except Exception:
            return None


def same(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    with np.errstate(all="ignore"):
        largest = np.abs(want[np.isfinite(want)]).max(initial=0)
        return np.allclose(got, want, rtol=1e-2, atol=1e-3 * max(1, float(largest)), equal_nan=True)


def is_huge(arrays):
    return any(max(a.shape, default=0) > 1 << 40 for a in arrays)


def check_memory(model, arrays, random):
    """Runs the model between guard pages. Returns the outputs, None if hewn rejects the run, or a
    finding as (kind, text)."""
    results = []
    for at_end, poison in ((True, 0xA5), (False, 0x3C)):
        try:
            results.append(model.run(arrays, at_end, poison))
        except guarded.Refused as problem:
            results.append(problem)
    refused = [isinstance(r, guarded.Refused) for r in results]
    if any(refused):
        return None if all(refused) else ("unsteady", "one of two runs is refused")
    if not random and not all(a.tobytes() == b.tobytes() for a, b in zip(*results)):
        return "unwritten", "the outputs depend on what memory held before"
    return results[0]


def check_values(judges, arrays, got, random):
    """Returns a finding about the outputs as (kind, text), or None."""
    want = judges.onnxruntime(arrays)
    if isinstance(want, str):
        return "answered", want.splitlines()[0] if want else ""
    if random or all(same(g, w) for g, w in zip(got, want)):
        return None
    reference = judges.reference(arrays)
    if reference and all(same(g, w) for g, w in zip(got, reference)):
        return None
    return "differs", f"{[g.shape for g in got]}, not {[w.shape for w in want]}"


def work(case, say, most, only="", begin=0):
    """Runs a case's variations starting at number `begin`. Calls `say` before each run, before each
    comparison, and with the outcome."""
    graph = case.model.graph
    arrays = [np.array(a, order="C") for a in case.data_sets[0][0]]
    if any(a.dtype.kind not in "biuf" for a in arrays):
        return
    names = [v.name for v in graph.input]
    random = any(node.op_type in RANDOM for node in graph.node)
    with tempfile.TemporaryDirectory() as folder:
        which_dims = list(forms(arrays))
        models = [symbolic(case.model, which) for which in which_dims]
        for form, (which, model) in enumerate(zip(which_dims, models)):
            say({"at": f"compile {len(which)}"})
            try:
                library = guarded.compile_apart(model, folder)
                shapes = [(t.dtype, len(t.shape)) for t in hewn.load(library).outputs]
            except hewn.CompileError:
                continue
            compiled, judges = guarded.Guarded(library, shapes), Judges(case, models[form:], names, random)
            todo = [(what, changed) for what, changed in variations(arrays, which) if re.search(only, what)]
            for number, (what, changed) in enumerate(todo):
                rests = most and number * most // len(todo) == (number - 1) * most // len(todo)
                if number < begin or rests or any(a is None for a in changed):
                    continue
                say({"at": what, "number": number})
                signal.alarm(SECONDS)
                wrong = check_memory(compiled, changed, random)
                signal.alarm(0)
                if isinstance(wrong, list):
                    say({"judges": what})
                    signal.alarm(SECONDS)
                    judging = judges.session and not is_huge(changed)
                    wrong = check_values(judges, changed, wrong, random) if judging else None
                    signal.alarm(0)
                say({"done": what, "wrong": wrong})
            break


def child(case, most, only, begin, writing):
    # Disables Python's report of crashes: the parent reports how the child process ended, and the
    # reference may crash too.
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(writing, "w") as out:
        say = lambda message: print(json.dumps(message), file=out, flush=True)  # noqa: E731
        try:
            work(case, say, most, only, begin)
        except BaseException as problem:
            say({"broke": f"{type(problem).__name__}: {problem}"})
    os._exit(0)


def in_child(case, most, only="", begin=0):
    """Runs a case in a child process, which may crash. Returns (runs, [(kind, where, text, accepted
    reason)])."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        child(case, most, only, begin, writing)
    os.close(writing)
    op = case.model.graph.node[0].op_type
    runs, wrong, at, number, judging = 0, [], "start", 0, False

    def add(kind, where, text):
        wrong.append((kind, where, text, judged.excuse(op, kind, where, text)))

    with os.fdopen(reading) as lines:
        for line in map(json.loads, lines):
            at, number, judging = line.get("at", at), line.get("number", number), "judges" in line
            runs += "done" in line
            if line.get("wrong"):
                add(line["wrong"][0], line["done"], line["wrong"][1])
            if "broke" in line:
                add("broke", at, line["broke"])
    status = os.waitpid(process, 0)[1]
    if os.WIFSIGNALED(status) and judging:  # the reference crashed after hewn had answered
        more, others = in_child(case, most, only, number + 1)
        return runs + 1 + more, wrong + others
    if os.WIFSIGNALED(status):
        stopped = os.WTERMSIG(status)
        add("hangs" if stopped == signal.SIGALRM else "crashes", at, signal.Signals(stopped).name)
    return runs, wrong


def reads_beyond(folder, without_requirements):
    """Returns whether a MatMul with mismatched operands crashes, without or with its shape
    checks."""
    from onnx import helper

    values = [helper.make_tensor_value_info(n, 1, dims) for n, dims in (("x", [2, "n"]), ("w", ["m", 3]))]
    made = [helper.make_tensor_value_info("y", 1, None)]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", values, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    looks = r"graph\.requires = \[#graph\.requirement<.*?>\], "
    lose = lambda text: re.sub(looks, "", text) if without_requirements else text  # noqa: E731
    library = guarded.compile_apart(model, folder, lose)
    child = os.fork()
    if child == 0:
        faulthandler.disable()  # the crash is expected
        try:
            guarded.Guarded(library, [(np.dtype("f4"), 2)]).run([np.ones((2, 4096), "f4"), np.ones((2, 3), "f4")])
        except guarded.Refused:
            os._exit(0)
        os._exit(1)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--each", type=int, default=0, help="runs of a model at most; 0: all")
    given = parser.parse_args()
    first, step = map(int, given.shard.split("/"))
    start, total, without, found = time.monotonic(), 0, 0, collections.Counter()
    chosen = [case for case in cases() if re.search(given.only, case.name)][first::step]
    for case in chosen:
        if time.monotonic() - start > given.seconds:
            break
        runs, wrong = in_child(case, given.each)
        total += runs
        # The case is skipped: the model compiles with no list of symbolic dims, or the plan's text
        # lacks the weights.
        without += runs == 0
        for kind, where, text, why in wrong:
            found["may be" if why else kind] += 1
            if not why:
                print(f"{case.name}: {kind}: {where}: {text}", flush=True)
    may = found.pop("may be", 0)
    print(f"{total} runs, {without} cases without any, {may} that judged.py excuses, {dict(found) or 'no others'}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
