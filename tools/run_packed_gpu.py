# SPDX-License-Identifier: Apache-2.0
"""Runs the models that tools/pack_gpu.py has packed on the GPU of this machine.

Compares the results with those of the host, and times the runs.

    python3 run.py [--only REGEX] [--rounds N] [--torch NAME=EXPRESSION ...] [--json FILE]
    compute-sanitizer --tool memcheck python3 run.py --here --check [--only REGEX]

Needs Python and numpy. If PyTorch is installed, times hewn on PyTorch's tensors and stream, and
compares it with a PyTorch function or module, eager and with torch.compile(mode="max-autotune").
The packed folder names that function; --torch replaces it by an expression that may use torch,
torchvision and transformers, for example resnet50='torchvision.models.resnet50()'. With --check,
only results are compared and nothing is timed. Models run in a child process; if a model fails or
hangs (for --patience seconds, default 600), a new process continues with the next model. With
--here, models run in this process instead. Times are medians in microseconds, measured by device
events. The error is the largest difference from the results of the host in three runs, relative to
the largest element of the result. --json writes these figures and the device time of each kernel
(in the fastest of five runs, with kernels launched one by one); the file is updated after each
model.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import lzma
import os
import pathlib
import queue
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

HOME = pathlib.Path(__file__).resolve().parent
LIMITS = {"highest": 1e-4, "high": 1e-3}  # largest accepted errors; that of medium depends on the model
SAMPLES = 1 << 16  # number of elements that are packed of a result that has more
COLUMNS = ("model", "error", "load s", "hewn us", "torch eager us", "torch.compile us", "ratio")


NARROW = {"bfloat16": 4}  # types that numpy lacks (arrays hold their bits) -> DLPack's number of the type


def bits_of(values: np.ndarray) -> np.ndarray:
    """Returns an array that numpy can store in a file.

    Elements of a type that numpy lacks become unsigned integers with the same bits.
    """
    return values.view(np.uint16) if values.dtype.name in NARROW else values


def numbers_of(values: np.ndarray, dtype: str) -> np.ndarray:
    """Returns an array of numbers for comparisons: converts the bits of types that numpy lacks."""
    if dtype not in NARROW:
        return values
    return (values.astype(np.uint32) << 16).view(np.float32)


def storage(dtype: str) -> np.dtype[Any]:
    """Returns the numpy type in which elements of the type `dtype` are stored."""
    return np.dtype(np.uint16 if dtype in NARROW else dtype)


class Lines:
    """Reads the output of a process line by line, with a time limit.

    A thread reads the pipe: since the file object buffers several lines, waiting for the pipe to
    become readable would miss lines that are already buffered.
    """

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        self.heard: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        """Reads the output until its end, in a thread."""
        for line in self.process.stdout or ():
            self.heard.put(line)
        self.heard.put("")

    def next(self, seconds: float) -> str | None:
        """Returns the next line, "" at the end of the output, or None if there is no line within the time limit."""
        try:
            return self.heard.get(timeout=seconds)
        except queue.Empty:
            return None


class DLTensor(ctypes.Structure):
    """Layout of DLPack's DLTensor in C."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Status(ctypes.Structure):
    """Layout of hewn_status in C."""

    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char_p)]


HOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double, ctypes.c_double)


