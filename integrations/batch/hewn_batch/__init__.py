# SPDX-License-Identifier: Apache-2.0
"""Batch inference with hewn in Ray Data, Dask and Spark.

`Predictor` is for Ray Data's map_batches, `FramePredictor` for pandas frames in Dask and Spark.
"""

from .frames import FramePredictor
from .local import local_copy, mapped_bytes
from .predictor import Predictor

__all__ = ["FramePredictor", "Predictor", "local_copy", "mapped_bytes"]
