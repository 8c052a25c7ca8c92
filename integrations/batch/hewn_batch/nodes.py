# SPDX-License-Identifier: Apache-2.0
"""What a node of a Ray cluster does for a search over schedules: it says which machine it is, and searches parts.

Workers get all of this by value (tune.py), so that a node needs hewn and Ray, and not this package: nothing else of it is used here."""

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

# A model that compiles at once and has nothing to search.
PROBE = '<ir_version: 8, opset_import: ["" : 17]>\nprobe (float[4] x) => (float[4] y) { y = Neg(x) }\n'
PROBE_SECONDS = 120
TUNING = "part.tune"


def find_hewn() -> str | None:
    """The program `hewn`: in the folder HEWN_TOOLS where that is set; else in this Python's package hewn, beside this Python or on the path.
    None where there is none."""
    if told := os.environ.get("HEWN_TOOLS"):
        return shutil.which("hewn", path=told)
    package = importlib.util.find_spec("hewn")
    inside = os.path.join(os.path.dirname(package.origin), "bin") if package and package.origin else ""
    for folder in (inside, os.path.dirname(sys.executable)):
        if found := shutil.which("hewn", path=folder):
            return found
    return shutil.which("hewn")


def error_of(said: str) -> str:
    """The errors among what a command said, without the word; all of it where there is none."""
    errors = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    return "; ".join(errors) or said.strip() or "it said nothing"


def ask(flags: list[str]) -> dict:
    """What `hewn tune` with these flags (of targets) would call the machine: its "machine", "cpu" and "hewn", the version; or a
    "problem", why nothing can be searched here."""
    program = find_hewn()
    if program is None:
        return {"problem": "it has no hewn"}
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
        return {"problem": f"{program} is no hewn that searches"}


def _as_a_child() -> None:
    """Runs in a process that becomes hewn: it is asked to end when the worker is gone, also where that was killed, after which Ray leaves
    its children alone; and it hears Ctrl-C, which Ray's processes keep from theirs."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


class Searcher:
    """An actor that has a node for itself, and two threads: `stop` reaches a search that runs."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="hewn-tune-")
        atexit.register(self.close)
        self.lock = threading.Lock()
        self.process: subprocess.Popen | None = None
        self.stopped = False

    def ready(self) -> None:
        """Answers when the node is free."""

    def receive(self, files: list[tuple[str, list]]) -> None:
        """Writes files of the command: of each its path in this node's folder, and references to its bytes, one behind the other."""
        import ray

        for name, chunks in files:
            path = pathlib.Path(self.folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                for chunk in chunks:
                    file.write(ray.get(chunk))

    def search(self, arguments: list[str], part: str) -> dict:
        """Searches a part: the "status" of `hewn tune`, its "record" (docs/reference/json.md) and "tuning", the file, each None where there is
        none, and what it "said"."""
        tuning = pathlib.Path(self.folder) / TUNING
        tuning.unlink(missing_ok=True)
        command = [find_hewn(), "tune", *arguments, f"--part={part}", "--json", "-o", TUNING]
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
        """Ctrl-C: the search that runs ends with what it has, and none begins."""
        with self.lock:
            self.stopped = True
            if self.process is not None and self.process.poll() is None:
                self.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """Removes the node's folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
