#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the throughput of hewn, onnxruntime and OpenVINO in batch elements per second.

Prints the table of throughput in docs/measured/throughput.md.

    tools/measure/throughput.py [--batches 1,4,16,64] [--threads 1,2] [--seconds 2] [--dim seq=128] MODEL.onnx ...

Prints a line per model, batch size and number of threads. For each engine, the line has the better
of two modes, in batch elements per second of wall-clock time. In mode `all`, one context uses all
threads, and runs are sequential. In mode `each`, there are as many contexts as threads, each with
one thread. OpenVINO has streams instead of contexts: its performance hint THROUGHPUT chooses their
number, and requests are in flight on all streams. Each engine and mode runs in a separate process,
one after another, with a warm-up run. If the inputs of a model have a fixed batch size, this script
changes it, infers shapes again, and changes each Reshape to a first dim of 1 so that it keeps the
first dim of its operand. Models that fix their batch size in other ways are left out and reported.
The ratio is hewn's throughput divided by that of the best other engine.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from benchmark import inputs_of, is_installed, last_line, tell_ratios

if TYPE_CHECKING:
    import onnx


ENGINES = ("hewn", "onnxruntime", "openvino")
WAYS = ("all", "each")


def keep_first_dims(graph: onnx.GraphProto) -> None:
    """Changes each Reshape to a first dim of 1 so that it keeps the first dim of its operand.

    Exporters write the 1 for a batch size of 1.
    """
    from onnx import numpy_helper

    reshapes = [n for n in graph.node if n.op_type == "Reshape"]
    others = {name for n in graph.node for name in n.input if n.op_type != "Reshape"}
    values = [n for n in graph.node if n.op_type == "Constant" and n.attribute[0].name == "value"]
    tensors = {tensor.name: tensor for tensor in graph.initializer} | {n.output[0]: n.attribute[0].t for n in values}
    for node in reshapes:
        name = node.input[1]
        shape = numpy_helper.to_array(tensors[name]) if name in tensors.keys() - others else np.zeros(1)
        if len(shape) > 1 and shape[0] == 1 and 0 not in shape:
            made = f"{name} of any batch"
            graph.initializer.append(numpy_helper.from_array(np.array([0, *shape[1:]], shape.dtype), made))
            node.input[1] = made
            del node.attribute[:]  # removes allowzero, which would make the dim 0 a size


def with_batch(path: str, batch: int, dims: dict[str, int], folder: str) -> str:
    """Writes the model with batch size `batch` and returns its path.

    Sets the first dim of all inputs and removes inferred shapes.
    """
    import onnx

    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in weights or not value.type.tensor_type.shape.dim:
            continue
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            if i == 0:
                dim.dim_value = batch
            elif dim.dim_param:
                dim.dim_value = dims.get(dim.dim_param, 1)
    keep_first_dims(model.graph)
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    made = str(pathlib.Path(folder, f"{pathlib.Path(path).stem}.{batch}.onnx"))
    onnx.save(model, made, save_as_external_data=model.ByteSize() > 2**31 - 2**20)
    return made


def hewn_runs(path: str, contexts: int, threads: int) -> list[Callable[..., Any]]:
    """Returns a function for each context that runs the model with hewn."""
    import hewn

    with tempfile.TemporaryDirectory() as folder:  # the loaded library stays valid after the folder is removed
        library = pathlib.Path(folder, "model.so")
        hewn.compile(path, threads=threads, output=library).close()
        modules = [hewn.load(library, threads=threads) for _ in range(contexts)]
    feeds = inputs_of(path, {})
    return [lambda module=module: module.run(feeds) for module in modules]


