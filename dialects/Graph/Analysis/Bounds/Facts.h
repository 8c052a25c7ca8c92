// SPDX-License-Identifier: Apache-2.0
//
// Facts about a program's symbols: the ranges given by the user, and the conditions under which the
// current specialization (case) of the program runs (docs/decisions/cases.md).
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_FACTS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_FACTS_H

#include "dialects/Graph/Analysis/Dims.h"
#include "llvm/ADT/StringMap.h"
#include <set>
#include <vector>

namespace hewn::graph {

/// Attribute of an argument of the function `main`: the dims that the model declares, if the types
/// of a specialization are more specific.
inline constexpr llvm::StringLiteral kDeclaredDimsAttr = "graph.declared_dims";
/// Attribute of the function `main`: the condition under which this specialization runs, as text.
inline constexpr llvm::StringLiteral kCaseAttr = "graph.case";

/// A condition on an expression over symbols: that it is 0, or that it is at most 0.
struct Condition {
  enum class Kind { Zero, AtMostZero };
  Kind kind = Kind::Zero;
  DimExpr difference;

  static Condition equal(const DimExpr &a, const DimExpr &b) { return {Kind::Zero, a - b}; }
  static Condition atMost(const DimExpr &a, const DimExpr &b) { return {Kind::AtMostZero, a - b}; }
  /// Returns the condition, or its negation, as text for users: "n = 1", "n != 1", "n <= 4".
  std::string text(bool holds) const;
};

struct Fact {
  Condition condition;
  bool holds;
};

/// Returns the facts about symbols as text, without redundant ones: "n = 1, m != 1". Facts about
/// an expression of one symbol, such as floordiv(n, 2) = 3, become the sizes that satisfy them: "n
/// in 6..7".
std::string textOf(llvm::ArrayRef<Fact> facts);

/// The known range of a dim expression's value; an absent bound is infinite.
struct Bounds {
  std::optional<int64_t> low, high;
};

class Facts {
public:
  /// Restricts the known values of the symbol to this range; an upper bound of INT64_MAX means that
  /// there is none.
  void setRange(llvm::StringRef symbol, int64_t low, int64_t high);
  void add(const Fact &fact);

  /// Returns the number or symbol that the symbol is known to be equal to, or else the symbol
  /// itself.
  DimExpr valueOf(llvm::StringRef symbol) const;
  /// Returns whether the condition holds, or nullopt if the facts do not decide it. `leastDim` is
  /// the assumed minimum value of every dim: 0, or 1 if the caller may assume that tensors are not
  /// empty.
  std::optional<bool> holds(const Condition &condition, int64_t leastDim = 0) const;
  Bounds boundsOf(const DimExpr &expr, int64_t leastDim) const;

private:
  struct Range {
    int64_t low = 0, high = INT64_MAX;
    std::set<int64_t> holes;
  };
  Bounds boundsOf(const DimExpr::Atom &atom, int64_t leastDim) const;
  Bounds boundsOf(llvm::ArrayRef<DimExpr::AtomRef> factors, int64_t leastDim) const;
  void narrow(llvm::StringRef symbol, int64_t low, int64_t high);

  llvm::StringMap<Range> ranges;
  llvm::StringMap<DimExpr> values;
  std::vector<Fact> list;
};

/// The specializations of a program as a decision tree: each inner node is a condition on the
/// symbols, each leaf a specialization (case). Without conditions, there is one case.
struct CaseTree {
  /// The successors of an inner node of the decision tree: each is the index of a condition, or -1
  /// - c for case number c.
  struct Question {
    Condition condition;
    int yes = -1, no = -1;
  };
  std::vector<Question> questions;
};

} // namespace hewn::graph

#endif
