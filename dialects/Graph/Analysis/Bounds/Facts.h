// SPDX-License-Identifier: Apache-2.0
//
// What is known of a program's symbols beyond that sizes are never negative: the ranges that the user gave, and what holds in the
// case of the program that is looked at. docs/decisions/cases.md says what a case is.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_FACTS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_FACTS_H

#include "dialects/Graph/Analysis/Dims.h"
#include "llvm/ADT/StringMap.h"
#include <set>
#include <vector>

namespace hewn::graph {

/// On arguments of the function `main`: the dims that the model declares, where a case knows more of them.
inline constexpr llvm::StringLiteral kDeclaredDimsAttr = "graph.declared_dims";
/// On the function `main`: the condition that makes the case, as text.
inline constexpr llvm::StringLiteral kCaseAttr = "graph.case";

/// Of an expression over symbols: that it is 0, or at most 0.
struct Condition {
  enum class Kind { Zero, AtMostZero };
  Kind kind = Kind::Zero;
  DimExpr difference;

  static Condition equal(const DimExpr &a, const DimExpr &b) { return {Kind::Zero, a - b}; }
  static Condition atMost(const DimExpr &a, const DimExpr &b) { return {Kind::AtMostZero, a - b}; }
  /// As users read it: "n = 1", "n != 1", "n <= 4".
  std::string text(bool holds) const;
};

struct Fact {
  Condition condition;
  bool holds;
};

/// The facts as text, without those that others say already: "n = 1, m != 1".
std::string textOf(llvm::ArrayRef<Fact> facts);

/// What is known of an expression's range; an absent bound is infinite.
struct Bounds {
  std::optional<int64_t> low, high;
};

class Facts {
public:
  /// The symbol's values are among these; INT64_MAX is no bound.
  void setRange(llvm::StringRef symbol, int64_t low, int64_t high);
  void add(const Fact &fact);

  /// What stands for the symbol: a number or another symbol where a fact says so, else itself.
  DimExpr valueOf(llvm::StringRef symbol) const;
  /// Whether the condition holds, if that can be told. `leastDim` is the least value of a dim: 0, or 1 for what holds unless a
  /// tensor is empty.
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

/// The cases of a program: a question about the symbols at each inner node, a case at each leaf. No question: one case.
struct CaseTree {
  /// What follows an answer: a question's number, or -1 - c for case c.
  struct Question {
    Condition condition;
    int yes = -1, no = -1;
  };
  std::vector<Question> questions;
};

} // namespace hewn::graph

#endif
