# SPDX-License-Identifier: Apache-2.0
"""The short form of compare.py: some estimators, compared with onnxruntime and with the library."""

import comparison
import estimators
import pytest


@pytest.mark.parametrize("name", sorted(estimators.SHORT))
def test_a_default_export_gives_the_results_of_onnxruntime_and_of_the_library(name):
    found = comparison.compare(name)
    assert found.name == name


def test_a_wrong_result_is_found():
    with pytest.raises(AssertionError, match=r"keys \[0\] instead of \[1\]"):
        comparison._difference([{0: 1.0}], [{1: 1.0}], "it", 1e-5)
    with pytest.raises(AssertionError, match=r"a difference of 0\.5"):
        comparison._difference([{0: 1.0}], [{0: 0.5}], "it", 1e-5)
    with pytest.raises(AssertionError, match="1 dicts instead of 2"):
        comparison._difference([{0: 1.0}], [{0: 1.0}] * 2, "it", 1e-5)


def test_there_are_at_least_thirty_estimators():
    assert len(estimators.ESTIMATORS) >= 30
    assert set(estimators.ESTIMATORS) >= estimators.SHORT
