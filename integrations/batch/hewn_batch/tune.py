# SPDX-License-Identifier: Apache-2.0
"""Runs `hewn tune` on all nodes of a Ray cluster.

    python -m hewn_batch.tune MODEL.onnx -o FILE --budget 60s [--address auto] [flags of hewn tune]

Nodes with the same type of machine divide the kernels of the model among themselves. Each node
searches its part for the time of --budget. The results are merged into one file for
`hewn compile --tuning FILE`.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from .nodes import error_of, find_hewn
from .shipped import Shipped

PROGRAM = "hewn_batch.tune"
INTERRUPTED = 130
# Flags of hewn tune that cannot be used here, and why.
USELESS = {
    "--part": "each node gets its part automatically",
    "--merge": "use `hewn tune --merge`, which needs no cluster",
    "--json": "each node has its own result; the output file contains all of them",
    "--remarks": "a search writes no remarks",
    "--cache-dir": "each node uses a temporary cache",
}
# A flag in the output of `hewn help tune`: "  --dim <name=value|low..high>  Bind ...". Its
# description continues on lines that are indented further; after a long flag, it begins there.
FLAG = re.compile(r"^  (--?[A-Za-z][\w-]*)(?: <(.*?)>)?( .*)?((?:\n {8,}.*)*)$", re.MULTILINE)


def say(text: str) -> None:
    """Prints a message to the standard error."""
    print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)


def make_parser(help_of_tune: str) -> tuple[argparse.ArgumentParser, list[str]]:
    """Returns a parser with the flags of `hewn tune`, and the names of the flags that are passed on to it.

    The flags are those that the help of `hewn tune` lists.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("model", help="ONNX model")
    parser.add_argument("--address", default="auto", help="address of the Ray cluster for ray.init (default: auto)")
    names = []
    for flag, value, *lines in FLAG.findall(help_of_tune):
        text = " ".join("".join(lines).split())
        if flag in USELESS:
            parser.add_argument(flag, dest=flag, nargs="?", const=True, help=argparse.SUPPRESS)
        elif flag == "-o":
            parser.add_argument(flag, dest="output", required=True, metavar="FILE", help=text.replace("%", "%%"))
        elif value:
            parser.add_argument(flag, dest=flag, action="append", metavar=value, help=text.replace("%", "%%"))
            names.append(flag)
        else:
            parser.add_argument(flag, dest=flag, action="store_true", help=text.replace("%", "%%"))
            names.append(flag)
    return parser, names


def flags_given(given: argparse.Namespace, names: list[str]) -> list[tuple[str, str | None]]:
    """Returns the flags of `hewn tune` that the user gave, with their values, or None for flags without a value."""
    flags: list[tuple[str, str | None]] = []
    for name in names:
        value = getattr(given, name)
        if value is True:
            flags.append((name, None))
        elif value:
            flags += [(name, one) for one in value]
    return flags


def why_not_written(output: str, shipped: Shipped, flags: list[tuple[str, str | None]]) -> str:
    """Returns why the output file can't be written, or "".

    As in `hewn tune`, it may be one of the --tuning files, but no other input.
    """
    path = pathlib.Path(output)
    tunings = [value for name, value in flags if name == "--tuning"]
    if path.is_dir() or not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return f"can't write '{output}'"
    if any(path.exists() and path.samefile(file) for file in shipped.files.values() if str(file) not in tunings):
        return f"'{output}' is also the model or another file of this command"
    return ""


def merge(program: str, tunings: list[str], output: str) -> str:
    """Merges tunings into one file, which is written completely or not at all.

    Returns an error message, or "" on success.
    """
    with tempfile.TemporaryDirectory(prefix="hewn-tune-") as folder:
        files = []
        for number, text in enumerate(tunings):
            files.append(pathlib.Path(folder) / f"{number}.tune")
            files[-1].write_text(text)
        done = subprocess.run([program, "tune", "--merge", *files, "-o", output], capture_output=True, text=True)
    return error_of(done.stderr) if done.returncode else ""


def search(program: str, shipped: Shipped, flags: list[tuple[str, str | None]], given: argparse.Namespace) -> int:
    """Searches on the cluster and writes the result. Returns the exit status."""
    import ray

    from .search import ClusterSearch, nodes_that_can

    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split()[-1]
    targets = [f"{name}={value}" for name, value in flags if name == "--target"]
    try:
        ray.init(address=given.address, log_to_driver=False)
    except ConnectionError:
        say(
            f"error: there is no Ray cluster at '{given.address}': start one with `ray start --head`, or use --address=local for this machine only"
        )
        return 1
    except (RuntimeError, ValueError) as problem:  # different version of Ray or Python, or an invalid address
        say(f"error: cannot connect to the Ray cluster at '{given.address}': {problem}")
        return 1
    try:
        nodes = nodes_that_can(targets, version, say)
        if not nodes:
            say("error: no node of the cluster can search")
            return 1
        found = ClusterSearch(nodes, shipped.put(ray), shipped.arguments, say)
        for machine, parts in found.queues.items():
            say(f"{machine}: parts for {len(parts)} nodes, {shipped.bytes() / 1e6:.1f} MB to each")
        found.run()
    finally:
        ray.shutdown()
    problems = list(found.problems)
    if found.tunings and (failure := merge(program, found.tunings, given.output)):
        problems.append(failure)
    elif found.tunings:
        say(f"wrote {given.output}")
    for told in problems:
        say(f"error: {told}")
    return 1 if problems else INTERRUPTED if found.stopped else 0


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    program = find_hewn()
    if program is None:
        say("error: hewn is not installed on this machine; it is needed to read the model and to merge the results")
        return 1
    listed = subprocess.run([program, "help", "tune"], capture_output=True, text=True).stdout
    parser, names = make_parser(listed)
    given = parser.parse_args(arguments)
    for flag, why in USELESS.items():
        if getattr(given, flag, None):
            parser.error(f"{flag} cannot be used here: {why}")
    flags = flags_given(given, names)
    try:
        shipped = Shipped(program, given.model, flags)
    except (OSError, ValueError) as problem:
        say(f"error: {problem}")
        return 1
    if why := why_not_written(given.output, shipped, flags):
        say(f"error: {why}")
        return 1
    try:
        import ray  # noqa: F401
    except ImportError:
        say('error: Ray is not installed: pip install "ray>=2.40"')
        return 1
    try:
        return search(program, shipped, flags, given)
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
