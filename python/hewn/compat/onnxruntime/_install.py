# SPDX-License-Identifier: Apache-2.0
"""Makes `import onnxruntime` import this package, for unchanged programs."""

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
    """Makes `import onnxruntime` and its submodules resolve to `hewn.compat.onnxruntime` in this process.

    Must be called before onnxruntime is imported, otherwise it raises ImportError. Submodules that
    this package lacks (onnxruntime.quantization) are not found. Does not change installed packages:
    importlib.metadata still reports the real onnxruntime.
    """
    ours = {f"onnxruntime{name}": importlib.import_module(_HERE + name) for name in _NAMES}
    real = sys.modules.get("onnxruntime")
    if real is not None and real is not ours["onnxruntime"]:
        raise ImportError(
            "onnxruntime is already imported: call hewn.compat.onnxruntime.install() before the first import"
        )
    sys.modules.update(ours)


def uninstall() -> None:
    """Reverts `install` for later imports. Modules that were already imported are not affected."""
    ours = importlib.import_module(_HERE)
    if sys.modules.get("onnxruntime") is ours:
        for name in [name for name in sys.modules if name == "onnxruntime" or name.startswith("onnxruntime.")]:
            del sys.modules[name]