class Options(ctypes.Structure):
    """hewn_context_options of hewn/runtime.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("threads", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("to_device", ctypes.c_void_p * 16),
        ("device_hook", HOOK),
        ("device_user", ctypes.c_void_p),
    ]


def describe(tensor: Any, dtype: str) -> DLTensor:
    """Returns the DLTensor of a numpy array or of a PyTorch tensor on the device."""
    host = isinstance(tensor, np.ndarray)
    shape = (ctypes.c_int64 * max(tensor.ndim, 1))(*tensor.shape)
    kind = NARROW.get(dtype) or {"f": 2, "i": 0, "u": 1, "b": 6}[np.dtype(dtype).kind]
    address, device = (tensor.ctypes.data, (1, 0)) if host else (tensor.data_ptr(), (2, 0))
    made = DLTensor(address, device, tensor.ndim, (kind, storage(dtype).itemsize * 8, 1, 0), shape, None, 0)
    made.held = (tensor, shape)
    return made


class Library:
    """The library of a model and a context.

    If `hook` is given, the context times each kernel on the device and calls it.
    """

    def __init__(
        self, path: str | os.PathLike[str], facts: dict[str, Any], hook: Callable[..., object] | None = None
    ) -> None:
        self.types = [[spec[1] for spec in facts[side]] for side in ("inputs", "outputs")]
        self.code = ctypes.CDLL(str(path))
        for name in ("hewn_context_create", "hewn_context_set_stream", "hewn_run"):
            getattr(self.code, name).restype = Status
        self.model = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self.code, "hewn_model_main")))
        self.context = ctypes.c_void_p()
        self.hook = HOOK(hook or 0)
        options = Options(ctypes.sizeof(Options) if hook else Options.device_hook.offset, device_hook=self.hook)
        self.ask(self.code.hewn_context_create(self.model, ctypes.byref(options), ctypes.byref(self.context)))

    @staticmethod
    def ask(status: Status) -> None:
        """Raises RuntimeError if `status` is an error."""
        if status.code:
            raise RuntimeError(status.message.decode())

    def runner(
        self, inputs: Sequence[Any], outputs: Sequence[Any], stream: int | None = None
    ) -> Callable[[], Sequence[Any]]:
        """Returns a function that runs the model on these tensors, on the CUDA stream `stream` if it is given."""
        if stream is not None:
            self.ask(self.code.hewn_context_set_stream(self.context, ctypes.c_void_p(stream)))
        arrays = [
            (DLTensor * len(list_))(*map(describe, list_, types)) for list_, types in zip((inputs, outputs), self.types)
        ]

        def run() -> Sequence[Any]:
            self.ask(self.code.hewn_run(self.model, self.context, *arrays))
            return outputs

        run.held = (self, inputs)  # type: ignore[attr-defined] # they must live as long as the function
        return run

    def close(self) -> None:
        """Destroys the context of the library."""
        self.code.hewn_context_destroy(self.context)


def random_feeds(specs: Sequence[Sequence[Any]]) -> dict[str, np.ndarray]:
    """Returns random inputs, which are the same on all machines.

    `specs` contains name, type and shape of each input.
    """
    random = np.random.default_rng(0)
    feeds = {}
    for name, dtype, shape in specs:
        floats = dtype in NARROW or np.dtype(dtype).kind == "f"
        values = random.standard_normal(shape) if floats else random.integers(0, 100, shape)
        values = np.ones(shape) if not floats and "mask" in name else values
        feeds[name] = (
            (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
            if dtype in NARROW
            else values.astype(dtype)
        )
    return feeds


def sampled(values: np.ndarray) -> np.ndarray:
    """Returns the elements of a model's result that are packed and compared.

    These are all elements, or SAMPLES random ones if the result has more.
    """
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat if flat.size <= SAMPLES else flat[np.random.default_rng(1).integers(0, flat.size, SAMPLES)]


def is_near(got: np.ndarray, want: np.ndarray, facts: dict[str, Any]) -> bool:
    """Compares two arrays with the tolerances of ONNX's test runner.

    The absolute tolerance is at least 1e-6 of the largest result, because a sum whose summands
    cancel has the rounding errors of these summands.
    """
    finite = np.abs(want[np.isfinite(want)]) if want.dtype.kind == "f" else want
    largest = float(finite.max()) if finite.size and want.dtype.kind == "f" else 0
    return np.allclose(got, want, rtol=facts["rtol"], atol=max(facts["atol"], 1e-6 * largest), equal_nan=True)


def difference(got: np.ndarray, want: np.ndarray, largest: float) -> float:
    """Returns the largest difference relative to `largest`, or infinity if other elements are finite."""
    if got.dtype.kind != "f":
        return float(not np.array_equal(got, want))
    got, want = got.astype(np.float64), want.astype(np.float64)
    if not np.array_equal(np.isfinite(got), np.isfinite(want)):
        return float("inf")
    kept = np.isfinite(want)
    return float(np.abs(got - want)[kept].max(initial=0) / max(largest, 1e-30))


def microseconds(run: Callable[[], object], torch: ModuleType, seconds: float = 0.3) -> float:
    """Returns the median time of a run in microseconds, measured by events of the device."""
    for _ in range(3):
        run()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def timed(count: int) -> float:
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / count

    count = max(1, int(seconds * 1e6 / 5 / max(timed(2), 1)))
    return statistics.median(timed(count) for _ in range(5))


def torch_runner(
    function: Callable[..., Any], values: Sequence[Any], compiled: bool | str, torch: ModuleType
) -> Callable[[], list[Any]]:
    """Returns a runner for a PyTorch function on device tensors.

    `compiled` is False for eager mode, the mode of torch.compile, or True for max-autotune.
    """
    if compiled:
        function = torch.compile(function, mode=compiled if isinstance(compiled, str) else "max-autotune")

    def run() -> list[Any]:
        with torch.inference_mode():
            made = function(*values)
        return list(made) if isinstance(made, (tuple, list)) else [made]

    return run


def find_torch() -> ModuleType | None:
    """Returns the package torch, or None if it is not installed or has no GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def peer(expression: str, torch: ModuleType, half: bool) -> Callable[..., Any]:
    """Returns the PyTorch function or module, on the device, that an expression describes."""
    names = {"torch": torch, "functional": torch.nn.functional}
    for package in ("torchvision", "transformers"):
        if package in expression:
            names[package] = importlib.import_module(package)
    function = eval(expression, names)
    if isinstance(function, torch.nn.Module):
        function = function.cuda().eval()
        function = function.half() if half else function
    return function


