#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times single ops with hewn, onnxruntime and OpenVINO on one thread.

Prints the table of single ops in docs/measured/single-ops.md.

    tools/measure/single_ops.py [--target x86-64-v3] [--part TEXT] [--least 0.9] [--json FILE] [--seconds 0.06] [--again N]

Each form (the package `forms`) is a model of one node. The engines run alternately in one process. A
figure is the CPU time of the process per run in microseconds, as the lower quartile over the runs,
because other processes affect the lower quartile least. Inputs and outputs of hewn are preallocated
arrays that are aligned to cache lines, like the memory of the other engines. The ratio is the time
of the fastest other engine divided by hewn's. Prints each form when it is timed, then a line per
family of forms: the number of forms, the geometric mean of the ratios, and the number of ratios
below --least. Forms with a ratio below --least are timed --again more times, and the shortest time
of each engine is used. OpenVINO is restricted to AVX2 by ONEDNN_MAX_CPU_ISA=AVX2; onnxruntime
cannot be restricted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from forms import FAMILIES, Fed, Form
from tables import this_machine

if TYPE_CHECKING:
    import onnx


ENGINES = ("hewn", "onnxruntime", "openvino")


def at_a_line(array: np.ndarray) -> np.ndarray:
    """Returns a copy of the array that is aligned to a cache line.

    onnxruntime and OpenVINO align their memory in this way, but NumPy does not.
    """
    bytes_ = np.empty(array.nbytes + 64, np.uint8)
    begin = -bytes_.ctypes.data % 64
    copy = bytes_[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def model_of(form: Form) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Returns the ONNX model of a form, and arrays for its inputs."""
    from onnx import helper, numpy_helper

    generator = np.random.default_rng(0)
    names, inputs, constants, feeds = [], [], [], {}
    for i, value in enumerate(form.inputs):
        names.append("" if value is None else f"x{i}")
        if isinstance(value, (np.ndarray, np.generic)):
            constants.append(numpy_helper.from_array(np.asarray(value), names[-1]))
        elif value is not None:
            array = value.array if isinstance(value, Fed) else generator.standard_normal(value).astype(np.float32)
            feeds[names[-1]] = at_a_line(np.asarray(array))
            kind = helper.np_dtype_to_tensor_dtype(feeds[names[-1]].dtype)
            shape = [f"n{i}_{d}" if form.dynamic and size > 2 else size for d, size in enumerate(array.shape)]
            inputs.append(helper.make_tensor_value_info(names[-1], kind, shape))
    outputs = [f"y{i}" for i in range(form.outputs)]
    node = helper.make_node(form.op, names, outputs, domain=form.domain, **form.attributes)
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "op", inputs, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(form.domain, form.opset)], ir_version=10), feeds


def start_hewn(model: onnx.ModelProto, feeds: dict[str, np.ndarray], target: str) -> Callable[..., Any]:
    """Compiles a model with hewn and returns a function that runs it."""
    import hewn

    module = hewn.compile(model, threads=1, target=target)
    made = module.run(feeds)
    arrays: list[Any] = [feeds[t.name] for t in module.inputs]
    places: list[Any] = [at_a_line(made[t.name]) for t in module.outputs]
    # Writes into preallocated arrays, like onnxruntime with bound outputs.
    return lambda: module._model.run(arrays, places)


def start_onnxruntime(model: onnx.ModelProto, feeds: dict[str, np.ndarray], target: str) -> Callable[..., Any]:
    """Loads a model with onnxruntime and returns a function that runs it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for output, value in zip(session.get_outputs(), session.run(None, feeds)):
        binding.bind_ortvalue_output(output.name, onnxruntime.OrtValue.ortvalue_from_numpy(np.asarray(value)))
    return lambda: session.run_with_iobinding(binding)


def start_openvino(model: onnx.ModelProto, feeds: dict[str, np.ndarray], target: str) -> Callable[..., Any]:
    """Compiles a model with OpenVINO and returns a function that runs it."""
    import openvino

    core = openvino.Core()
    hints = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    hints["INFERENCE_PRECISION_HINT"] = "f32"
    read = core.read_model(model.SerializeToString())
    request = core.compile_model(read, "CPU", hints).create_infer_request()
    for name, value in feeds.items():
        request.set_tensor(name, openvino.Tensor(value, shared_memory=True))
    return request.infer


STARTS = {"hewn": start_hewn, "onnxruntime": start_onnxruntime, "openvino": start_openvino}


def typical(runs: dict[str, Callable[..., Any]], seconds: float) -> dict[str, float]:
    """Returns the CPU time per run of each engine in microseconds, as the lower quartile over the runs.

    The engines run alternately. Other load and virtual machines whose clock is set back hardly
    affect the lower quartile.
    """
    found: dict[str, list[int]] = {engine: [] for engine in runs}
    end, turns = time.perf_counter() + seconds * len(runs), 0
    while turns < 4 or time.perf_counter() < end:
        turns += 1
        for engine, run in runs.items():
            stop = time.perf_counter() + seconds / 8
            while True:
                begin = time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID)
                run()
                found[engine].append(time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID) - begin)
                if time.perf_counter() > stop:
                    break
    return {engine: max(float(np.percentile(times, 25)) / 1e3, 0.1) for engine, times in found.items()}


