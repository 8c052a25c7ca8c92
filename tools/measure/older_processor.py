# SPDX-License-Identifier: Apache-2.0
"""Runs a command in which other engines behave as on a processor with fewer instruction sets.

    python tools/measure/older_processor.py x86-64-v3 COMMAND ...
    python tools/measure/older_processor.py x86-64-v3 .venv/bin/python tools/benchmark.py --target x86-64-v3 MODEL.onnx ...

Engines select their kernels by the instruction `cpuid`. onnxruntime has no option to restrict the
selection, OpenVINO's ONEDNN_MAX_CPU_ISA does not affect all of its kernels, and on many machines
the operating system cannot intercept the instruction. Therefore, this script copies the packages of
the engines to build/held. The copies are symbolic links, except for libraries that contain `cpuid`
according to llvm-objdump: there, an invalid instruction replaces `cpuid`, and the signal handler of
older_processor.c emulates it. hewn itself runs unmodified, since its option --target restricts it.
Libraries that read /proc/cpuinfo or generate code with `cpuid` at run time are not restricted.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
LEVELS = {"x86-64-v2": 2, "x86-64-v3": 3, "x86-64-v4": 4}
PACKAGES = ("onnxruntime", "openvino")
CPUID, ILLEGAL = b"\x0f\xa2", b"\x0f\xb9"
OBJDUMP = os.environ.get("LLVM_OBJDUMP", "/usr/lib/llvm-22/bin/llvm-objdump")


def held(library: pathlib.Path) -> bytes | None:
    """Returns the content of a library with each `cpuid` instruction replaced.

    Returns None if the library has no `cpuid`.
    """
    data = bytearray(library.read_bytes())
    if CPUID not in data:
        return None
    command = [OBJDUMP, "--disassemble", "--no-show-raw-insn", str(library)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    addresses = [int(at, 16) for at in re.findall(r"^\s*([0-9a-f]+):\s+cpuid$", said, re.M)]
    headers = subprocess.run([OBJDUMP, "--private-headers", library], capture_output=True, text=True, check=True).stdout
    loads = re.findall(r"LOAD off\s+0x([0-9a-f]+) vaddr 0x([0-9a-f]+).*?filesz 0x([0-9a-f]+)", headers, re.S)
    segments = [tuple(int(number, 16) for number in load) for load in loads]
    for address in addresses:
        offset = next(off + address - start for off, start, size in segments if start <= address < start + size)
        assert data[offset : offset + 2] == CPUID
        data[offset : offset + 2] = ILLEGAL
    return bytes(data) if addresses else None


def copied(package: str, folder: pathlib.Path) -> None:
    """Copies a package into `folder`, as symbolic links except for libraries that contain `cpuid`."""
    spec = importlib.util.find_spec(package)
    if not spec or not spec.submodule_search_locations:
        sys.exit(f"the package {package} is not installed")
    source = pathlib.Path(spec.submodule_search_locations[0])
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source, unfinished / package, copy_function=os.symlink)
    for path in unfinished.rglob("*.so*"):
        library = path.resolve()
        path.unlink()  # a library finds others relative to its real path, after resolving links
        text = held(library)
        if text is None:
            shutil.copy2(library, path)
        else:
            path.write_bytes(text)
            path.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def built(folder: pathlib.Path) -> pathlib.Path:
    """Compiles older_processor.c and returns the library to preload."""
    answers = folder / "older_processor.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", answers, HERE / "older_processor.c"], check=True)
    return answers


def environment(level: str) -> dict[str, str]:
    """Returns the environment variables for a process with restricted engines.

    Creates the copies if necessary (takes a minute and 400 MB).
    """
    place = ROOT / "build" / "held"
    place.mkdir(parents=True, exist_ok=True)
    paths = []
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            continue
        folder = place / f"{package}-{importlib.metadata.version(package)}"
        if not folder.exists():
            copied(package, folder)
        paths.append(str(folder))
    answers = built(place)
    before = [path for path in (os.environ.get("PYTHONPATH"),) if path]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths + before),
        "LD_PRELOAD": str(answers),
        "HELD_LEVEL": str(LEVELS[level]),
        "ONEDNN_MAX_CPU_ISA": {2: "SSE41", 3: "AVX2", 4: "AVX512_CORE"}[LEVELS[level]],
    }


def main(arguments: list[str]) -> None:
    """Runs the command with engines restricted to the level."""
    if len(arguments) < 2 or arguments[0] not in LEVELS:
        sys.exit(__doc__)
    level, *command = arguments
    os.execvpe(command[0], command, environment(level))


if __name__ == "__main__":
    main(sys.argv[1:])
