# SPDX-License-Identifier: Apache-2.0
"""subviews.py COUNT ROWS: prints a kernel that concatenates COUNT tensors of ROWS rows."""

import sys

count, rows = map(int, sys.argv[1:])
one, all = f"tensor<{rows}x8xf32>", f"tensor<{rows}x{8 * count}xf32>"
operands = ", ".join("%a" if i % 2 else "%b" for i in range(count))
target = "vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608"
print(f"""module attributes {{plan.target = #plan.cpu<{target}>}} {{
plan.kernel @subviews(%a: {one}, %b: {one}) -> {all} attributes {{symbols = []}} {{
  %0 = graph.concat {operands} {{axis = 1 : i64}} : ({", ".join([one] * count)}) -> {all}
  graph.yield %0 : {all}
}}
}}""")
