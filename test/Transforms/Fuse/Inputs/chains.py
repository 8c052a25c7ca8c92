# SPDX-License-Identifier: Apache-2.0
"""`chains.py [moves] LENGTH...` prints a function with chains of elementwise ops or, with `moves`,
of indexing ops. The results of the chains are added."""

import sys

TYPE = "tensor<8xf32>"
moves = sys.argv[1] == "moves"
op, how = ("slice", " {offsets = [7], sizes = [8], steps = array<i64: -1>}") if moves else ("neg", "")
lines, ends = [], []
for chain, length in enumerate(map(int, sys.argv[1 + moves :])):
    value = "%x"
    for i in range(length):
        lines.append(f"  %c{chain}_{i} = graph.{op} {value}{how} : ({TYPE}) -> {TYPE}")
        value = f"%c{chain}_{i}"
    ends.append(value)
total = ends[0]
for i, end in enumerate(ends[1:]):
    lines.append(f"  %s{i} = graph.add {total}, {end} : ({TYPE}, {TYPE}) -> {TYPE}")
    total = f"%s{i}"
print(f"func.func @chains(%x: {TYPE}) -> {TYPE} {{", *lines, f"  return {total} : {TYPE}", "}", sep="\n")
