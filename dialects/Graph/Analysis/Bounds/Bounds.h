// SPDX-License-Identifier: Apache-2.0
//
// What is true of an expression whatever its symbols are, and its value where they are known.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_BOUNDS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_BOUNDS_H

#include "dialects/Graph/Analysis/Dims.h"

namespace hewn::graph {

/// Whether the symbol is one that the importer reads from a tensor ("u0", "u1", ...): it may be any number. All others are sizes, which
/// are never negative.
bool isReadSymbol(llvm::StringRef name);
/// The name of what does not fit into 64 bits: a symbol without a value, so that whatever is made of it has none either, and what needs a
/// number (a type, a run) refuses it.
inline constexpr llvm::StringLiteral kOverflow = "?overflow";
/// Whether a number in it did not fit into 64 bits: such an expression has no value.
bool overflows(const DimExpr &expr);
/// Whether `expr` is >= 0 whatever its symbols are. "No" may also mean that this is not seen.
bool isKnownNonNegative(const DimExpr &expr);
/// Whether a <= b whatever the symbols are.
inline bool isKnownAtMost(const DimExpr &a, const DimExpr &b) { return isKnownNonNegative(b - a); }

/// One term of a sum by itself.
DimExpr termOf(const DimExpr::Term &term);

/// The expression's number where each symbol is `value(name)`; sums and products wrap, and what is divided by 0 is 0.
int64_t evaluate(const DimExpr &expr, llvm::function_ref<int64_t(llvm::StringRef)> value);

} // namespace hewn::graph

#endif
