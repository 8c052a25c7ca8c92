# SPDX-License-Identifier: Apache-2.0
"""chains.py LENGTH...: a function of chains of elementwise ops, whose ends are added up."""

import sys

TYPE = "tensor<8xf32>"
lines, ends = [], []
for chain, length in enumerate(map(int, sys.argv[1:])):
    value = "%x"
    for i in range(length):
        lines.append(f"  %c{chain}_{i} = graph.neg {value} : ({TYPE}) -> {TYPE}")
        value = f"%c{chain}_{i}"
    ends.append(value)
total = ends[0]
for i, end in enumerate(ends[1:]):
    lines.append(f"  %s{i} = graph.add {total}, {end} : ({TYPE}, {TYPE}) -> {TYPE}")
    total = f"%s{i}"
print(f"func.func @chains(%x: {TYPE}) -> {TYPE} {{", *lines, f"  return {total} : {TYPE}", "}", sep="\n")
