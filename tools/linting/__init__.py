# SPDX-License-Identifier: Apache-2.0
"""The rules of tools/lint.

Each module has a function `check(tree)`, which yields each violation as "file:line: text".
"""
