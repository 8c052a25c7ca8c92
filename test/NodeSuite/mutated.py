# SPDX-License-Identifier: Apache-2.0
"""Mutates ONNX's node tests: sets a number of an attribute or constant, a dim or a type to an
extreme value.

mutated.py [SEED [COUNT]] compiles COUNT mutants and prints those at which the compiler crashes,
hangs or reports an internal error.
"""

import os
import pathlib
import random
import resource
import signal
import sys
import time
import warnings

import hewn
import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

NUMBERS = [
    -(2**63),
    -(2**62),
    -(2**40),
    -(2**31) - 1,
    -(2**31),
    -3,
    -1,
    0,
    1,
    2,
    7,
    2**31 - 1,
    2**31,
    2**40,
    2**62,
    2**63 - 1,
]
FRACTIONS = [float("nan"), float("inf"), float("-inf"), 0.0, -1.0, 1e-30, 1e30, -1e30]
DIMS = [0, 1, 2, 3, 5, 2**20, 2**31, 2**46, 2**62, "n", "m"]
SECONDS, BYTES = 10, 3 << 30


def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite computes some of its expected values with overflows
        return load_model_tests(kind="node")


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from graphs_of(attribute.g)


def change_number(attribute, chance):
    values = attribute.ints if attribute.type == AttributeProto.INTS else attribute.floats
    fresh = NUMBERS if attribute.type in (AttributeProto.INT, AttributeProto.INTS) else FRACTIONS
    if attribute.type == AttributeProto.INT:
        attribute.i = chance.choice(fresh)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = chance.choice(fresh)
    elif values and chance.random() < 0.8:
        values[chance.randrange(len(values))] = chance.choice(fresh)
    elif values and chance.random() < 0.5:
        values.pop()
    else:
        values.append(chance.choice(fresh))


def change_attribute(model, chance):
    kinds = (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT, AttributeProto.FLOATS)
    there = [a for g in graphs_of(model.graph) for n in g.node for a in n.attribute if a.type in kinds]
    change_number(chance.choice(there), chance)


def change_constant(model, chance, case):
    """Replaces an input of at most 16 numbers by a constant, and sets one of its elements to an
    extreme value."""
    small = []
    for info, value in zip(model.graph.input, case.data_sets[0][0] if case.data_sets else []):
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and 0 < value.size <= 16:
            small.append((info, value))
    info, value = chance.choice(small)
    array = value.copy()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        number = np.array(chance.choice(NUMBERS if array.dtype.kind in "iu" else FRACTIONS)).astype(array.dtype)
    array.reshape(-1)[chance.randrange(array.size)] = number
    model.graph.initializer.append(numpy_helper.from_array(array, info.name))
    model.graph.input.remove(info)


def change_dim(model, chance):
    dims = [d for i in model.graph.input for d in i.type.tensor_type.shape.dim]
    dim, to = chance.choice(dims), chance.choice(DIMS)
    if isinstance(to, str):
        dim.dim_param = to
    else:
        dim.dim_value = to


def change_rank(model, chance):
    shape = chance.choice([i for i in model.graph.input if i.type.HasField("tensor_type")]).type.tensor_type.shape
    if shape.dim and chance.random() < 0.5:
        shape.dim.pop()
    else:
        shape.dim.add().dim_value = chance.choice([1, 2, 3])


def change_type(model, chance):
    tensor = chance.choice([i for i in model.graph.input if i.type.HasField("tensor_type")]).type.tensor_type
    tensor.elem_type = chance.choice([0, 1, 2, 3, 6, 7, 9, 10, 11, 13, 16, 17, 22, 99])


def mutant(case, chance):
    """Returns a model with one or two mutations, or None if no mutation applies to the case."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for _ in range(chance.choice([1, 1, 2])):
        try:
            what = chance.randrange(8)
            if what < 3:
                change_attribute(model, chance)
            elif what < 5:
                change_constant(model, chance, case)
            else:
                (change_dim, change_rank, change_type)[what - 5](model, chance)
        except IndexError:
            return None
    return model


def of_other_ranks():
    """Yields (description, model) for one case of each op and each of its inputs, with the input's
    rank set to 0, decreased by 1 and increased by 1."""
    seen = set()
    for case in cases():
        ops = tuple(n.op_type for n in case.model.graph.node)
        for i, info in enumerate(case.model.graph.input):
            rank = len(info.type.tensor_type.shape.dim)
            for wanted in {0, rank - 1, rank + 1} - {rank, -1}:
                if not info.type.HasField("tensor_type") or len(ops) > 1 or (ops, i, wanted - rank) in seen:
                    continue
                seen.add((ops, i, wanted - rank))
                model = onnx.ModelProto()
                model.CopyFrom(case.model)
                dims = model.graph.input[i].type.tensor_type.shape.dim
                while len(dims) > wanted:
                    dims.pop()
                while len(dims) < wanted:
                    dims.add().dim_value = 2
                for output in model.graph.output:
                    if output.type.HasField("tensor_type"):
                        output.type.tensor_type.ClearField("shape")
                yield f"{case.name}, input {i} of rank {wanted}", model


def outcome(model):
    """Compiles the model in a new process. Returns "" if the compiler succeeds or rejects the model
    with errors, else the crash, hang or internal error."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        said = ""
        try:
            hewn._compile(model, emit="plan")
        except hewn.CompileError as refused:
            said = next((d.text for d in refused.diagnostics if "internal error" in d.text), "")
        except BaseException as problem:
            said = f"raised {problem!r}"
        os.write(writer, said.encode(errors="replace")[:2000])
        os._exit(0)
    os.close(writer)
    begin, status = time.monotonic(), None
    while status is None:
        pid, code = os.waitpid(child, os.WNOHANG)
        if pid:
            status = code
        elif time.monotonic() - begin > SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            return f"did not end within {SECONDS} s"
        else:
            time.sleep(0.002)
    said = os.read(reader, 2000).decode(errors="replace")
    os.close(reader)
    return f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else said


def run(seed, count, tell=None):
    """Compiles `count` mutants. Returns the failures as tuples (name, model, what went wrong), and
    the number of mutants that were compiled."""
    chance, bad, tried = random.Random(seed), [], 0
    suite = [case for case in cases() if len(case.model.SerializeToString()) < 1 << 16]
    while tried < count:
        case = chance.choice(suite)
        model = mutant(case, chance)
        if model is None:
            continue
        tried += 1
        if wrong := outcome(model):
            bad.append((case.name, model, wrong))
            if tell:
                tell(*bad[-1])
    return bad, tried


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    begin = time.monotonic()

    def tell(name, model, wrong):
        print(f"{name}: {wrong}", flush=True)
        if "HEWN_KEEP" in os.environ:
            onnx.save(model, pathlib.Path(os.environ["HEWN_KEEP"], f"{name}-{hash(wrong) % 1000}.onnx"))

    bad, tried = run(seed, int(sys.argv[2]) if len(sys.argv) > 2 else 1000, tell)
    print(f"{tried} tried in {time.monotonic() - begin:.0f} s, {len(bad)} wrong")
