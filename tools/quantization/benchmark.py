#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantizes trained models to int8 with hewn and other quantizers, using the same samples.

Writes the table of docs/quantization.md.

    PYTHON tools/quantization/benchmark.py [--calibration N] [--samples N] [--seconds S] [--quantize TEXT] [--write] [MODEL ...]

The quantizers are `quantize="int8"` of hewn (or the value of --quantize); static quantization of
onnxruntime (QDQ, weights per channel, minmax), whose models onnxruntime runs; and post-training
quantization of NNCF (with its preset for transformers where it applies), whose models OpenVINO
runs. The latter two are used if they are installed. All run on one thread. Each pair of a model and
a quantizer has a separate process. The float model and the quantized model of each engine are timed
alternately; a time is the median CPU time of the process. --write writes the table between its
markers in docs/quantization.md.

Columns: the signal-to-quantization-noise ratio (SQNR) of the worst float output relative to the
float model run by onnxruntime, over samples that were not used for calibration; the agreement of
the task's results (tools/quantization/models.py); the size of the weights (hewn: the weights file
and the library; others: the model file); milliseconds per run; the speedup over the float model of
the same engine, and over the float model of hewn; and the duration of the quantization in seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from quantization import models

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/quantization.md"

#: Runs a model on a sample.
Run = Callable[[models.Sample], models.Outputs]
#: Runs of the float and the quantized model, size of the quantized model in bytes, and duration of
#: the quantization in seconds.
Quantized = tuple[Run, Run, int, float]


def onnxruntime_session(path: pathlib.Path) -> Run:
    """Returns a function that runs the model with onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda sample: session.run(None, sample)


def with_sizes(path: pathlib.Path, sample: models.Sample, to: pathlib.Path) -> pathlib.Path:
    """Writes the model with its dynamic dims replaced by the input sizes of `sample`.

    All samples of a model have equal sizes.
    """
    import onnx

    model = onnx.load(path)
    for value in model.graph.input:
        if value.name in sample:
            for dim, size in zip(value.type.tensor_type.shape.dim, sample[value.name].shape, strict=True):
                dim.dim_value = size
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    onnx.save(model, to)
    return to


def of_opset(path: pathlib.Path, version: int, to: pathlib.Path) -> pathlib.Path:
    """Writes the model to the file `to`.

    Converts it to the opset `version` if its opset is older.
    """
    import onnx

    model = onnx.load(path)
    if next(o.version for o in model.opset_import if not o.domain) < version:
        model = onnx.version_converter.convert_version(model, version)
    onnx.save(model, to)
    return to


def by_hewn(
    path: pathlib.Path, calibration: list[models.Sample], folder: pathlib.Path, quantize: str, _: bool
) -> Quantized:
    """Quantizes a model with hewn."""
    import hewn

    plain = hewn.compile(path)
    library = folder / "model.so"
    text = json.loads(quantize) if quantize.startswith("{") else quantize
    start = time.perf_counter()
    module = hewn.compile(path, quantize=text, calibration=iter(calibration), output=library)
    took = time.perf_counter() - start

    def runner(compiled: Any) -> Run:
        return lambda sample: list(compiled.run(sample).values())

    size = sum(f.stat().st_size for f in folder.iterdir() if f.suffix in (".so", ".weights"))
    return runner(plain), runner(module), size, took


def by_onnxruntime(
    path: pathlib.Path, calibration: list[models.Sample], folder: pathlib.Path, quantize: str, _: bool
) -> Quantized:
    """Quantizes a model with onnxruntime."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Samples(CalibrationDataReader):
        def __init__(self) -> None:
            self.rest = list(calibration)

        def get_next(self) -> models.Sample | None:
            return self.rest.pop(0) if self.rest else None

    ready, made = folder / "ready.onnx", folder / "int8.onnx"
    start = time.perf_counter()
    scales_by_channel = 13  # first opset in which QuantizeLinear has an axis
    converted = of_opset(path, scales_by_channel, folder / "converted.onnx")
    quant_pre_process(str(converted), str(ready), skip_symbolic_shape=True)
    types = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    quantize_static(str(ready), str(made), Samples(), quant_format=QuantFormat.QDQ, per_channel=True, **types)
    took = time.perf_counter() - start
    return onnxruntime_session(path), onnxruntime_session(made), made.stat().st_size, took


def by_nncf(
    path: pathlib.Path, calibration: list[models.Sample], folder: pathlib.Path, quantize: str, is_transformer: bool
) -> Quantized:
    """Quantizes a model with NNCF, and runs it with OpenVINO."""
    import nncf
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    start = time.perf_counter()
    kind = nncf.ModelType.TRANSFORMER if is_transformer else None
    made = nncf.quantize(model, nncf.Dataset(calibration), subset_size=len(calibration), model_type=kind)
    took = time.perf_counter() - start
    openvino.save_model(made, folder / "int8.xml")

    def runner(read: Any) -> Run:
        hints = {
            "INFERENCE_NUM_THREADS": 1,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
        }
        compiled = core.compile_model(read, "CPU", hints)
        request = compiled.create_infer_request()

        def run(sample: models.Sample) -> models.Outputs:
            request.infer(sample, share_inputs=True)
            return [request.get_tensor(o).data.copy() for o in compiled.outputs]

        return run

    return runner(core.read_model(path)), runner(made), (folder / "int8.bin").stat().st_size, took


