// SPDX-License-Identifier: Apache-2.0
//
// Properties of symbolic dims (`DimExpr`) that hold for all values of the symbols, and the
// evaluation of dims for given values.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_BOUNDS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_BOUNDS_H

#include "dialects/Graph/Analysis/Dims.h"

namespace hewn::graph {

/// Returns true if the symbol's value is read from a tensor at run time ("u0", "u1", ...), so that
/// it may be negative. All other symbols are sizes, which are never negative.
bool isReadSymbol(llvm::StringRef name);
/// Symbol that replaces a number that overflowed 64 bits. An expression with this symbol has no
/// value, and is rejected wherever a number is needed (in a type, or at run time).
inline constexpr llvm::StringLiteral kOverflow = "?overflow";
/// Returns true if the expression contains `kOverflow`, and therefore has no value.
bool overflows(const DimExpr &expr);
/// Returns true if `expr` is proven to be >= 0 for all values of the symbols. False may mean "not
/// proven".
bool isKnownNonNegative(const DimExpr &expr);
/// Returns true if a <= b is proven for all values of the symbols.
inline bool isKnownAtMost(const DimExpr &a, const DimExpr &b) { return isKnownNonNegative(b - a); }

/// Returns one term of a dim expression, which is a sum, as an expression.
DimExpr termOf(const DimExpr::Term &term);

/// Evaluates the expression with `value(name)` for each symbol. Additions and multiplications wrap
/// around at 64 bits, and a division by 0 gives 0.
int64_t evaluate(const DimExpr &expr, llvm::function_ref<int64_t(llvm::StringRef)> value);

} // namespace hewn::graph

#endif
