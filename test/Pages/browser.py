# SPDX-License-Identifier: Apache-2.0
"""Drives headless Chromium through the DevTools protocol over a pipe, with the standard library
only.

The protocol is documented at https://chromedevtools.github.io/devtools-protocol/. With
--remote-debugging-pipe, the browser reads JSON from descriptor 3 and writes it to descriptor 4; a
zero byte ends each message."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


def find() -> str | None:
    """Returns the browser named by HEWN_BROWSER, or the first of NAMES that is on the path. Returns
    None if there is none."""
    return os.environ.get("HEWN_BROWSER") or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    def __init__(self, program: str):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self.to = os.pipe()
        self.read_from, theirs_out = os.pipe()
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
        ]
        flags += [
            "--no-first-run",
            "--disable-background-networking",
            f"--user-data-dir={self.folder.name}",
            "about:blank",
        ]
        # The browser needs the pipe ends as descriptors 3 and 4. Here both have larger numbers.
        command = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", program, *flags]
        self.log = pathlib.Path(self.folder.name) / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, pass_fds=[theirs_in, theirs_out], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.buffer, self.events = 0, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(f"{domain}.enable")

    session = None

    def message(self, deadline: float):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_from], [], [], left)[0]:
                raise TimeoutError(f"no message from the browser; its log ends: {self.log.read_bytes()[-2000:]!r}")
            got = os.read(self.read_from, 1 << 20)
            if not got:
                raise RuntimeError(f"the browser has ended; its log ends: {self.log.read_bytes()[-2000:]!r}")
            self.buffer += got
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method: str, seconds: float = 60, **parameters):
        self.number += 1
        call = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            call["sessionId"] = self.session
        data = json.dumps(call).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        deadline = time.monotonic() + seconds
        while True:
            got = self.message(deadline)
            if got.get("id") == self.number:
                assert "error" not in got, got
                return got["result"]
            self.events.append(got)

    def wait(self, event: str, seconds: float = 60):
        deadline = time.monotonic() + seconds
        while not any(got.get("method") == event for got in self.events):
            self.events.append(self.message(deadline))

    def open(self, path, width: int, height: int = 900, dark: bool = False, scale: float = 1):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.events.clear()
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait("Page.loadEventFired")

    def run(self, expression: str):
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, got
        return got["result"].get("value")

    def key(self, key: str):
        for kind in "keyDown", "keyUp":
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9}.get(key, 0)
            )

    def mouse(self, kind: str, x: float, y: float, **more):
        """Dispatches a mouse event: mouseMoved, mousePressed, mouseReleased or mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float, count: int = 1):
        for number in range(1, count + 1):
            for kind in "mousePressed", "mouseReleased":
                self.mouse(kind, x, y, button="left", clickCount=number)

    def until(self, expression: str, seconds: float = 60):
        """Waits until an expression is true."""
        deadline = time.monotonic() + seconds
        while not self.run(expression):
            assert time.monotonic() < deadline, f"not true after {seconds} s: {expression}"
            time.sleep(0.02)

    def complaints(self) -> list:
        """Returns the errors and warnings in the console, and every request except the one for the
        page."""
        found = []
        for event in self.events:
            method, told = event.get("method"), event.get("params", {})
            if method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
                found.append(told["entry"]["text"])
            elif method == "Runtime.exceptionThrown":
                found.append(told["exceptionDetails"]["text"])
            elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
                found.append(str(told["args"]))
            elif method == "Network.requestWillBeSent" and told["type"] != "Document":
                found.append(f"asks for {told['request']['url']}")
            elif method == "Page.javascriptDialogOpening":
                found.append(f"asks: {told['message']}")
        return found

    def picture(self, path, whole: bool = False):
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {
                "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1},
                "captureBeyondViewport": True,
            }
        data = self.call("Page.captureScreenshot", format="png", **clip)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        os.close(self.to)
        os.close(self.read_from)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
