# SPDX-License-Identifier: Apache-2.0
"""`hewn demo`: compiles a small model, runs it, and compares its time with onnxruntime's.

The model reads handwritten digits of 8x8 pixels (tools/generate/demo_model.py).
"""

from __future__ import annotations

import json
import pathlib
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import hewn

FOLDER = pathlib.Path(__file__).parent
MODEL = FOLDER / "digits.onnxtxt"
_SHADES = " .:-=+*#%@"


def samples() -> list[tuple[int, np.ndarray]]:
    """Returns digits and their images: float32 of shape (1, 64), pixels from 0 to 16."""
    listed = json.loads((FOLDER / "samples.json").read_text())
    return [(one["digit"], np.array([one["image"]], np.float32)) for one in listed]


def _drawn(image: np.ndarray) -> list[str]:
    shades = (image.reshape(8, 8) * (len(_SHADES) - 1) / 16).round().astype(int)
    return ["".join(_SHADES[pixel] * 2 for pixel in row) for row in shades]


def _microseconds(run: Callable[[], object]) -> float:
    """Returns the least time of a call in 0.2 seconds."""
    least, end = float("inf"), time.perf_counter() + 0.2
    while time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - begin)
    return least * 1e6


def _onnxruntime(feeds: dict[str, Any]) -> tuple[str, float, np.ndarray] | None:
    """Returns the version of onnxruntime, its time for a run in microseconds and its result.

    Returns None if onnxruntime is not installed.
    """
    try:
        import onnx
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = onnx.parser.parse_model(MODEL.read_text())
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnxruntime.__version__, _microseconds(lambda: session.run(None, feeds)), session.run(None, feeds)[0]


def main(arguments: Sequence[str] = ()) -> int:
    """Prints the demo. Returns the exit status."""
    if arguments:
        print("error: hewn demo takes no arguments", file=sys.stderr)
        return 2
    print(f"hewn {hewn.__version__} on {platform.machine()}: a model that reads handwritten digits")
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder, "libdigits.so")
        begin = time.perf_counter()
        module = hewn.compile(MODEL, dims={"batch": 1}, output=library)
        seconds = time.perf_counter() - begin
        size = sum(path.stat().st_size for path in library.parent.iterdir() if path.suffix != ".h")
        print(f"compiled {MODEL} in {seconds:.2f} s: {size / 1000:.0f} kB of code and weights, which need no engine\n")
        read = []
        for _, image in samples():
            scores = module.run({"image": image})["scores"][0]
            read.append(f"{scores.argmax()} ({scores.max():.1%})")
        pictures = [_drawn(image) for _, image in samples()]
        for lines in zip(*pictures):
            print("   ".join(lines))
        print("   ".join(text.center(16) for text in read).rstrip() + "\n")
        feeds = {"image": samples()[0][1]}
        own = _microseconds(lambda: module.run(feeds))
        print(f"a run from Python: {own:.1f} us by hewn", end="")
        if other := _onnxruntime(feeds):
            version, theirs, result = other
            difference = np.abs(module.run(feeds)["scores"] - result).max()
            print(f", {theirs:.1f} us by onnxruntime {version}; the results differ by at most {difference:.0e}")
        else:
            print(" (install onnx and onnxruntime to compare)")
        module.close()
    print(
        "\nNext: hewn compile YOUR.onnx -o libmodel.so   a library, a C header and the weights\n"
        "      hewn check YOUR.onnx                     compares all values with an unoptimized compile\n"
        "      hewn bench YOUR.onnx                     times it\n"
        "      module = hewn.compile('YOUR.onnx')       in Python; hewn help lists all commands"
    )
    return 0
