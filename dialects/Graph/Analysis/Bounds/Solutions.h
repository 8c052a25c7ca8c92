// SPDX-License-Identifier: Apache-2.0
//
// Solutions of conditions on dims that depend on a single symbol, such as floordiv(n + 1, 2) = 3.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_SOLUTIONS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_SOLUTIONS_H

#include "dialects/Graph/Analysis/Bounds/Facts.h"

namespace hewn::graph {

/// A set of sizes, as disjoint intervals with inclusive bounds in ascending order. The bound
/// INT64_MAX means that the interval has no end.
class SizeSet {
public:
  using Interval = std::pair<int64_t, int64_t>;
  SizeSet() = default;
  explicit SizeSet(llvm::SmallVector<Interval> intervals) : intervals(std::move(intervals)) {}
  static SizeSet all() { return SizeSet({{0, INT64_MAX}}); }

  bool empty() const { return intervals.empty(); }
  SizeSet intersect(const SizeSet &other) const;
  SizeSet unite(const SizeSet &other) const { return complement().intersect(other.complement()).complement(); }
  SizeSet complement() const;
  /// Returns the set as conditions on `symbol`, such as "n = 3", "n in 2..5" or "n >= 2, n != 7".
  /// Returns nullopt if this takes more than four conditions, or if the set is empty.
  std::optional<std::string> text(llvm::StringRef symbol) const;

private:
  llvm::SmallVector<Interval> intervals;
};

/// Returns the name of the only symbol of the expression, or "" if it has none or several.
llvm::StringRef singleSymbol(const DimExpr &expr);

/// Returns the values of the condition's only symbol for which it holds. Solves conditions on
/// quasi-affine expressions (sums of multiples, floordiv and mod by constants, min and max) whose
/// value leaves the neighborhood of 0 as the symbol grows. Returns nullopt for other conditions,
/// for several symbols, and if the solutions may be too many or too large.
std::optional<SizeSet> solve(const Condition &condition);

/// Returns the values of `symbol` for which all facts hold that depend on it alone. `facts` may
/// have other facts, which are ignored. Returns nullopt if one of the facts cannot be solved.
std::optional<SizeSet> solve(llvm::ArrayRef<Fact> facts, llvm::StringRef symbol);

/// Returns false if no value of the symbol of `fact` satisfies `fact` and those of `facts` that
/// depend on this symbol alone. True may mean "not proven".
bool mayHold(llvm::ArrayRef<Fact> facts, const Fact &fact);

} // namespace hewn::graph

#endif