def measured(form: Form, said: argparse.Namespace) -> dict[str, Any]:
    """Times a form with each engine and returns its record."""
    model, feeds = model_of(form)
    runs, without = {}, {}
    for engine in ENGINES:
        try:
            runs[engine] = STARTS[engine](model, feeds, said.target)
            runs[engine]()
        except Exception as problem:
            without[engine] = str(problem).strip().splitlines()[-1][:160]
            runs.pop(engine, None)
    return {"family": form.family, "name": form.name, "us": typical(runs, said.seconds), "without": without}


def ratio_of(record: dict[str, Any]) -> float | None:
    """Returns the time of the fastest other engine relative to hewn, or None if there is none."""
    us = record["us"]
    others = [time for engine, time in us.items() if engine != "hewn"]
    return min(others) / us["hewn"] if others and "hewn" in us else None


def line_of(record: dict[str, Any]) -> str:
    """Returns the line of a record that is printed while the forms are timed."""
    ratio = ratio_of(record)
    times = [f"{record['us'][engine]:10.1f}" if engine in record["us"] else f"{'-':>10}" for engine in ENGINES]
    return f"{ratio or 0:6.2f} {' '.join(times)}  {record['name']}"


def table(records: list[dict[str, Any]], least: float) -> list[str]:
    """Returns two tables in Markdown, as lines.

    The tables list the families of forms, and the forms with a ratio below `least`.
    """
    families: dict[str, list[float]] = {}
    for record in records:
        if ratio := ratio_of(record):
            families.setdefault(record["family"], []).append(ratio)
    everything = [ratio for ratios in families.values() for ratio in ratios]
    lines = ["| family | forms | geometric mean | least | below " + f"{least} |", "| --- | --- | --- | --- | --- |"]
    for family, ratios in [*families.items(), ("all", everything)]:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        below = sum(ratio < least for ratio in ratios)
        lines.append(f"| {family} | {len(ratios)} | {mean:.2f} | {min(ratios):.2f} | {below} |")
    behind = [(ratio, r) for r in records if (ratio := ratio_of(r)) and ratio < least]
    if behind:
        lines += ["", "| form | hewn us | onnxruntime us | openvino us | ratio |", "| --- | --- | --- | --- | --- |"]
        for ratio, record in sorted(behind, key=lambda pair: pair[0]):
            cells = [f"{record['us'][e]:.1f}" if e in record["us"] else "-" for e in ENGINES]
            lines.append(f"| {record['name']} | {' | '.join(cells)} | {ratio:.2f} |")
    return lines


def better(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Merges two records of a form by taking the shorter time of each engine."""
    us = {e: min(before["us"].get(e, math.inf), now["us"].get(e, math.inf)) for e in {**before["us"], **now["us"]}}
    return {**now, "us": us}


def family_in_child(
    family: Callable[..., Any], wanted: Callable[..., Any], said: argparse.Namespace
) -> list[dict[str, Any]]:
    """Times a family of forms in a separate process and returns the records.

    Leftover state or a crash of an engine so does not affect other families.
    """
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.close(reading)
        with os.fdopen(writing, "w") as out:
            for form in filter(wanted, family()):
                record = measured(form, said)
                print(line_of(record), flush=True)
                out.write(json.dumps(record) + "\n")
                out.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        records = [json.loads(line) for line in lines]
    if os.waitpid(child, 0)[1]:
        print(f"{family.__name__}: ended after {len(records)} forms", file=sys.stderr)
    return records


def main() -> None:
    """Times the forms that the command line selects, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="host")
    parser.add_argument("--part", default="", help="only forms whose family or name contains this text")
    parser.add_argument("--least", type=float, default=0.9)
    parser.add_argument("--seconds", type=float, default=0.06, help="seconds per engine and form")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--again", type=int, default=1, metavar="N", help="time forms below --least N more times")
    said = parser.parse_args()

    def timed(wanted: Callable[[Form], bool]) -> list[dict[str, Any]]:
        return [record for family in FAMILIES for record in family_in_child(family, wanted, said)]

    print(f"{this_machine()['name']}\n ratio       hewn us     ort us      openvino us")
    records = timed(lambda form: said.part in f"{form.family}: {form.name}")
    for _ in range(said.again):
        slow = {r["name"] for r in records if (ratio := ratio_of(r)) is None or ratio < said.least}
        again = {r["name"]: r for r in timed(lambda form, slow=slow: form.name in slow)}  # type: ignore[misc] # mypy infers no lambda with a default
        records = [better(r, again[r["name"]]) if r["name"] in again else r for r in records]
    for record in records:
        if why := record["without"].get("hewn"):
            print(f"{record['name']}: hewn: {why}", file=sys.stderr)
    if said.json:
        said.json.write_text(json.dumps(records, indent=0))
    print("\n".join(["", *table(records, said.least)]))


if __name__ == "__main__":
    main()
