// SPDX-License-Identifier: Apache-2.0
//
// Conversion of interpolated values to an integer element type.
#ifndef HEWN_DIALECTS_GRAPH_INDEXING_RESAMPLE_SATURATE_H
#define HEWN_DIALECTS_GRAPH_INDEXING_RESAMPLE_SATURATE_H

#include "dialects/Graph/Builders/Compose.h"

namespace hewn::graph {

/// Returns `value` rounded to the nearest integer, ties to even, and clamped to the range of
/// `type`. 64-bit bounds are rounded toward zero to float64.
double saturate(mlir::IntegerType type, double value);
/// Emits ops that convert the floats `x` to `type` like `saturate`. Booleans become x != 0.
mlir::Value composeSaturate(Composer &c, mlir::Value x, mlir::IntegerType type);

} // namespace hewn::graph

#endif
