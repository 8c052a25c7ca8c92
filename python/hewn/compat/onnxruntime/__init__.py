# SPDX-License-Identifier: Apache-2.0
"""onnxruntime's interface for programs that were written for it, with models compiled by hewn.

    from hewn.compat import onnxruntime as ort
    session = ort.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": array})

An unchanged program can run by `python -m hewn.compat.onnxruntime program.py`, or after
`install()`. For the supported interface, see docs/python/onnxruntime.md.
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
# The version of onnxruntime whose interface is implemented; hewn's version is `hewn.__version__`.
__version__ = "1.31.1"
SessionIOBinding = IOBinding


def get_version_string() -> str:
    """Returns the version of onnxruntime whose interface is implemented."""
    return __version__


def get_build_info() -> str:
    """Returns a text that identifies hewn."""
    return f"hewn {_hewn_version}, with the interface of onnxruntime {__version__}"


def set_default_logger_severity(severity: int) -> None:
    """Checks the severity (0 is verbose, 4 fatal). No effect: nothing is logged."""
    if not 0 <= severity <= 4:
        raise RuntimeError("Invalid logging severity. 0:Verbose, 1:Info, 2:Warning, 3:Error, 4:Fatal")


def set_default_logger_verbosity(verbosity: int) -> None:
    """Has no effect, because this package writes no log."""


def set_seed(seed: int) -> None:
    """Warns that the seed has no effect: random numbers only depend on the seeds of the model's nodes."""
    warnings.warn(
        f"set_seed({seed}): random numbers only depend on the seeds of the model's nodes", RuntimeWarning, stacklevel=2
    )


def set_global_thread_pool_sizes(intra_op_num_threads: int, inter_op_num_threads: int) -> None:
    """Warns that there is no global thread pool.

    Each session has its own threads, see `SessionOptions.intra_op_num_threads`.
    """
    warnings.warn("set_global_thread_pool_sizes: each session has its own threads", RuntimeWarning, stacklevel=2)


def preload_dlls(*_: object, **__: object) -> None:
    """Has no effect, because this package needs no preloaded CUDA libraries."""


def disable_telemetry_events() -> None:
    """Has no effect, because this package sends no telemetry."""


def enable_telemetry_events() -> None:
    """Has no effect, because this package sends no telemetry."""
