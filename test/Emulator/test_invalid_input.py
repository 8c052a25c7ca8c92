# SPDX-License-Identifier: Apache-2.0
"""Invalid indices and lengths are rejected on a GPU as on a CPU (test/Numeric/Invalid)."""

import emulated
import hewn
import numpy as np
import pytest
import rows
import test_invalid

CHOSEN = [
    ("Gather", "indices"),
    ("LSTM", "sequence_lens"),
    ("TensorScatter", "write_indices, mode linear"),
    ("NegativeLogLikelihoodLoss", "target"),
    ("MaxUnpool", "I"),
    ("Attention", "nonpad_kv_seqlen"),
    ("Pad", "pads, mode reflect"),
]


@pytest.mark.parametrize("chosen", CHOSEN, ids=" ".join)
def test_values(chosen):
    (row,) = [row for row in rows.OPERANDS if (row.op, row.operand) == chosen]
    model, feeds = test_invalid.model_of(row, row.good[0])
    want = test_invalid.expected(row, model, feeds, row.good[0])
    with emulated.compiled(model) as module:
        for bad in (value for value in row.bad if value.shape == row.good[0].shape):
            with pytest.raises(hewn.RunError, match=row.why):
                module.run({**feeds, row.varied: bad})
            np.testing.assert_allclose(next(iter(module.run(feeds).values())), want, rtol=1e-4, atol=1e-5)
