# SPDX-License-Identifier: Apache-2.0
"""Runs what tools/pack_gpu.py has packed on the GPU of this machine: are results those of the host, and how long does a run take?

    python3 run.py [--only REGEX] [--rounds N] [--torch NAME=EXPRESSION ...]
    compute-sanitizer --tool memcheck python3 run.py --here --check [--only REGEX]

Needs Python and numpy. Where PyTorch is, hewn is timed on its tensors and stream, and beside it what the pack or --torch says (an
expression of a function or module, with torch, torchvision and transformers, as in resnet50='torchvision.models.resnet50()'),
eager and by torch.compile(mode="max-autotune"). --check times nothing, --here starts no other process: otherwise a model that
fails, or hangs for ten minutes, ends a process, and another one goes on behind it. Times are medians of the device's events in
microseconds; the error is the largest difference from the host, relative to the largest result, of three runs.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import lzma
import pathlib
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HOME = pathlib.Path(__file__).resolve().parent
LIMITS = {"highest": 1e-4, "high": 1e-3}  # of errors that are no mistake; medium depends on the model
SAMPLES = 1 << 16  # of larger results so many elements are packed
COLUMNS = ("model", "error", "load s", "hewn us", "torch eager us", "torch.compile us", "ratio")
WRONG = "wrong"


class DLTensor(ctypes.Structure):
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
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char_p)]


def describe(tensor):
    """An array of numpy's, or a tensor of PyTorch's on the device, as DLPack has it."""
    host = isinstance(tensor, np.ndarray)
    dtype = tensor.dtype if host else np.dtype(str(tensor.dtype).removeprefix("torch."))
    shape = (ctypes.c_int64 * max(tensor.ndim, 1))(*tensor.shape)
    kind = {"f": 2, "i": 0, "u": 1, "b": 6}[dtype.kind]
    address, device = (tensor.ctypes.data, (1, 0)) if host else (tensor.data_ptr(), (2, 0))
    made = DLTensor(address, device, tensor.ndim, (kind, dtype.itemsize * 8, 1, 0), shape, None, 0)
    made.held = (tensor, shape)
    return made


class Library:
    """A model's library and a context of it."""

    def __init__(self, path):
        self.code = ctypes.CDLL(str(path))
        for name in ("hewn_context_create", "hewn_context_set_stream", "hewn_run"):
            getattr(self.code, name).restype = Status
        self.model = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self.code, "hewn_model_main")))
        self.context = ctypes.c_void_p()
        self.ask(self.code.hewn_context_create(self.model, None, ctypes.byref(self.context)))

    @staticmethod
    def ask(status):
        if status.code:
            raise RuntimeError(status.message.decode())

    def runner(self, inputs, outputs, stream=None):
        """A function that runs the model on these tensors, on the driver's stream."""
        if stream is not None:
            self.ask(self.code.hewn_context_set_stream(self.context, ctypes.c_void_p(stream)))
        arrays = [(DLTensor * len(list_))(*map(describe, list_)) for list_ in (inputs, outputs)]

        def run():
            self.ask(self.code.hewn_run(self.model, self.context, *arrays))
            return outputs

        run.held = (self, inputs)
        return run

    def close(self):
        self.code.hewn_context_destroy(self.context)


def random_feeds(specs):
    """The same on every machine. `specs`: name, type and shape of each input."""
    random = np.random.default_rng(0)
    feeds = {}
    for name, dtype, shape in specs:
        floats = np.dtype(dtype).kind == "f"
        values = random.standard_normal(shape) if floats else random.integers(0, 100, shape)
        feeds[name] = (np.ones(shape) if not floats and "mask" in name else values).astype(dtype)
    return feeds


def sampled(values):
    """What of a result is packed and compared."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat if flat.size <= SAMPLES else flat[np.random.default_rng(1).integers(0, flat.size, SAMPLES)]


def difference(got, want, largest):
    if got.dtype.kind != "f":
        return float(not np.array_equal(got, want))
    got, want = got.astype(np.float64), want.astype(np.float64)
    if not np.array_equal(np.isfinite(got), np.isfinite(want)):
        return float("inf")
    kept = np.isfinite(want)
    return float(np.abs(got - want)[kept].max(initial=0) / max(largest, 1e-30))


def microseconds(run, torch, seconds=0.3):
    """The median run, by the device's events."""
    for _ in range(3):
        run()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def timed(count):
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / count

    count = max(1, int(seconds * 1e6 / 5 / max(timed(2), 1)))
    return statistics.median(timed(count) for _ in range(5))


def torch_runner(function, values, compiled, torch):
    """`function` by PyTorch on tensors of the device."""
    if compiled:
        function = torch.compile(function, mode="max-autotune")

    def run():
        with torch.inference_mode():
            made = function(*values)
        return list(made) if isinstance(made, (tuple, list)) else [made]

    return run


