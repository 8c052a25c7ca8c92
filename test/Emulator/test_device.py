# SPDX-License-Identifier: Apache-2.0
"""The models of test_emulated.py on a real device: skipped where there is none. In a process without the emulator:

PYTHONPATH=build/dev/python HEWN_TOOLS=build/dev/bin .venv/bin/python -m pytest test/Emulator/test_device.py

With a name as its argument it runs that one model, which is what NVIDIA's compute-sanitizer looks at.
"""

import pathlib
import shutil
import subprocess
import sys

import hewn
import numpy as np
import pytest
from comparison import compare, feeds_for
from device import TARGET, WHY

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Target"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Numeric"))
from test_chains import attention
from test_ptx import MODELS

ATTENTION = {
    "attention": (2, 3, 70, 70, 64, "add", False),
    "attention-one-row": (1, 2, 1, 300, 64, "row", False),
    "attention-long-lines": (1, 1, 50, 90, 128, "none", False),
    "attention-dynamic": (1, 2, 45, 133, 32, "where", False, True, True),
}
needs_device = pytest.mark.skipif(TARGET is None, reason=f"no GPU: {WHY}")
SANITIZER = shutil.which("compute-sanitizer")


def given(name):
    """A model by name, and its inputs."""
    if name in ATTENTION:
        return attention(*ATTENTION[name])
    return MODELS[name], feeds_for(hewn.compile(MODELS[name]).inputs)


@needs_device
@pytest.mark.parametrize("name", [*MODELS, *ATTENTION])
def test_as_on_the_host(name):
    model, feeds = given(name)
    module, want = hewn.compile(model, target=TARGET), hewn.compile(model).run(feeds)
    for _ in range(3):  # recorded, then played
        compare(module.run(feeds), want)


@needs_device
def test_kept_code(tmp_path):
    """The second time the driver's translation is read from the folder, and is as good."""
    model, feeds = given("softmax")
    hewn.compile(model, target=TARGET, output=tmp_path / "model.so")
    first = hewn.load(tmp_path / "model.so", cache_dir=tmp_path / "kept").run(feeds)
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".cubin"]
    second = hewn.load(tmp_path / "model.so", cache_dir=tmp_path / "kept").run(feeds)
    for key, value in first.items():
        np.testing.assert_array_equal(second[key], value)


@needs_device
@pytest.mark.skipif(SANITIZER is None, reason="compute-sanitizer is not installed: a CUDA toolkit has it")
@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "synccheck"])
@pytest.mark.parametrize("name", [*MODELS, *ATTENTION])
def test_sanitized(name, tool):
    command = [SANITIZER, "--tool", tool, "--error-exitcode", "9", sys.executable, __file__, name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]


def test_benchmark_says_why_not():
    """Without a device the benchmark prints the reason and is no error."""
    script = pathlib.Path(__file__).parents[2] / "tools" / "benchmark_gpu.py"
    if TARGET is not None:
        pytest.skip("there is a GPU: run tools/benchmark_gpu.py for figures")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0 and "no GPU" in done.stdout, done.stdout + done.stderr


if __name__ == "__main__":
    model, feeds = given(sys.argv[1])
    hewn.compile(model, target=TARGET).run(feeds)
