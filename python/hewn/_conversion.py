# SPDX-License-Identifier: Apache-2.0
"""The exception of the frontends, which are imported when a model is converted."""


class ConversionError(Exception):
    """A model of a framework cannot be converted to ONNX.

    Has the converter's message (and its exception as the cause), and advice.
    """


ConversionError.__module__ = "hewn"