def kernels_of(
    library: str | os.PathLike[str], facts: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Any]
) -> list[dict[str, Any]]:
    """Returns the device time of each kernel in the fastest of five runs, longest first."""
    heard: list[tuple[str, float]] = []
    fastest: list[tuple[str, float]] = []
    loaded = Library(library, facts, lambda _, kernel, begin, end: heard.append((kernel.decode(), end - begin)))
    run = loaded.runner(inputs, outputs)
    for _ in range(5):
        heard.clear()
        run()
        if not fastest or sum(took for _, took in heard) < sum(took for _, took in fastest):
            fastest = list(heard)
    loaded.close()
    kernels: dict[str, dict[str, Any]] = {}
    for name, took in fastest:
        kernel = kernels.setdefault(name, {"kernel": name, "launches": 0, "microseconds": 0.0})
        kernel["launches"] += 1
        kernel["microseconds"] += took
    return sorted(kernels.values(), key=lambda kernel: -kernel["microseconds"])


def unpacked(name: str, scratch: str) -> pathlib.Path:
    """Decompresses the library and the weights of a model into a folder and returns the path of the library."""
    for file in (HOME / name).glob("model.so*.xz"):
        with lzma.open(file) as packed:
            (pathlib.Path(scratch) / file.stem).write_bytes(packed.read())
    return pathlib.Path(scratch) / "model.so"


def is_right(facts: dict[str, Any], worst: float) -> bool:
    """Returns true if the error of a model is within the limit for its types and precision."""
    narrow = any(dtype in ("float16", *NARROW) for _, dtype, *_ in (*facts["inputs"], *facts["outputs"]))
    return worst <= (2e-2 if narrow else LIMITS.get(facts["precision"], 1.0))


def measure(name: str, said: argparse.Namespace) -> dict[str, Any]:
    """Runs and times a model and returns its record."""
    facts = json.loads((HOME / name / "facts.json").read_text())
    record = {"model": name, "target": facts["target"], "precision": facts["precision"], "left_out": []}
    with tempfile.TemporaryDirectory() as scratch, np.load(HOME / name / "tensors.npz") as packed:
        library = unpacked(name, scratch)
        feeds = random_feeds(facts["inputs"]) | {key[3:]: packed[key] for key in packed if key.startswith("in ")}
        inputs = [feeds[spec[0]] for spec in facts["inputs"]]
        outputs = [np.empty(shape, storage(dtype)) for _, dtype, shape, _ in facts["outputs"]]
        begin = time.perf_counter()
        loaded = Library(library, facts)
        record["load_seconds"] = time.perf_counter() - begin
        run, worst, near = loaded.runner(inputs, outputs), 0.0, True
        for _ in range(3):
            for (output, dtype, _, largest), values in zip(facts["outputs"], run()):
                got, want = numbers_of(sampled(values), dtype), numbers_of(packed[f"out {output}"], dtype)
                worst = max(worst, difference(got, want, largest))
                near = near and ("rtol" not in facts or is_near(got, want, facts))
                values.reshape(-1).view(np.uint8).fill(255)
        record |= {"error": worst, "right": bool(near if "rtol" in facts else is_right(facts, worst))}
        record["kernels"] = kernels_of(library, facts, inputs, outputs)
        torch = None if said.check else find_torch()
        if torch:
            record["microseconds"] = timed(facts, loaded, inputs, outputs, name, said, torch, record["left_out"])
        loaded.close()
    return record


def row(record: dict[str, Any]) -> str:
    """Returns the table row for the record of a model."""
    cells = {"model": record["model"]}
    if "error" in record:
        times = record.get("microseconds", {})
        cells |= {"error": f"{record['error']:.1e}", "load s": f"{record['load_seconds']:.2f}"}
        cells |= {column: f"{value:.1f}" for column, value in times.items()}
        others = [value for column, value in times.items() if column != "hewn us"]
        cells |= {"ratio": f"{min(others) / times['hewn us']:.2f}"} if others else {}
    return "| " + " | ".join(cells.get(column, "-") for column in COLUMNS) + " |"


