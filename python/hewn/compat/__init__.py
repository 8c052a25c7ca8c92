# SPDX-License-Identifier: Apache-2.0
"""Interfaces of other engines, for programs that use them: `hewn.compat.onnxruntime` has onnxruntime's."""
