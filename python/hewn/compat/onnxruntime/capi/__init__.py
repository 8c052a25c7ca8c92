# SPDX-License-Identifier: Apache-2.0
"""The modules of `onnxruntime.capi` that programs import."""

from . import onnxruntime_pybind11_state

__all__ = ["onnxruntime_pybind11_state"]
