# SPDX-License-Identifier: Apache-2.0
"""Root file systems of other Debian releases, made by mmdebstrap and kept in the cache folder, and
commands run in them by chroot. Requires root, mmdebstrap, and the package sources of the machine.

The packages of roots for AArch64 are only unpacked, since their scripts cannot run. Programs in
these roots run under qemu-user.

    python test/Install/roots.py bullseye trixie    creates the roots and prints their folders
    python test/Install/roots.py --archive          prints the address of the Debian archive
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "hewn/roots"
# Packages of each root. Debian 11 is the oldest release of the archive: glibc 2.31, Python 3.9.
PACKAGES = {
    "bullseye": ["gcc", "libc6-dev", "libffi-dev", "make", "python3", "xz-utils", "zlib1g-dev"],
    "bookworm": ["gcc", "libc6-dev", "make", "python3-venv"],
    "trixie": ["gcc", "libc6-dev", "make", "python3-venv"],
    "forky": ["gcc", "libc6-dev", "make", "python3-venv"],
    "bullseye-arm64": ["libc6", "libgcc-s1"],
    "bookworm-arm64": ["libgcc-s1", "libstdc++6", "python3"],
    "trixie-arm64": ["libgcc-s1", "libstdc++6", "python3"],
}
MERGED = "/usr/share/mmdebstrap/hooks/merged-usr"
# The emulator of programs for AArch64 (Debian: qemu-user).
QEMU = "qemu-aarch64"
# CPython that tools/setup --release builds for the stable ABI, with its source.
SOURCE = CACHE.parent / "python-3.13/source.tar.xz"


def unavailable() -> str | None:
    """Returns the reason why roots can't be created or entered, or None."""
    if os.geteuid() != 0:
        return "chroot requires root"
    if not shutil.which("mmdebstrap"):
        return "mmdebstrap is not installed"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return "unshare -m is not permitted"
    return None


def mirror() -> str:
    """Returns the address of the Debian archive in the package sources of this computer."""
    release = re.search(r"VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text())[1]
    files = [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]
    for file in files:
        text = file.read_text() if file.exists() else ""
        for line in re.findall(rf"^deb (?:\[[^]]*\] )?(\S+) {release} ", text, re.MULTILINE):
            return line
        for entry in text.split("\n\n"):
            uris = re.search(r"^URIs: *(\S+)", entry, re.MULTILINE)
            if uris and re.search(rf"^Suites:.*\b{release}(\s|$)", entry, re.MULTILINE):
                return uris[1]
    raise SystemExit(f"roots: no package source of Debian {release} in /etc/apt")


def root(suite: str) -> pathlib.Path:
    """Returns the folder of a root, and creates the root if necessary."""
    packages = PACKAGES[suite]
    key = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:8]
    folder = CACHE / f"{suite}-{key}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as scratch:
            made = pathlib.Path(scratch) / "root"
            release, _, architecture = suite.partition("-")
            command = ["mmdebstrap", "--mode=root", f"--include={','.join(packages)}"]
            if architecture:
                # /lib is a link to /usr/lib, as in an installed Debian.
                command += ["--variant=extract", f"--architectures={architecture}", f"--hook-dir={MERGED}"]
            else:
                command += ["--variant=minbase"]
            # The list of testing expires after a week if the mirror is not updated. Its signature
            # is verified nevertheless.
            command += ['--aptopt=Acquire::Check-Valid-Until "false"']
            done = subprocess.run([*command, release, made, mirror()], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{done.stderr}\nroots: mmdebstrap of {suite} failed")
            made.chmod(0o755)
            made.rename(folder)
    return folder


def emulated(folder: pathlib.Path, *command: object, env: dict[str, str] | None = None) -> str:
    """Runs a program for AArch64 with the libraries of a root. Files that the root does not have are
    those of this machine. Returns the output."""
    command = [QEMU, "-L", folder, *command]
    done = subprocess.run(
        [str(c) for c in command], env=os.environ | (env or {}), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"{done.stdout}\n{folder.name}: exit status {done.returncode} of {command}")
    return done.stdout


def newer_python(folder: pathlib.Path) -> str:
    """Returns the path, in the root, of a CPython that is built there once from `SOURCE`."""
    path = "/opt/python/bin/python3"
    if not (folder / path.lstrip("/")).is_symlink():
        build = (
            "cd /tmp && tar xf /source/source.tar.xz && cd Python-*/ && ./configure -q --prefix=/opt/python --disable-test-modules"
            f" CFLAGS=-g0 && make -s -j {os.cpu_count()} && make -s install && rm -rf /tmp/Python-*"
        )
        run_in(folder, build, {"/source": SOURCE.parent})
    return path


def run_in(folder: pathlib.Path, command: str, shared: dict[str, pathlib.Path], check: bool = True) -> str:
    """Runs a shell command in a root, with folders of this machine mounted at the paths in `shared`,
    and without a network. Returns the output."""
    mounts = ["mount -t proc proc proc", "mount --rbind /dev dev"]
    for inside, outside in shared.items():
        (folder / inside.lstrip("/")).mkdir(parents=True, exist_ok=True)
        mounts.append(f"mount --bind {outside} {inside.lstrip('/')}")
    script = f'cd {folder} && {" && ".join(mounts)} && exec chroot . sh -ec "$1"'
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["unshare", "--mount", "--net", "sh", "-ec", script, "sh", command],
        env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if check and done.returncode:
        raise AssertionError(f"{done.stdout}\n{folder.name}: exit status {done.returncode} of {command}")
    return done.stdout


if __name__ == "__main__":
    if sys.argv[1:] == ["--archive"]:
        sys.exit(print(mirror()))
    if why := unavailable():
        sys.exit(f"roots: {why}")
    for suite in sys.argv[1:]:
        print(root(suite))
