# SPDX-License-Identifier: Apache-2.0
"""For programs written for onnxruntime: the same names, on models that hewn compiles.

    from hewn.compat import onnxruntime as ort
    session = ort.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": array})

A program that is not to be changed runs by `python -m hewn.compat.onnxruntime program.py`, or after `install()`. docs/python/onnxruntime.md says what is covered.
"""

from __future__ import annotations

import warnings

from ... import __version__ as _hewn_version
from . import capi
from ._install import install, uninstall
from ._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from ._providers import get_all_providers, get_available_providers, get_device
from ._session import InferenceSession, ModelMetadata, NodeArg
from ._values import IOBinding, OrtDevice, OrtValue

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "__version__",
    "capi",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "install",
    "preload_dlls",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "uninstall",
]
# The version of onnxruntime whose names and behaviour these are; hewn's own is `hewn.__version__`.
__version__ = "1.31.1"
SessionIOBinding = IOBinding


def get_version_string() -> str:
    """The version of onnxruntime whose names these are."""
    return __version__


def get_build_info() -> str:
    """That this is hewn."""
    return f"hewn {_hewn_version}, with the names of onnxruntime {__version__}"


def set_default_logger_severity(severity: int) -> None:
    """Checked and passed over: nothing is logged. 0 is verbose, 4 fatal."""
    if not 0 <= severity <= 4:
        raise RuntimeError("Invalid logging severity. 0:Verbose, 1:Info, 2:Warning, 3:Error, 4:Fatal")


def set_default_logger_verbosity(verbosity: int) -> None:
    """Passed over: nothing is logged."""


def set_seed(seed: int) -> None:
    """Warns: random numbers follow the seeds of the model's nodes."""
    warnings.warn(
        f"set_seed({seed}): random numbers follow the seeds of the model's nodes", RuntimeWarning, stacklevel=2
    )


def set_global_thread_pool_sizes(intra_op_num_threads: int, inter_op_num_threads: int) -> None:
    """Warns: each session has threads of its own, `SessionOptions.intra_op_num_threads`."""
    warnings.warn("set_global_thread_pool_sizes: each session has threads of its own", RuntimeWarning, stacklevel=2)


def preload_dlls(*_: object, **__: object) -> None:
    """There are no libraries to load before."""


def disable_telemetry_events() -> None:
    """There are none."""


def enable_telemetry_events() -> None:
    """There are none."""
