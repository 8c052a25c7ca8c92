# SPDX-License-Identifier: Apache-2.0
"""The classes of the package, under onnxruntime's module path."""

from .._session import InferenceSession, Session  # noqa: F401
from .._values import IOBinding, OrtDevice, OrtValue  # noqa: F401
