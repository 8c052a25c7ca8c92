# SPDX-License-Identifier: Apache-2.0
"""parts.py COUNT: prints a function of COUNT groups, each of which reads one of COUNT slices of a
tensor."""

import sys

count = int(sys.argv[1])
size = f'#graph.dim<"floordiv(n, {count})">'
lines, parts = [], []
for i in range(1, count + 1):
    first = f'#graph.dim<"{i if i > 1 else ""}{"*" if i > 1 else ""}floordiv(n, {count})">'
    lines += [
        f'  %p{i} = graph.group(%x) attributes {{graph.dims = [[{size}]], graph.region_dims = [[[#graph.dim<"n">]]]}} {{',
        "  ^bb0(%a: tensor<?xf32>):",
        f"    %s = graph.slice %a {{graph.dims = [[{size}]], offsets = [{first}], sizes = [{size}], steps = array<i64: 1>}}"
        " : (tensor<?xf32>) -> tensor<?xf32>",
        "    graph.yield %s : tensor<?xf32>",
        "  } : (tensor<?xf32>) -> tensor<?xf32>",
    ]
    parts.append(f"%p{i}")
types = ", ".join(["tensor<?xf32>"] * count)
print(
    f'func.func @main(%x: tensor<?xf32> {{graph.dims = [#graph.dim<"n">]}}) -> ({types}) {{',
    *lines,
    f"  return {', '.join(parts)} : {types}",
    "}",
    sep="\n",
)
