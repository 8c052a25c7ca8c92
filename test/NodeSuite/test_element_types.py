# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/generated/onnx-types.md matches the compiler."""

import element_types


def test_the_page_is_true():
    assert element_types.PAGE.read_text() == element_types.page(), f"python {element_types.__file__} writes it anew"
