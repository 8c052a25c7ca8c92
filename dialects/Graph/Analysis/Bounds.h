// SPDX-License-Identifier: Apache-2.0
//
// What is true of an expression whatever its symbols are, and its value where they are known.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_BOUNDS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_BOUNDS_H

#include "dialects/Graph/Analysis/Dims.h"

namespace hewn::graph {

/// Whether `expr` is >= 0 for all symbols that are themselves never negative. "No" may also mean that this is not seen.
bool isNeverNegative(const DimExpr &expr);
/// Whether a <= b for all symbols that are never negative.
inline bool isNeverAbove(const DimExpr &a, const DimExpr &b) { return isNeverNegative(b - a); }

/// The expression's number where each symbol is `value(name)`; sums and products wrap, and what is divided by 0 is 0.
int64_t evaluate(const DimExpr &expr, llvm::function_ref<int64_t(llvm::StringRef)> value);

} // namespace hewn::graph

#endif
