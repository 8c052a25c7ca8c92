// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Bounds/Facts.h"
#include "dialects/Graph/Analysis/Bounds/Solutions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using llvm::StringRef;

namespace hewn::graph {

namespace {

/// A dim expression of the form a*s + b with one symbol s.
struct Linear {
  StringRef symbol;
  int64_t a = 0, b = 0;
  /// Returns the value of the symbol for which a*s + b is 0, or nullopt if that value is not an
  /// integer.
  std::optional<int64_t> root() const { return b % a == 0 ? std::optional(-b / a) : std::nullopt; }
};

std::optional<Linear> linear(const DimExpr &expr) {
  Linear sum;
  for (const DimExpr::Term &term : expr.terms()) {
    if (term.coefficient == INT64_MIN)
      return std::nullopt; // a coefficient of INT64_MIN cannot be negated
    if (term.factors.empty()) {
      sum.b = term.coefficient;
      continue;
    }
    if (sum.a != 0 || term.factors.size() != 1 || term.factors[0]->name.empty())
      return std::nullopt;
    sum.a = term.coefficient;
    sum.symbol = term.factors[0]->name;
  }
  return sum.a ? std::optional(sum) : std::nullopt;
}

/// Returns the symbols s and t if the expression has the form s - t, which is 0 exactly if they are
/// equal. Otherwise returns nullopt.
std::optional<std::pair<StringRef, StringRef>> equalSymbols(const DimExpr &difference) {
  llvm::ArrayRef<DimExpr::Term> terms = difference.terms();
  if (terms.size() != 2)
    return std::nullopt;
  for (const DimExpr::Term &term : terms)
    if (term.factors.size() != 1 || term.factors[0]->name.empty())
      return std::nullopt;
  if (terms[0].coefficient != -terms[1].coefficient)
    return std::nullopt;
  return std::pair<StringRef, StringRef>(terms[1].factors[0]->name, terms[0].factors[0]->name);
}

/// Returns true if the symbol's value is read from a tensor, so that it may be negative.
bool isRead(StringRef name) { return name.consume_front("u") && llvm::all_of(name, llvm::isDigit); }

std::optional<int64_t> sum(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t result;
  return a && b && !llvm::AddOverflow(*a, *b, result) ? std::optional(result) : std::nullopt;
}

std::optional<int64_t> product(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t result;
  return a && b && !llvm::MulOverflow(*a, *b, result) ? std::optional(result) : std::nullopt;
}

DimExpr negated(const DimExpr &expr) { return expr * DimExpr(-1); }

/// For the text of a condition, splits a difference into left and right sides of a relation,
/// without negative terms: n - 1 gives n and 1. If the positive terms are a constant, exchanges the
/// sides and sets `swapped`: 4 - n gives n and 4.
std::pair<DimExpr, DimExpr> sidesOf(const DimExpr &difference, bool &swapped) {
  DimExpr left(0), right(0);
  for (const DimExpr::Term &term : difference.terms()) {
    DimExpr one(term.coefficient);
    for (const DimExpr::AtomRef &factor : term.factors)
      one = one * DimExpr::factor(factor);
    if (term.coefficient < 0)
      right = right - one;
    else
      left = left + one;
  }
  swapped = left.constant().has_value();
  if (swapped)
    std::swap(left, right);
  return {left, right};
}

/// Returns whether a difference with this range is 0 (or at most 0, depending on `kind`), or
/// nullopt if the range does not decide it.
std::optional<bool> holdsIn(Condition::Kind kind, const Bounds &difference) {
  std::optional<int64_t> low = difference.low, high = difference.high;
  if (kind == Condition::Kind::AtMostZero) {
    if (high && *high <= 0)
      return true;
    return low && *low > 0 ? std::optional(false) : std::nullopt;
  }
  if (low == 0 && high == 0)
    return true;
  return (low && *low > 0) || (high && *high < 0) ? std::optional(false) : std::nullopt;
}

} // namespace

std::string Condition::text(bool holds) const {
  bool swapped = false;
  auto [left, right] = sidesOf(difference, swapped);
  StringRef relation = holds ? "=" : "!=";
  if (kind == Kind::AtMostZero)
    relation = swapped ? (holds ? ">=" : "<") : (holds ? "<=" : ">");
  return (left.str() + " " + relation + " " + right.str()).str();
}

/// Returns the facts that depend on `symbol` alone as one text, such as "n in 192..703". Returns
/// nullopt if all of these facts are about multiples of the symbol, such as n != 1 (their own texts
/// are as short), or if they cannot be solved.
static std::optional<std::string> solvedText(llvm::ArrayRef<Fact> facts, StringRef symbol) {
  bool isLinear = llvm::all_of(facts, [&](const Fact &fact) {
    return singleSymbol(fact.condition.difference) != symbol || linear(fact.condition.difference);
  });
  std::optional<SizeSet> values = isLinear ? std::nullopt : solve(facts, symbol);
  return values ? values->text(symbol) : std::nullopt;
}

std::string textOf(llvm::ArrayRef<Fact> facts) {
  llvm::StringMap<bool> fixed;
  for (const Fact &fact : facts)
    if (std::optional<Linear> sum = linear(fact.condition.difference);
        sum && fact.holds && fact.condition.kind == Condition::Kind::Zero)
      fixed[sum->symbol] = true;
  std::vector<std::string> texts;
  llvm::StringSet<> solved;
  for (const Fact &fact : facts) {
    if (StringRef symbol = singleSymbol(fact.condition.difference); !symbol.empty()) {
      if (solved.contains(symbol))
        continue;
      if (std::optional<std::string> text = solvedText(facts, symbol)) {
        solved.insert(symbol);
        texts.push_back(*text);
        continue;
      }
    }
    std::optional<Linear> sum = linear(fact.condition.difference);
    bool says = fact.holds && fact.condition.kind == Condition::Kind::Zero;
    if (says || !sum || !fixed.contains(sum->symbol))
      texts.push_back(fact.condition.text(fact.holds));
  }
  return llvm::join(texts, ", ");
}

//===------------------------------------------------------------------------------------------===//
// Queries
//===------------------------------------------------------------------------------------------===//

void Facts::narrow(StringRef symbol, int64_t low, int64_t high) {
  Range &range = ranges[symbol];
  range.low = std::max(range.low, low);
  range.high = std::min(range.high, high);
  while (range.holes.count(range.low) && range.low < range.high)
    ++range.low;
  while (range.holes.count(range.high) && range.low < range.high)
    --range.high;
}

void Facts::setRange(StringRef symbol, int64_t low, int64_t high) { narrow(symbol, low, high); }

void Facts::add(const Fact &fact) {
  list.push_back(fact);
  const DimExpr &difference = fact.condition.difference;
  bool isZero = fact.condition.kind == Condition::Kind::Zero;
  if (auto symbols = equalSymbols(difference); symbols && isZero && fact.holds)
    values[symbols->first] = DimExpr::symbol(symbols->second);
  // Derives the value or a bound of the symbol s from a fact about a*s + b. If the fact is that a*s
  // + b <= 0 is false, uses the equivalent inequality 1 - (a*s + b) <= 0.
  std::optional<Linear> sum = linear(isZero || fact.holds ? difference : DimExpr(1) - difference);
  if (!sum || isRead(sum->symbol))
    return;
  std::optional<int64_t> root = sum->root();
  if (!isZero) {
    int64_t bound = sum->a > 0 ? llvm::divideFloorSigned(-sum->b, sum->a) : llvm::divideCeilSigned(sum->b, -sum->a);
    narrow(sum->symbol, sum->a > 0 ? 0 : bound, sum->a > 0 ? bound : INT64_MAX);
  } else if (root && fact.holds) {
    values[sum->symbol] = DimExpr(*root);
    narrow(sum->symbol, *root, *root);
  } else if (root) {
    ranges[sum->symbol].holes.insert(*root);
    narrow(sum->symbol, 0, INT64_MAX);
  }
}

DimExpr Facts::valueOf(StringRef symbol) const {
  auto found = values.find(symbol);
  return found == values.end() ? DimExpr::symbol(symbol) : found->second;
}

std::optional<bool> Facts::holds(const Condition &condition, int64_t leastDim) const {
  const DimExpr &difference = condition.difference;
  if (std::optional<bool> known = holdsIn(condition.kind, boundsOf(difference, leastDim)))
    return known;
  if (condition.kind == Condition::Kind::Zero)
    if (std::optional<Linear> sum = linear(difference)) {
      auto range = ranges.find(sum->symbol);
      std::optional<int64_t> root = sum->root();
      if (!root || (range != ranges.end() && range->second.holes.count(*root)))
        return false;
    }
  for (const Fact &fact : list) {
    if (fact.condition.kind != condition.kind)
      continue;
    const DimExpr &known = fact.condition.difference;
    if (known == difference || (condition.kind == Condition::Kind::Zero && known == negated(difference)))
      return fact.holds;
    // For every integer d, exactly one of d <= 0 and 1 - d <= 0 holds, so a fact about one of them
    // decides the other.
    if (condition.kind == Condition::Kind::AtMostZero && known == DimExpr(1) - difference)
      return !fact.holds;
  }
  return std::nullopt;
}

//===------------------------------------------------------------------------------------------===//
// Bounds
//===------------------------------------------------------------------------------------------===//

Bounds Facts::boundsOf(const DimExpr::Atom &atom, int64_t leastDim) const {
  if (!atom.name.empty()) {
    if (isRead(atom.name))
      return {};
    auto range = ranges.find(atom.name);
    if (range == ranges.end())
      return {leastDim, std::nullopt};
    const Range &known = range->second;
    return {std::max(leastDim, known.low), known.high == INT64_MAX ? std::nullopt : std::optional(known.high)};
  }
  Bounds a = boundsOf(atom.lhs, leastDim), b = boundsOf(atom.rhs, leastDim);
  switch (atom.op) {
  case DimExpr::Op::FloorDiv:
    if (a.low && *a.low >= 0 && b.low && *b.low >= 0)
      return {0, a.high};
    return {};
  case DimExpr::Op::Mod:
    if (b.low && *b.low > 0)
      return {0, b.high ? std::optional(*b.high - 1) : std::nullopt};
    return {};
  case DimExpr::Op::Min:
    return {a.low && b.low ? std::optional(std::min(*a.low, *b.low)) : std::nullopt,
            a.high && b.high ? std::optional(std::min(*a.high, *b.high))
            : a.high         ? a.high
                             : b.high};
  case DimExpr::Op::Max:
    return {a.low && b.low ? std::optional(std::max(*a.low, *b.low))
            : a.low        ? a.low
                           : b.low,
            a.high && b.high ? std::optional(std::max(*a.high, *b.high)) : std::nullopt};
  }
  return {};
}

/// Returns the range of the factors multiplied with each other, or an unbounded range if one of
/// several factors may be negative.
Bounds Facts::boundsOf(llvm::ArrayRef<DimExpr::AtomRef> factors, int64_t leastDim) const {
  Bounds all{1, 1};
  for (const DimExpr::AtomRef &factor : factors) {
    Bounds b = boundsOf(*factor, leastDim);
    if (!b.low || *b.low < 0)
      return factors.size() == 1 ? b : Bounds{};
    all.low = product(all.low, b.low);
    all.high = product(all.high, b.high);
    if (!all.low)
      return {0, std::nullopt};
  }
  return all;
}

Bounds Facts::boundsOf(const DimExpr &expr, int64_t leastDim) const {
  Bounds all{0, 0};
  for (const DimExpr::Term &term : expr.terms()) {
    Bounds b = boundsOf(term.factors, leastDim);
    if (term.coefficient < 0)
      std::swap(b.low, b.high);
    all.low = sum(all.low, product(term.coefficient, b.low));
    all.high = sum(all.high, product(term.coefficient, b.high));
  }
  return all;
}

} // namespace hewn::graph
