# SPDX-License-Identifier: Apache-2.0
"""The profile of a session: the time of each run, as the trace events that onnxruntime writes."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import threading
import time
from typing import Any


class Profile:
    """Records runs until `end` writes them.

    The name of the file is that of onnxruntime: the prefix and the time at which the session was
    created.
    """

    def __init__(self, prefix: str) -> None:
        self.start_ns = time.monotonic_ns()
        now = datetime.datetime.now()
        self._path = f"{prefix}_{now:%Y-%m-%d_%H-%M-%S}_{now.microsecond // 1000:03}.json"
        self._events: list[dict[str, Any]] | None = []

    def record(self, begin_ns: int) -> None:
        """Records a run that began at this time of time.monotonic_ns and ends now."""
        if self._events is not None:
            self._events.append(
                {
                    "cat": "Session",
                    "pid": os.getpid(),
                    "tid": threading.get_native_id(),
                    "dur": (time.monotonic_ns() - begin_ns) // 1000,
                    "ts": (begin_ns - self.start_ns) // 1000,
                    "ph": "X",
                    "name": "model_run",
                    "args": {},
                }
            )

    def end(self) -> str:
        """Writes the file at the first call. Returns its name, or "" at later calls."""
        events, self._events = self._events, None
        if events is None:
            return ""
        with pathlib.Path(self._path).open("w", encoding="utf-8") as file:
            json.dump(events, file, indent=0)
        return self._path