def find_torch():
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def peer(expression, torch, half):
    """What PyTorch runs in the model's place, on the device."""
    names = {"torch": torch, "functional": torch.nn.functional}
    for package in ("torchvision", "transformers"):
        if package in expression:
            names[package] = importlib.import_module(package)
    function = eval(expression, names)
    if isinstance(function, torch.nn.Module):
        function = function.cuda().eval()
        function = function.half() if half else function
    return function


def measure(name, said, left_out):
    """A row of the table."""
    folder = HOME / name
    facts = json.loads((folder / "facts.json").read_text())
    with tempfile.TemporaryDirectory() as scratch, np.load(folder / "tensors.npz") as packed:
        library = pathlib.Path(scratch) / "model.so"
        library.write_bytes((folder / "model.so").read_bytes())
        if (folder / "model.so.weights.xz").exists():
            with lzma.open(folder / "model.so.weights.xz") as weights:
                library.with_name("model.so.weights").write_bytes(weights.read())
        feeds = random_feeds(facts["inputs"]) | {key[3:]: packed[key] for key in packed if key.startswith("in ")}
        inputs = [feeds[spec[0]] for spec in facts["inputs"]]
        outputs = [np.empty(shape, dtype) for _, dtype, shape, _ in facts["outputs"]]
        begin = time.perf_counter()
        loaded = Library(library)
        seconds = time.perf_counter() - begin
        run, worst = loaded.runner(inputs, outputs), 0.0
        for _ in range(3):
            for (output, _, _, largest), values in zip(facts["outputs"], run()):
                worst = max(worst, difference(sampled(values), packed[f"out {output}"], largest))
                values.view(np.uint8).fill(255)
        cells = {"model": name, "error": f"{worst:.1e}", "load s": f"{seconds:.2f}"}
        torch = None if said.check else find_torch()
        if torch:
            cells |= timed(facts, loaded, inputs, outputs, name, said, torch, left_out)
        loaded.close()
    narrow = any(dtype == "float16" for _, dtype, *_ in (*facts["inputs"], *facts["outputs"]))
    if not worst <= (2e-2 if narrow else LIMITS.get(facts["precision"], 1.0)):
        left_out.append(WRONG)
    return "| " + " | ".join(cells.get(column, "-") for column in COLUMNS) + " |"


def timed(facts, loaded, inputs, outputs, name, said, torch, left_out):
    """Cells of times: the engines take turns."""
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
    times = {column: [] for column in runs}
    for _ in range(said.rounds):
        for column, run in runs.items():
            times[column].append(microseconds(run, torch))
    median = {column: statistics.median(list_) for column, list_ in times.items()}
    torch.cuda.synchronize()
    cells = {column: f"{value:.1f}" for column, value in median.items()}
    others = [value for column, value in median.items() if column != "hewn us"]
    return cells | ({"ratio": f"{min(others) / median['hewn us']:.2f}"} if others else {})


def here(names, said):
    """In this process. Each line says which model it is of."""
    for name in names:
        print(f"begins: {name}", flush=True)
        left_out = []
        print(measure(name, said, left_out), flush=True)
        for line in left_out:
            print(f"FAILED {name}: wrong" if line == WRONG else f"left out: {line}", flush=True)


def elsewhere(names, arguments, patience):
    """In processes that may die or hang: each is followed by one for the models behind."""
    failed = 0
    while names:
        only = "^(" + "|".join(map(re.escape, names)) + ")$"
        command = [sys.executable, __file__, *arguments, "--here", "--only", only]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)
        begun, said, why = 0, [], ""
        while True:
            if not select.select([process.stdout], [], [], patience)[0]:
                process.kill()
                why = f"nothing for {patience} s"
                break
            line = process.stdout.readline()
            if not line:
                break
            if line.startswith("begins: "):
                begun, said = begun + 1, []
            elif line.startswith(("|", "left out: ", "FAILED ")):
                print(line, end="", flush=True)
                failed += line.startswith("FAILED ")
            else:
                said.append(line)
        code = process.wait()
        if code == 0 and not why:
            break
        failed += 1
        print(f"FAILED {names[max(begun - 1, 0)]}: {why or f'exit code {code}'}\n{''.join(said[-12:])}", flush=True)
        names = names[max(begun, 1) :]
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", action="append", default=[], metavar="NAME=EXPRESSION")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--patience", type=int, default=600, metavar="SECONDS")
    said = parser.parse_args()
    names = sorted(folder.parent.name for folder in HOME.glob("*/facts.json"))
    names = [name for name in names if re.search(said.only, name)]
    if said.here:
        here(names, said)
        return
    torch = None if said.check else find_torch()
    print("times: " + (f"on {torch.cuda.get_device_name()}" if torch else "none, for there is no PyTorch, or --check"))
    print(f"| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|", flush=True)
    passed = [f"--rounds={said.rounds}", *(f"--torch={pair}" for pair in said.torch), *["--check"] * said.check]
    failed = elsewhere(names, passed, said.patience)
    print(f"{len(names) - failed} of {len(names)} ran, and are right")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