def timed(
    facts: dict[str, Any],
    loaded: Library,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    name: str,
    said: argparse.Namespace,
    torch: ModuleType,
    left_out: list[str],
) -> dict[str, float]:
    """Times hewn and PyTorch alternately and returns the medians by column.

    Appends errors of PyTorch to `left_out`.
    """
    torch.set_float32_matmul_precision(facts["precision"])
    values = [torch.from_numpy(value).cuda() for value in inputs]
    made = [torch.from_numpy(value).cuda() for value in outputs]
    stream = torch.cuda.current_stream().cuda_stream or 1
    runs = {"hewn us": loaded.runner(values, made, stream)}
    given = dict(pair.split("=", 1) for pair in said.torch)
    expression = given.get(name) or facts["torch"]
    for column, compiled in (("torch eager us", False), ("torch.compile us", True)):
        if not expression:
            continue
        try:
            half = bool(values) and values[0].dtype == torch.float16
            runs[column] = torch_runner(peer(expression, torch, half), values, compiled, torch)
            runs[column]()
        except Exception as problem:
            left_out.append(f"{column}, {name}: {type(problem).__name__}: {str(problem)[:200]}".replace("\n", " "))
            runs.pop(column, None)
    times: dict[str, list[float]] = {column: [] for column in runs}
    for _ in range(said.rounds):
        for column, run in runs.items():
            times[column].append(microseconds(run, torch))
    median = {column: statistics.median(list_) for column, list_ in times.items()}
    torch.cuda.synchronize()
    return median


def here(names: Sequence[str], said: argparse.Namespace) -> None:
    """Measures the models in this process.

    Prints the start and the record of each model for the parent process.
    """
    for name in names:
        print(f"begins: {name}", flush=True)
        print("record: " + json.dumps(measure(name, said)), flush=True)


def tell(record: dict[str, Any], records: list[dict[str, Any]], file: str | None) -> None:
    """Prints the table row of a model and writes all records so far to `file`."""
    records.append(record)
    print(row(record), flush=True)
    for line in record.get("left_out", []):
        print(f"left out: {line}", flush=True)
    if not record["right"]:
        print(f"FAILED {record['model']}: {record.get('why', 'wrong')}", flush=True)
    if file:
        other = pathlib.Path(f"{file}.part")
        other.write_text(json.dumps({"right": sum(one["right"] for one in records), "models": records}, indent=1))
        other.replace(file)


def elsewhere(names: list[str], arguments: list[str], said: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures the models in child processes.

    If one dies or hangs, records the failure of its current model and starts another process for
    the models after it. Returns all records.
    """
    records: list[dict[str, Any]] = []
    while names:
        only = "^(" + "|".join(map(re.escape, names)) + ")$"
        command = [sys.executable, __file__, *arguments, "--here", "--only", only]
        lines, begun, why = Lines(command), 0, ""
        heard: list[str] = []
        while line := lines.next(said.patience):
            if line.startswith("begins: "):
                begun, heard = begun + 1, []
            elif line.startswith("record: "):
                tell(json.loads(line.removeprefix("record: ")), records, said.json)
            else:
                heard.append(line)
        if line is None:
            lines.process.kill()
            why = f"no output for {said.patience} s"
        code = lines.process.wait()
        if code == 0 and not why:
            break
        why = f"{why or f'exit code {code}'}\n{''.join(heard[-12:])}"
        tell({"model": names[max(begun - 1, 0)], "right": False, "why": why}, records, said.json)
        names = names[max(begun, 1) :]
    return records


def main() -> None:
    """Runs the models that the command line selects, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", action="append", default=[], metavar="NAME=EXPRESSION")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--patience", type=int, default=600, metavar="SECONDS")
    said = parser.parse_args()
    names = sorted(folder.parent.name for folder in HOME.glob("*/facts.json"))
    names = [name for name in names if re.search(said.only, name)]
    if said.here:
        here(names, said)
        return
    torch = None if said.check else find_torch()
    print(
        "times: "
        + (f"on {torch.cuda.get_device_name()}" if torch else "none (--check, or PyTorch with CUDA is not installed)")
    )
    print(f"| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|", flush=True)
    passed = [f"--rounds={said.rounds}", *(f"--torch={pair}" for pair in said.torch), *["--check"] * said.check]
    right = sum(record["right"] for record in elsewhere(names, passed, said))
    print(f"{right} of {len(names)} ran with correct results")
    sys.exit(right < len(names))


if __name__ == "__main__":
    main()
