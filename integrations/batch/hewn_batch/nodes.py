# SPDX-License-Identifier: Apache-2.0
"""The part of a schedule search that runs on the nodes of a Ray cluster: identifies the machine and searches parts.

search.py sends this module to workers by value, so nodes need hewn and Ray but not this package.
The module must therefore not import other modules of the package.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any

# Model on which `hewn tune` runs to identify the machine. It compiles quickly and has no schedules
# to search.
PROBE = '<ir_version: 8, opset_import: ["" : 17]>\nprobe (float[4] x) => (float[4] y) { y = Neg(x) }\n'
PROBE_SECONDS = 120
TUNING = "part.tune"


def find_hewn() -> str | None:
    """Returns the path of the program `hewn`, or None.

    Looks only in the folder HEWN_TOOLS if that is set; otherwise in the Python package hewn, next
    to the Python interpreter, and in PATH.
    """
    if told := os.environ.get("HEWN_TOOLS"):
        return shutil.which("hewn", path=told)
    package = importlib.util.find_spec("hewn")
    inside = str(pathlib.Path(package.origin).parent / "bin") if package and package.origin else ""
    for folder in (inside, str(pathlib.Path(sys.executable).parent)):
        if found := shutil.which("hewn", path=folder):
            return found
    return shutil.which("hewn")


def error_of(said: str) -> str:
    """Returns the text of the `error:` lines in the output of a command, or the whole output if there are none."""
    errors = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    return "; ".join(errors) or said.strip() or "no error message"


def ask(flags: list[str]) -> dict[str, Any]:
    """Runs `hewn tune` with these target flags and returns the names that it uses for this machine.

    The dict has "machine" and "cpu", and the version of hewn as "hewn"; or a "problem" if this node
    cannot search.
    """
    program = find_hewn()
    if program is None:
        return {"problem": "hewn is not installed"}
    with tempfile.TemporaryDirectory(prefix="hewn-tune-") as folder:
        probe = pathlib.Path(folder) / "probe.onnxtxt"
        probe.write_text(PROBE)
        command = [program, "tune", str(probe), "--budget=0", "--json", *flags]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=PROBE_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            return {"problem": str(problem)}
    if done.returncode != 0:
        return {"problem": error_of(done.stderr)}
    try:
        record = json.loads(done.stdout)
        return {key: record[key] for key in ("hewn", "machine", "cpu")}
    except (ValueError, KeyError, TypeError):
        return {"problem": f"{program} cannot search for schedules"}


def _as_a_child() -> None:
    """Prepares a child process before it executes hewn.

    The child gets SIGTERM when the worker exits, since Ray does not end the children of a killed
    worker. It also restores the default handling of SIGINT and SIGTERM, which Ray's workers change
    and children inherit.
    """
    # PR_SET_PDEATHSIG: send SIGTERM to this process when its parent exits.
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


class Searcher:
    """An actor that reserves all processors of a node.

    It has two threads, so that `stop` can be called during a search.
    """

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="hewn-tune-")
        atexit.register(self.close)
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        self.stopped = False

    def ready(self) -> None:
        """Returns when the actor has started, which is when the node's processors are free."""

    def receive(self, files: list[tuple[str, list[Any]]]) -> None:
        """Writes the files of the command.

        Each has a path relative to this node's folder, and references to its chunks in order.
        """
        import ray

        for name, chunks in files:
            path = pathlib.Path(self.folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                for chunk in chunks:
                    file.write(ray.get(chunk))

    def search(self, arguments: list[str], part: str) -> dict[str, Any]:
        """Searches a part with `hewn tune`.

        Returns its exit "status", its JSON "record" (docs/reference/json.md) and the content of its
        "tuning" file, each None if missing, and its error output as "said".
        """
        tuning = pathlib.Path(self.folder) / TUNING
        tuning.unlink(missing_ok=True)
        command = [find_hewn() or "hewn", "tune", *arguments, f"--part={part}", "--json", "-o", TUNING]
        with self.lock:
            if self.stopped:
                return {"status": 128 + signal.SIGINT, "record": None, "tuning": None, "said": ""}
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=os.environ | {"TMPDIR": self.folder},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                preexec_fn=_as_a_child,
            )
        printed, said = self.process.communicate()
        return {
            "status": self.process.returncode,
            "record": json.loads(printed) if printed.strip() else None,
            "tuning": tuning.read_text() if tuning.exists() else None,
            "said": said,
        }

    def stop(self) -> None:
        """Interrupts the current search, which then writes its results, and prevents further searches."""
        with self.lock:
            self.stopped = True
            if self.process is not None and self.process.poll() is None:
                self.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """Removes the temporary folder of this node."""
        shutil.rmtree(self.folder, ignore_errors=True)