QUANTIZERS = {"hewn": (by_hewn, "hewn"), "onnxruntime": (by_onnxruntime, "onnxruntime"), "NNCF": (by_nncf, "nncf")}


def milliseconds(runs: Sequence[Run], sample: models.Sample, seconds: float) -> list[float]:
    """Returns the median CPU time in milliseconds of each function in `runs`, which are timed alternately.

    CPU time includes threads that an engine starts.
    """
    times: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run(sample)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for run, own in zip(runs, times, strict=True):
            start = time.process_time()
            run(sample)
            own.append(time.process_time() - start)
    return [statistics.median(own) * 1e3 for own in times]


def decibels(right: list[models.Outputs], got: list[models.Outputs]) -> float:
    """Returns the signal-to-quantization-noise ratio in dB of the float output for which it is lowest."""

    def of(i: int) -> float:
        signal = sum(float(np.sum(np.square(a[i], dtype=np.float64))) for a in right)
        noise = sum(
            float(np.sum(np.square(np.subtract(a[i], b[i], dtype=np.float64)))) for a, b in zip(right, got, strict=True)
        )
        return 200.0 if noise == 0 else 10 * np.log10(signal / noise)

    return min(of(i) for i in range(len(right[0])) if right[0][i].dtype.kind == "f")


def measure(name: str, quantizer: str, options: argparse.Namespace) -> dict[str, Any]:
    """Quantizes a model in this process and returns its figures."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    model = models.MODELS[name]
    samples = model.samples(np.random.default_rng(1))
    calibration = [next(samples) for _ in range(options.calibration)]
    others = model.samples(np.random.default_rng(2))
    held_out = [next(others) for _ in range(options.samples)]
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, quantizer)
        made.mkdir()
        path = with_sizes(models.fetch(model, options.cache), calibration[0], pathlib.Path(folder, "model.onnx"))
        plain, quantized, size, took = QUANTIZERS[quantizer][0](
            path, calibration, made, options.quantize, model.is_transformer
        )
        reference = onnxruntime_session(path)
        right = [reference(sample) for sample in held_out]
        got = [quantized(sample) for sample in held_out]
        before, after = milliseconds([plain, quantized], held_out[0], options.seconds)
    return {
        "sqnr": decibels(right, got),
        "agreement": model.agreement(right, got),
        "megabytes": size / 1e6,
        "float_ms": before,
        "ms": after,
        "seconds": took,
    }


def in_a_process(name: str, quantizer: str, options: argparse.Namespace) -> dict[str, Any] | str:
    """Measures the pair of a model and a quantizer in a child process.

    Returns the figures, or an error message.
    """
    given = [f"--{key}={getattr(options, key)}" for key in ("calibration", "samples", "seconds", "quantize", "cache")]
    command = [sys.executable, __file__, *given, "--one", name, quantizer]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        return said[-1]
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    """Measures the models of the command line, and prints the table or writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="MODEL", help="of " + ", ".join(models.MODELS))
    parser.add_argument("--calibration", type=int, default=32, help="number of calibration samples (default: 32)")
    parser.add_argument(
        "--samples", type=int, default=200, help="number of other samples for the comparison (default: 200)"
    )
    parser.add_argument(
        "--seconds", type=float, default=2, help="measurement time per model and quantizer (default: 2)"
    )
    parser.add_argument(
        "--quantize", default="int8", help="scheme for hewn: a name, a file or JSON text (default: int8)"
    )
    parser.add_argument(
        "--cache", type=pathlib.Path, default=ROOT / "build/quantization", help="folder for downloaded models"
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/quantization.md")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in models.MODELS]
    if unknown:
        parser.error(f"unknown models {', '.join(unknown)}; expected {', '.join(models.MODELS)}")
    if options.one:
        print(json.dumps(measure(options.one[0], options.one[1], options)))
        return
    rows = [
        "| model | quantizer | SQNR, dB | agreement | MB | ms | faster than its floats | than hewn's floats | quantized in, s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    print("\n".join(rows), flush=True)
    for row in rows_of(options):
        print(row, flush=True)
        rows.append(row)
    if options.write:
        write(rows)


def write(rows: list[str]) -> None:
    """Writes the table between the markers of the page."""
    begin, end = "<!-- benchmark: begin -->\n", "<!-- benchmark: end -->\n"
    before, _, rest = PAGE.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{PAGE} lacks the markers {begin.strip()} and {end.strip()}")
    PAGE.write_text(before + begin + "\n".join(rows) + "\n" + end + after)


def rows_of(options: argparse.Namespace) -> Iterator[str]:
    """Yields the table rows of the models."""
    for name in options.names or models.MODELS:
        floats = None
        for quantizer, (_, package) in QUANTIZERS.items():
            if not importlib.util.find_spec(package):
                yield f"| {name} | {quantizer} | not installed |"
                continue
            found = in_a_process(name, quantizer, options)
            if isinstance(found, str):
                yield f"| {name} | {quantizer} | {found} |"
                continue
            floats = floats or found["float_ms"]
            agreement = f"{found['agreement']:.3f} ({models.MODELS[name].what})"
            speeds = f"{found['ms']:.2f} | {found['float_ms'] / found['ms']:.2f} | {floats / found['ms']:.2f}"
            yield (
                f"| {name} | {quantizer} | {found['sqnr']:.1f} | {agreement} | {found['megabytes']:.2f} | {speeds} | {found['seconds']:.1f} |"
            )


if __name__ == "__main__":
    main()
