# SPDX-License-Identifier: Apache-2.0
"""Compiles mutated node tests of ONNX: the compiler must return a module or errors within the time
limit."""

import os
import pathlib
import sys

import pytest

if os.environ.get("HEWN_SUITE_TARGET"):
    pytest.skip("models are compiled for the host only, and not run", allow_module_level=True)
sys.path.append(str(pathlib.Path(__file__).parent))
import mutated


@pytest.mark.parametrize("seed", [1, 2])
def test_no_model_ends_the_compiler(seed):
    bad, tried = mutated.run(seed, 150)
    assert tried == 150
    assert not bad, "\n".join(f"{name}: {wrong}" for name, _, wrong in bad)


def test_inputs_of_other_ranks():
    models = list(mutated.of_other_ranks())
    assert len(models) > 500
    bad = [f"{what}: {wrong}" for what, model in models if (wrong := mutated.outcome(model))]
    assert not bad, "\n".join(bad)
