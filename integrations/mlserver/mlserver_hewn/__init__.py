# SPDX-License-Identifier: Apache-2.0
"""MLServer runtime for hewn: "implementation": "mlserver_hewn.HewnModel" in model-settings.json."""

__all__ = ["HewnModel"]


def __getattr__(name: str) -> object:
    """Imports HewnModel, and with it MLServer, on first use, since compile_step does not need MLServer."""
    if name != "HewnModel":
        raise AttributeError(f"module 'mlserver_hewn' has no attribute '{name}'")
    from .runtime import HewnModel

    return HewnModel
