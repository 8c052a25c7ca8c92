#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times float16 or bfloat16 models with hewn, onnxruntime and OpenVINO, and prints the 16-bit tables of docs/measured.

    tools/measure/half_floats.py [--type float16] [--threads N] [--rounds N] [--dim NAME=SIZE] MODEL.onnx ...

Converts each float32 model to the form in which exporters write models with 16-bit parameters
(`model.half()` in PyTorch): weights, constants, inputs and outputs get the 16-bit type, and Casts
to float32 become Casts to the 16-bit type. bfloat16 models use opset 22, which added bfloat16 to
convolutions and other ops. As in tools/benchmark.py, each engine runs in a separate process, and
the engines run alternately; a figure is the median over the rounds of the median run time in
milliseconds. `float32 ms` is hewn's time for the original model. The error is the largest
difference from onnxruntime's float32 result, relative to the largest element of that result. MB is
the size of hewn's weights file, also relative to the weights file of the float32 model. Engines
that fail on a model are left out and reported.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import benchmark

if TYPE_CHECKING:
    import onnx


def narrow_tensor(tensor: onnx.TensorProto, kind: int) -> onnx.TensorProto:
    """Returns a copy of a tensor in the type `kind`."""
    from onnx import helper, numpy_helper

    values = numpy_helper.to_array(tensor)
    # Attention masks contain -3.4e38, which becomes -inf in float16.
    with np.errstate(over="ignore"):
        return numpy_helper.from_array(values.astype(helper.tensor_dtype_to_np_dtype(kind)), tensor.name)


def narrowed(path: str, name: str, made: str) -> None:
    """Reads the model at `path`, converts its floats to the 16-bit type `name`, and writes it to `made`."""
    import onnx
    from onnx import TensorProto, helper, version_converter

    kind = TensorProto.DataType.Value(name.upper())
    model = onnx.load(path)
    if kind == TensorProto.BFLOAT16 and all(o.version < 22 for o in model.opset_import if o.domain == ""):
        model = version_converter.convert_version(model, 22)

    def visit(graph: onnx.GraphProto) -> None:
        for i, tensor in enumerate(graph.initializer):
            if tensor.data_type == TensorProto.FLOAT:
                graph.initializer[i].CopyFrom(narrow_tensor(tensor, kind))
        for value in (*graph.input, *graph.output):
            if value.type.tensor_type.elem_type == TensorProto.FLOAT:
                value.type.tensor_type.elem_type = kind
        del graph.value_info[:]
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t") and attribute.t.data_type == TensorProto.FLOAT:
                    attribute.t.CopyFrom(narrow_tensor(attribute.t, kind))
                elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                    attribute.i = kind
                elif attribute.HasField("g"):
                    visit(attribute.g)
            if node.op_type == "ConstantOfShape" and not node.attribute:
                node.attribute.append(helper.make_attribute("value", helper.make_tensor("value", kind, [1], [0.0])))

    visit(model.graph)
    onnx.save(model, made)


def figures(path: str, engines: list[str], folder: str, said: argparse.Namespace) -> dict[str, float]:
    """Returns the time in milliseconds of each engine that supports the model.

    Stores the result of each engine in `folder`.
    """
    times: dict[str, list[float]] = {}
    for _ in range(said.rounds):
        for engine in engines:
            command = [sys.executable, benchmark.__file__, path, "--one", engine]
            command += ["--results", f"{folder}/{engine}.npz", f"--threads={said.threads}"]
            command += [f"--dim={d}" for d in said.dim]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                times.setdefault(engine, []).append(json.loads(benchmark.last_line(done.stdout))["ms"])
            else:
                print(f"{path}: {engine} failed: {benchmark.last_line(done.stderr)}", file=sys.stderr)
    return {engine: statistics.median(each) for engine, each in times.items()}


def weight_bytes(path: str, dims: dict[str, int]) -> float:
    """Returns the bytes of a model's weights, or NaN if `hewn explain` does not print them."""
    found = re.search(r"^weights: (\d+) bytes", benchmark.explain(path, dims, "highest"), re.MULTILINE)
    return float(found[1]) if found else math.nan


def main() -> None:
    """Times the models in float32 and in the 16-bit type, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--type", default="float16", choices=("float16", "bfloat16"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    said = parser.parse_args()
    dims = {name: int(size) for name, size in (d.split("=") for d in said.dim)}
    engines = [e for e in ("hewn", "onnxruntime", "openvino") if benchmark.is_installed(e)]
    heads = ["model", *(f"{engine} ms" for engine in engines), "ratio", "float32 ms", "error", "MB", "of float32"]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    ratios = []
    for path in said.models:
        with tempfile.TemporaryDirectory() as folder:
            made = str(pathlib.Path(folder, pathlib.Path(path).name))
            narrowed(path, said.type, made)
            wide = str(pathlib.Path(folder, "wide"))
            pathlib.Path(wide).mkdir()
            ms, before = figures(made, engines, folder, said), figures(path, ["hewn", "onnxruntime"], wide, said)
            others = [t for e, t in ms.items() if e != "hewn"]
            ratio = min(others) / ms["hewn"] if others and "hewn" in ms else 0.0
            ratios += [ratio] if ratio else []
            known = {"hewn"} <= ms.keys() and {"onnxruntime"} <= before.keys()
            off = benchmark.error(f"{folder}/hewn.npz", f"{wide}/onnxruntime.npz") if known else math.nan
            small, large = weight_bytes(made, dims), weight_bytes(path, dims)
        cells = [f"{ms[e]:.3f}" if e in ms else "-" for e in engines]
        cells += [f"{ratio:.2f}" if ratio else "-", f"{before.get('hewn', math.nan):.3f}", f"{off:.1e}"]
        cells += [f"{small / 1e6:.1f}", f"{100 * small / large:.0f} %"]
        print(f"| {pathlib.Path(path).stem} | {' | '.join(cells)} |", flush=True)
    benchmark.tell_ratios(ratios)


if __name__ == "__main__":
    main()
