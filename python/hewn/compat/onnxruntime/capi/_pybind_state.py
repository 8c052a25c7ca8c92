# SPDX-License-Identifier: Apache-2.0
"""The names of onnxruntime's extension module."""

from .._session import InferenceSession, ModelMetadata, NodeArg  # noqa: F401
from .._values import IOBinding as SessionIOBinding  # noqa: F401
from .._values import OrtDevice, OrtValue  # noqa: F401
from .onnxruntime_pybind11_state import *  # noqa: F403