def onnxruntime_runs(path: str, contexts: int, threads: int) -> list[Callable[..., Any]]:
    """Returns a function for each session that runs the model with onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    feeds = inputs_of(path, {})
    sessions = [
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]) for _ in range(contexts)
    ]
    return [lambda session=session: session.run(None, feeds) for session in sessions]


def openvino_runs(path: str, contexts: int, threads: int) -> list[Callable[..., Any]]:
    """Returns one function for each inference request that can be in flight.

    If there are several contexts, OpenVINO chooses the number of requests.
    """
    import openvino

    feeds = inputs_of(path, {})
    hints = {"INFERENCE_NUM_THREADS": threads * contexts, "INFERENCE_PRECISION_HINT": "f32"}
    hints["PERFORMANCE_HINT"] = "THROUGHPUT" if contexts > 1 else "LATENCY"
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({p.any_name: list(feeds[p.any_name].shape) for p in model.inputs})
    compiled = core.compile_model(model, "CPU", hints)
    count = compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") if contexts > 1 else 1
    requests = [compiled.create_infer_request() for _ in range(count)]
    return [lambda request=request: request.infer(feeds, share_inputs=True) for request in requests]


RUNS = {"hewn": hewn_runs, "onnxruntime": onnxruntime_runs, "openvino": openvino_runs}


def runs_a_second(runs: list[Callable[..., Any]], seconds: float) -> float:
    """Returns the total number of runs per second.

    Each function of `runs` has a thread that calls it repeatedly.
    """
    counts = [0] * len(runs)
    failures: list[BaseException] = []
    start = threading.Barrier(len(runs) + 1)

    def work(i: int) -> None:
        try:
            runs[i]()
            start.wait()
            while time.perf_counter() < end[0] or not counts[i]:
                runs[i]()
                counts[i] += 1
        except Exception as problem:
            failures.append(problem)
            start.abort()

    end = [math.inf]
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(runs))]
    for thread in threads:
        thread.start()
    try:
        start.wait()
    except threading.BrokenBarrierError:
        raise failures[0] from None
    begin = time.perf_counter()
    end[0] = begin + seconds
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sum(counts) / (time.perf_counter() - begin)


def one(engine: str, way: str, path: str, batch: int, threads: int, seconds: float) -> float:
    """Returns the batch elements per second of an engine."""
    contexts, each = (1, threads) if way == "all" else (threads, 1)
    return batch * runs_a_second(RUNS[engine](path, contexts, each), seconds)


def measured(path: str, batch: int, threads: int, said: argparse.Namespace) -> dict[str, tuple[float, str]]:
    """Returns, for each engine, the batch elements per second and the mode (`all` or `each`) that is faster."""
    found: dict[str, tuple[float, str]] = {}
    for engine in ENGINES:
        for way in WAYS[: 1 if threads == 1 else 2]:
            if not is_installed(engine):
                continue
            command = [sys.executable, __file__, path, "--one", f"{engine},{way},{batch},{threads}"]
            done = subprocess.run([*command, "--seconds", str(said.seconds)], capture_output=True, text=True)
            if done.returncode:
                print(f"{path}: {engine}, {way}: {last_line(done.stderr)}", file=sys.stderr)
                continue
            found[engine] = max(found.get(engine, (0.0, "")), (json.loads(last_line(done.stdout)), way))
    return found


def main() -> None:
    """Measures the models of the command line, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--batches", default="1,4,16,64")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.one:
        engine, way, batch, threads = said.one.split(",")
        print(json.dumps(one(engine, way, said.models[0], int(batch), int(threads), said.seconds)))
        return
    dims = {name: int(size) for name, size in (d.split("=") for d in said.dim)}
    print(f"| model | batch | threads | {' | '.join(f'{e} items/s' for e in ENGINES)} | ratio |\n{'| --- ' * 7}|")
    ratios = []
    for path in said.models:
        for batch in map(int, said.batches.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                made = with_batch(path, batch, dims, folder)
                for threads in map(int, said.threads.split(",")):
                    found = measured(made, batch, threads, said)
                    cells = ["{:.1f} {}".format(*found[e]) if e in found else "-" for e in ENGINES]
                    others = [items for engine, (items, _) in found.items() if engine != "hewn"]
                    ratio = found["hewn"][0] / max(others) if others and "hewn" in found else 0.0
                    ratios += [ratio] if ratio else []
                    line = [pathlib.Path(path).stem, batch, threads, *cells, f"{ratio:.2f}" if ratio else "-"]
                    print(f"| {' | '.join(map(str, line))} |", flush=True)
    tell_ratios(ratios)


if __name__ == "__main__":
    main()
