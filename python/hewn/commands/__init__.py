# SPDX-License-Identifier: Apache-2.0
"""The commands `hewn tune`, `check`, `reduce` and `profile` as functions.

Arguments are as in `hewn.compile`, results are dicts.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from .._custom import CustomOps
from . import arguments as _arguments
from . import program as _program

_Path = str | os.PathLike[str]
_Arrays = _Path | Mapping[str, object]
_Progress = Callable[[str], object]


class CompileOptions(TypedDict, total=False):
    """Arguments of `hewn.compile` that the functions of this module also take.

    In addition, the flags `--partition` and `--cluster` of the commands.
    """

    example_inputs: object
    dynamic_shapes: object
    target: str | Sequence[str]
    precision: str
    dims: Mapping[str, int | tuple[int, int] | str] | None
    dim_names: str
    limits: Mapping[str, float] | None
    custom_ops: _Path | Mapping[str, Any] | Sequence[_Path | Mapping[str, Any]] | None
    tuning: _Path | Sequence[_Path] | None
    threads: int
    cache_dir: _Path | None
    remarks: _Path | None
    optimize: bool
    partition: str | None
    cluster: _Path | None


class QuantizeOptions(CompileOptions, total=False):
    """`CompileOptions`, and the arguments of `hewn.compile` that quantize the model."""

    quantize: _Path | Mapping[str, Any] | None
    calibration: object
    min_sqnr: float | None
    max_error: float | None


#: Flags whose names differ from those of the Python arguments.
_FLAGS = {
    "precision": "float32-precision",
    "dims": "dim",
    "limits": "limit",
    "inputs": "input",
    "calibration": "calibrate",
    "output": "o",
    "if_": "if",
}
#: Names of Python arguments by flag, for messages.
_IN_PYTHON = {flag: name for name, flag in _FLAGS.items()} | {"O0": "optimize=False"}
_WRITTEN = re.compile(r"(?<![\w-])(?:--([a-z][\w-]*)|-(o|O0))(?![\w'-])")


def _in_python(message: str) -> str:
    """Returns a message of a command that names Python arguments instead of flags."""

    def name(flag: re.Match[str]) -> str:
        written = flag[1] or flag[2]
        return _IN_PYTHON.get(written, written.replace("-", "_"))

    return _WRITTEN.sub(name, _arguments.in_python(message))


def _flag(name: str, value: object) -> list[str]:
    """Returns an argument as flags. None and False are the default: no flag."""
    flag = _FLAGS.get(name, name.replace("_", "-"))
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{flag}"]
    text = os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)
    return ["-o", text] if flag == "o" else [f"--{flag}={text}"]


def _write_npz(path: pathlib.Path, arrays: Mapping[str, object], what: str) -> None:
    """Writes arrays like numpy.savez, which does not accept every name."""
    import zipfile

    with zipfile.ZipFile(path, "w") as archive:
        for name, value in arrays.items():
            array = np.asarray(value)
            if array.dtype == object:
                raise TypeError(f"{what}: the value of '{name}' is not an array of numbers")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def _arrays(name: str, given: _Arrays | None, folder: pathlib.Path) -> list[str]:
    """Returns the flag for arrays by name, which are written to `folder`, or for their file."""
    if isinstance(given, Mapping):
        _write_npz(folder / f"{name}.npz", given, name)
        given = folder / f"{name}.npz"
    elif given is not None and not isinstance(given, str | os.PathLike):
        raise TypeError(f"{name} must be arrays by name or a file, got {type(given).__name__}")
    return _flag(name, given)


def _samples(calibration: object, folder: pathlib.Path) -> list[str]:
    """Returns the flag for calibration samples: a folder, or feeds, which are written to one."""
    if calibration is None or isinstance(calibration, str | os.PathLike):
        return _flag("calibration", calibration)
    if isinstance(calibration, Mapping) or not isinstance(calibration, Iterable):
        raise TypeError(f"calibration must be a folder or an iterable of feeds, got {type(calibration).__name__}")
    samples = folder / "samples"
    samples.mkdir()
    for number, feed in enumerate(calibration):
        if isinstance(feed, Mapping):
            _write_npz(samples / f"{number:08}.npz", feed, "calibration")
        else:
            np.save(samples / f"{number:08}.npy", np.asarray(feed), allow_pickle=False)
    return _flag("calibration", samples)


def _expect_known(function: str, options: Iterable[str], allowed: type[CompileOptions], own: list[str]) -> None:
    """Raises TypeError for an argument that is neither in `allowed` nor in `own`."""
    for name in options:
        if name not in allowed.__annotations__:
            import difflib

            near = difflib.get_close_matches(name, [*own, *allowed.__annotations__], 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'{hint}")


def _compile_flags(function: str, options: dict[str, object], folder: pathlib.Path) -> list[str]:
    """Returns the flags for the arguments that all four functions share."""
    flags: list[str] = []
    for name, value in options.items():
        if name == "target":
            flags += _flag(name, value if isinstance(value, str) else ",".join(value))  # type: ignore[arg-type]
        elif name == "dims":
            for binding in _arguments.bindings(value):  # type: ignore[arg-type]
                flags += _flag(name, binding)
        elif name == "limits":
            for limit, most in (value or {}).items():  # type: ignore[attr-defined]
                flags += _flag(name, f"{limit}={most}")
        elif name == "custom_ops":
            custom = CustomOps(value)
            if custom.functions:
                raise ValueError(f"{function}() runs custom ops in another process: implement them in C")
            for text in custom.texts:
                flags += _flag(name, text)
        elif name == "tuning":
            for path in _arguments.paths(value):  # type: ignore[arg-type]
                flags += _flag(name, path)
        elif name == "quantize":
            flags += _flag(name, _arguments.quantization(value) or None)  # type: ignore[arg-type]
        elif name == "calibration":
            flags += _samples(value, folder)
        elif name == "optimize":
            flags += [] if value else ["-O0"]
        else:
            flags += _flag(name, value)
    return flags


@contextlib.contextmanager
def _model_file(model: Any, options: dict[str, object], folder: pathlib.Path) -> Iterator[str]:
    """Yields the path of the model.

    A model in memory is written to `folder`, a model of a framework is converted. Removes the
    arguments of the conversion from `options`.
    """
    from .. import frontends

    shapes = options.pop("dynamic_shapes", None)
    found: Any
    with frontends.as_onnx(model, options.pop("example_inputs", None), shapes) as found:
        if not isinstance(found, str | os.PathLike):
            data = bytes(found) if isinstance(found, bytes | bytearray | memoryview) else found.SerializeToString()
            found = folder / "model.onnx"
            found.write_bytes(data)
        path = os.fsdecode(found)
        yield "./" + path if path.startswith("-") else path


def _run(
    command: str,
    model: object,
    inputs: _Arrays | None,
    flags: Mapping[str, object],
    progress: _Progress | None,
    options: dict[str, object],
    allowed: type[CompileOptions],
) -> dict[str, Any]:
    """Runs a command on a model. `flags` are the arguments that only this command has."""
    import tempfile

    _expect_known(command, options, allowed, [*flags, "inputs", "progress"])
    with tempfile.TemporaryDirectory(prefix="hewn-") as name:
        folder = pathlib.Path(name)
        arguments = _arrays("inputs", inputs, folder)
        for flag, value in flags.items():
            arguments += _arrays(flag, value, folder) if isinstance(value, Mapping) else _flag(flag, value)
        with _model_file(model, options, folder) as path:
            arguments += _compile_flags(command, options, folder)
            return _program.run(command, [path, *arguments], _in_python, progress)


def _tolerance(given: float | tuple[float, float] | str | None) -> str | None:
    """Returns a tolerance as the commands expect it: "relative" or "relative,absolute"."""
    return ",".join(map(str, given)) if isinstance(given, tuple) else None if given is None else str(given)


def tune(
    model: object,
    *,
    output: _Path | None = None,
    inputs: _Arrays | None = None,
    budget: float = 60,
    part: str = "1/1",
    progress: _Progress | None = None,
    **options: Unpack[QuantizeOptions],
) -> dict[str, Any]:
    """Measures schedules of the model's kernels on this machine, and keeps the fastest.

    Returns the object of `hewn tune --json`, which docs/reference/json.md describes.

    `model` is an ONNX model or a model of a framework, as in `hewn.compile`. `output` is the file
    for the schedules, which `hewn.compile(tuning=...)` reads. `inputs` are arrays by name, or an
    .npz file; other inputs have fixed values. `budget` is the duration of the search in seconds.
    `part` is "I/N" to measure only part I of the candidates, so that N identical machines share a
    search; `merge_tunings` combines their files. `tuning` (one of the `options`) continues from
    earlier files. `progress` is called with a line of text after each step.

    The other arguments (`options`) have the meaning that they have in `hewn.compile`. Raises
    ValueError for a wrong argument, ToolError if nothing could be measured.
    """
    flags = {"output": output, "budget": budget, "part": part}
    return _run("tune", model, inputs, flags, progress, dict(options), QuantizeOptions)


def merge_tunings(files: Sequence[_Path], output: _Path) -> dict[str, Any]:
    """Merges files of `tune` into the file `output`, which keeps the best schedule of each kernel.

    Returns the object of `hewn tune --merge --json`. Raises ToolError if a file cannot be read or
    written.
    """
    arguments = [*_arguments.paths(files), "--merge", *_flag("output", output)]
    return _program.run("tune", arguments, _in_python, None)


def check(
    model: object,
    *,
    inputs: _Arrays | None = None,
    reference: _Arrays | None = None,
    tolerance: float | tuple[float, float] | str | None = None,
    seed: int = 0,
    compile_only: bool = False,
    outputs_only: bool = False,
    memory: int = 1024,
    reduce: _Path | None = None,
    progress: _Progress | None = None,
    **options: Unpack[CompileOptions],
) -> dict[str, Any]:
    """Compiles a model and compares the values of its nodes with a reference.

    Returns the object of `hewn check --json`, which docs/reference/json.md describes: `differs` is
    true if a value is wrong, and `first_difference` is the first such node.

    `inputs` are arrays by name, or an .npz file; other inputs are random, drawn with `seed`.
    `reference` are values of the model by name, an .npz file, or a folder of NAME.npy; by default,
    the reference is the model compiled without optimizations. `tolerance` is the largest relative
    error, or a pair of the largest relative and absolute errors; by default, it depends on the type
    and on how sensitive a value is to rounding. `compile_only` does not run the model,
    `outputs_only` compares only its outputs. `memory` is for values that are held at once, in MiB.
    `reduce` is a file for the smallest subgraph that differs. With `limits={"seconds": N}`, the
    check ends after N seconds, and `ended` in the result is "time limit".

    The other arguments (`options`) have the meaning that they have in `hewn.compile`. Raises
    ValueError for a wrong argument, ToolError if the model cannot be compiled or run.
    """
    flags = {
        "reference": reference,
        "tolerance": _tolerance(tolerance),
        "seed": seed,
        "compile_only": compile_only,
        "outputs_only": outputs_only,
        "memory": memory,
        "reduce": reduce,
    }
    return _run("check", model, inputs, flags, progress, dict(options), CompileOptions)


def reduce(
    model: object,
    *,
    output: _Path = "reduced.onnx",
    inputs: _Arrays | None = None,
    if_: str | None = None,
    message: str | None = None,
    slower_than: float | str | None = None,
    compile_slower_than: float | None = None,
    tolerance: float | tuple[float, float] | str | None = None,
    seed: int = 0,
    time_limit: float = 600,
    timeout: float = 60,
    progress: _Progress | None = None,
    **options: Unpack[CompileOptions],
) -> dict[str, Any]:
    """Reduces a model to the smallest one that still fails.

    A failure is: wrong values, a crash, a hang, an error, or a run that is too slow. Returns the
    object of `hewn reduce --json`, which docs/reference/json.md describes.

    `output` is the file for the smallest model; its inputs are in an .npz file of the same name. At
    most one of these arguments selects the failure; by default, it is the first that the model
    shows. `if_` is a shell command with `{}` for the model file, which exits with status 0 if the
    model fails. `message` is a part of the error's message. `slower_than` is a time of a run in
    milliseconds, or "0.5x" for a part of the time without optimizations. `compile_slower_than` is a
    time of a compilation in seconds.

    `inputs`, `seed` and `tolerance` are those of `check`. `time_limit` ends the search, `timeout` is
    the time after which a candidate counts as hanging, both in seconds.

    The other arguments (`options`) have the meaning that they have in `hewn.compile`. Candidates run
    in child processes, so a crash does not affect Python. Raises ValueError for a wrong argument,
    ToolError if the model does not fail.
    """
    flags = {
        "output": output,
        "if_": if_,
        "message": message,
        "slower_than": slower_than,
        "compile_slower_than": compile_slower_than,
        "tolerance": _tolerance(tolerance),
        "seed": seed,
        "time_limit": time_limit,
        "timeout": timeout,
    }
    return _run("reduce", model, inputs, flags, progress, dict(options), CompileOptions)


def profile(
    model: object,
    *,
    inputs: _Arrays | None = None,
    seconds: float = 2,
    html: _Path | None = None,
    trace: _Path | None = None,
    variant: str | None = None,
    device: int = 0,
    device_cache: _Path | None = None,
    verify: bool = False,
    copy_weights: bool = False,
    rank: int = 0,
    transport: str = "host",
    progress: _Progress | None = None,
    **options: Unpack[QuantizeOptions],
) -> dict[str, Any]:
    """Measures the time of each kernel of a run.

    Returns the object of `hewn profile --json`, which docs/reference/json.md describes.

    `model` is a model as in `hewn.compile`, or the path of a compiled library. `inputs` are arrays
    by name, or an .npz file; other inputs have fixed values. `seconds` is the duration of the
    measurement. `html` is a file for a page: kernels compared with the roofline, the arena,
    suggestions. `trace` is a file for the fastest run in the Trace Event Format (for Perfetto).
    `variant` selects the variant of a library with several. `device` is the number of the GPU, and
    `device_cache` a folder for the machine code of its driver. `verify` verifies the checksum of the
    weights, `copy_weights` reads them into memory. For a partitioned model, `rank` is the rank that
    is reported, and `transport` is "host" or "nccl".

    The other arguments (`options`) have the meaning that they have in `hewn.compile`; of these, a
    compiled library takes only `dims` and `threads`. Raises ValueError for a wrong argument,
    ToolError if the model cannot be compiled or run.
    """
    flags = {
        "seconds": seconds,
        "html": html,
        "trace": trace,
        "variant": variant,
        "device": device,
        "device_cache": device_cache,
        "verify": verify,
        "copy_weights": copy_weights,
        "rank": rank or None,
        "transport": transport,
    }
    return _run("profile", model, inputs, flags, progress, dict(options), QuantizeOptions)
