# SPDX-License-Identifier: Apache-2.0
"""Finds the beats in a signal. Usage: beats.py FOLDER, the folder of ops.json and ops.o (see `run`)."""

import pathlib
import sys

import hewn
import numpy as np

time = np.arange(400) / 100
signal = np.sin(2 * np.pi * 11 * time) * np.exp(-8 * (time % 1))
here = pathlib.Path(__file__).parent

module = hewn.compile(here / "beats.onnxtxt", custom_ops=pathlib.Path(sys.argv[1]) / "ops.json")
beats = module.run({"signal": signal.astype(np.float32)})["places"]
print("beats at", " ".join(f"{t:.2f} s" for t in beats / 100))
