# SPDX-License-Identifier: Apache-2.0
"""hewn's models in MLServer: "implementation": "mlserver_hewn.HewnModel" in model-settings.json."""

__all__ = ["HewnModel"]


def __getattr__(name: str) -> object:
    """MLServer is imported by those who serve; the step that compiles (compile_step) is in the same package and wants none."""
    if name != "HewnModel":
        raise AttributeError(f"module 'mlserver_hewn' has no attribute '{name}'")
    from .runtime import HewnModel

    return HewnModel
