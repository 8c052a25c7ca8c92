# SPDX-License-Identifier: Apache-2.0
"""What programs import from `onnxruntime.capi`."""

from . import onnxruntime_pybind11_state

__all__ = ["onnxruntime_pybind11_state"]
