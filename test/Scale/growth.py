#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how compile time and memory grow: for each family (families.py), compiles a graph and
another graph with four times as many nodes.

    growth.py [--families unrolled,grid] [--nodes 300] [--times 4] [--sizes known,open] [--limit 120] [--keep DIR]

Prints a line for each family: the number of nodes, CPU seconds and MB of `hewn compile` for the
larger graph, and the ratios to the smaller graph. Times and sizes do not include those of compiling
a graph of one node. A line is marked with `<<<` if the time or the memory grows clearly faster than
the number of nodes, or if a node takes more than 10 ms.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx

ROOT = pathlib.Path(__file__).parents[2]
sys.path += [str(pathlib.Path(__file__).parent), str(ROOT / "tools" / "measure")]
import families  # noqa: E402
import spent  # noqa: E402

TOOL = pathlib.Path(os.environ.get("HEWN_TOOLS", ROOT / "build" / "dev" / "bin")) / "hewn"
SECONDS_A_NODE = 0.010


def nodes_of(graph):
    """Returns the number of nodes of a graph and of its subgraphs."""
    inner = (a.g for node in graph.node for a in node.attribute if a.type == onnx.AttributeProto.GRAPH)
    return len(graph.node) + sum(map(nodes_of, inner))


def measure(model, folder, flags=(), limit=None):
    """Compiles the model to a library and returns the CPU time and the memory of the compilation.
    Raises CalledProcessError if it fails and TimeoutExpired after `limit` seconds."""
    path = pathlib.Path(folder) / "model.onnx"
    path.write_bytes(model.SerializeToString())
    command = [TOOL, "compile", path, "--target", "x86-64-v3", "-o", path.with_name("libmodel.so"), *flags]
    with tempfile.TemporaryFile("w+") as said:
        used = spent.spent(command, timeout=limit, stderr=said, stdout=subprocess.DEVNULL)
        said.seek(0)
        if used.returncode:
            raise subprocess.CalledProcessError(used.returncode, "hewn compile", stderr=said.read())
    return used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default=",".join(families.FAMILIES))
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--times", type=int, default=4, help="size of the larger graph, as a multiple of --nodes")
    parser.add_argument("--sizes", default="known,open", help="first dim: a number (known), a symbol (open), or both")
    parser.add_argument("--limit", type=float, default=120, help="wall-clock limit of one compile in seconds")
    parser.add_argument("--keep", help="write the models into this folder")
    said = parser.parse_args()
    if unknown := set(said.families.split(",")) - set(families.FAMILIES):
        parser.error(f"no family {', '.join(sorted(unknown))}: there are {', '.join(families.FAMILIES)}")
    with tempfile.TemporaryDirectory() as folder:
        least = measure(families.model("elementwise", 1), folder)
        for family in said.families.split(","):
            for sizes in said.sizes.split(","):
                print(f"{family:24} {sizes:6}", end="", flush=True)
                print(line(family, sizes == "open", said, least, folder), flush=True)


def line(family, is_open, said, least, folder):
    text, before = "", None
    for count in (said.nodes, said.nodes * said.times):
        model = families.model(family, count, is_open)
        nodes = nodes_of(model.graph)
        if said.keep:
            onnx.save(model, pathlib.Path(said.keep) / f"{family}-{'open' if is_open else 'known'}-{count}.onnx")
        try:
            used = measure(model, folder, ["--limit", "nodes=10000000"], said.limit)
        except subprocess.CalledProcessError as failure:
            return f"{text}  {nodes} nodes: fails: {failure.stderr.strip().splitlines()[-1:]}"
        except subprocess.TimeoutExpired:
            return f"{text}  {nodes} nodes: more than {said.limit} s  <<<"
        seconds, megabytes = max(used.seconds - least.seconds, 0.001), max(used.kilobytes - least.kilobytes, 100) / 1000
        text += f"  {nodes:6} nodes {seconds:7.2f} s {megabytes:6.0f} MB"
        if before:
            more = nodes / before[0]
            time, memory = seconds / before[1], megabytes / before[2]
            is_much = time > 1.75 * more or memory > 1.75 * more or seconds / nodes > SECONDS_A_NODE
            text += f"  {time:5.1f} and {memory:5.1f} times{'  <<<' * is_much}"
        before = nodes, seconds, megabytes
    return text


if __name__ == "__main__":
    main()
