# SPDX-License-Identifier: Apache-2.0
"""`import onnxruntime` as this package, for programs that are not to be changed."""

from __future__ import annotations

import importlib
import sys

_HERE = __name__.rpartition(".")[0]
_NAMES = (
    "",
    ".capi",
    ".capi._pybind_state",
    ".capi.onnxruntime_inference_collection",
    ".capi.onnxruntime_pybind11_state",
)


def install() -> None:
    """From here on `import onnxruntime`, and of what is below it all that is here, is `hewn.compat.onnxruntime`, in this process.

    To be called before anything imports onnxruntime: ImportError where the real one is already there, since whoever imported it holds it. Modules that
    this package does not have (onnxruntime.quantization) are not found. What is installed is untouched, so importlib.metadata tells of the real one.
    """
    ours = {f"onnxruntime{name}": importlib.import_module(_HERE + name) for name in _NAMES}
    real = sys.modules.get("onnxruntime")
    if real is not None and real is not ours["onnxruntime"]:
        raise ImportError(
            "onnxruntime is already imported, and whoever did holds it: call hewn.compat.onnxruntime.install() before that"
        )
    sys.modules.update(ours)


def uninstall() -> None:
    """Takes `install` back for imports to come; whoever imported in between keeps what they have."""
    ours = importlib.import_module(_HERE)
    if sys.modules.get("onnxruntime") is ours:
        for name in [name for name in sys.modules if name == "onnxruntime" or name.startswith("onnxruntime.")]:
            del sys.modules[name]
