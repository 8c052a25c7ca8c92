# SPDX-License-Identifier: Apache-2.0
"""Doors for programs that were written for another engine: `hewn.compat.onnxruntime` for onnxruntime's."""
