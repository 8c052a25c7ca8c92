# SPDX-License-Identifier: Apache-2.0
"""Finds the GPU of this machine: its name for --target, or the reason why there is none. Also
provides a worker process for tests that use the GPU."""

import ctypes
import multiprocessing
import os
import pickle
import traceback

import hewn


def find():
    if os.environ.get("HEWN_EMULATOR"):
        return None, "the emulator is this process's driver"
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as problem:
        return None, f"no driver: {problem}"
    count, device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        return None, "the driver finds no device"
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    exact = {(9, 0): "sm_90a", (10, 0): "sm_100a", (8, 9): "sm_89", (8, 6): "sm_86"}
    return exact.get((major.value, minor.value), "sm_80"), ""


TARGET, WHY = find()


class Worker:
    """Calls functions in another process. If a device fails or hangs, its process is replaced, so
    that one failure does not affect later tests."""

    def __init__(self):
        self.process = None

    def call(self, function, *arguments, seconds=180):
        """Returns or raises the result of function(*arguments). Raises TimeoutError after
        `seconds`, and ChildProcessError if the process dies."""
        if not self.process:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=serve, args=(other,), daemon=True)
            self.process.start()
            other.close()
        what = f"{function.__name__}{arguments}"
        self.pipe.send((function, arguments))
        try:
            if not self.pipe.poll(seconds):
                self.end()
                raise TimeoutError(f"{what} took more than {seconds} s: do its blocks deadlock?")
            problem, answer = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            code = self.process.exitcode
            self.end()
            raise ChildProcessError(f"{what} ended its process with {code}") from None
        if problem is None:
            return answer
        if not isinstance(problem, hewn.CompileError):
            self.end()
        problem.add_note(answer)
        raise problem

    def end(self):
        """Ends the worker process. The next call starts another one."""
        if self.process:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = None


def keep_context():
    """Retains the device's primary context for the life of the process. Creating it for each model
    would take longer than the model."""
    driver, context, device = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_int()
    driver.cuInit(0)
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


def serve(pipe):
    if TARGET:
        keep_context()
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = None, function(*arguments)
        except Exception as problem:
            try:
                pickle.loads(pickle.dumps(problem))
            except Exception:
                problem = RuntimeError(str(problem))
            answer = problem, traceback.format_exc()
        pipe.send(answer)


WORKER = Worker()
