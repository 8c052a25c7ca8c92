// SPDX-License-Identifier: Apache-2.0
//
// What is true of an expression whatever its symbols are.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_BOUNDS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_BOUNDS_H

#include "dialects/Graph/Analysis/Dims.h"

namespace hewn::graph {

/// Whether `expr` is >= 0 for all symbols that are themselves never negative. "No" may also mean that this is not seen.
bool isNeverNegative(const DimExpr &expr);
/// Whether a <= b for all symbols that are never negative.
inline bool isNeverAbove(const DimExpr &a, const DimExpr &b) { return isNeverNegative(b - a); }

} // namespace hewn::graph

#endif
