// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Bounds/Solutions.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>

using llvm::StringRef;

namespace hewn::graph {

namespace {

/// Largest value of a symbol that is tried. The truth of a condition for larger values must follow
/// from the bounds of its expression.
constexpr int64_t kMostTried = int64_t(1) << 17;

/// A line that bounds an expression for all values of its symbol that are not negative.
struct LinearBound {
  double slope = 0, offset = 0;
  double at(double x) const { return slope * x + offset; }
};

struct LinearBounds {
  LinearBound low, high;
};

std::optional<LinearBounds> linearBoundsOf(const DimExpr &expr);

std::optional<LinearBounds> linearBoundsOf(const DimExpr::Atom &atom) {
  if (!atom.name.empty())
    return LinearBounds{{1, 0}, {1, 0}};
  std::optional<LinearBounds> a = linearBoundsOf(atom.lhs), b = linearBoundsOf(atom.rhs);
  if (!a || !b)
    return std::nullopt;
  std::optional<int64_t> divisor = atom.rhs.constant();
  auto higher = [](LinearBound x, LinearBound y) {
    return LinearBound{std::max(x.slope, y.slope), std::max(x.offset, y.offset)};
  };
  auto lower = [](LinearBound x, LinearBound y) {
    return LinearBound{std::min(x.slope, y.slope), std::min(x.offset, y.offset)};
  };
  switch (atom.op) {
  case DimExpr::Op::FloorDiv:
    if (!divisor || *divisor <= 0)
      return std::nullopt;
    return LinearBounds{{a->low.slope / double(*divisor), a->low.offset / double(*divisor) - 1},
                        {a->high.slope / double(*divisor), a->high.offset / double(*divisor)}};
  case DimExpr::Op::Mod:
    if (!divisor || *divisor <= 0)
      return std::nullopt;
    return LinearBounds{{0, 0}, {0, double(*divisor)}};
  case DimExpr::Op::Max: // is at least each of the operands
    return LinearBounds{a->low.slope > b->low.slope ? a->low : b->low, higher(a->high, b->high)};
  case DimExpr::Op::Min:
    return LinearBounds{lower(a->low, b->low), a->high.slope < b->high.slope ? a->high : b->high};
  }
  return std::nullopt;
}

std::optional<LinearBounds> linearBoundsOf(const DimExpr &expr) {
  LinearBounds sum;
  for (const DimExpr::Term &term : expr.terms()) {
    const double factor = double(term.coefficient);
    LinearBounds one{{0, 1}, {0, 1}};
    if (term.factors.size() > 1)
      return std::nullopt;
    if (!term.factors.empty()) {
      std::optional<LinearBounds> atom = linearBoundsOf(*term.factors.front());
      if (!atom)
        return std::nullopt;
      one = *atom;
    }
    if (factor < 0)
      std::swap(one.low, one.high);
    sum.low = {sum.low.slope + factor * one.low.slope, sum.low.offset + factor * one.low.offset};
    sum.high = {sum.high.slope + factor * one.high.slope, sum.high.offset + factor * one.high.offset};
  }
  // The value, which `evaluate` computes in 64 bits, must not overflow.
  auto isSmall = [](const LinearBound &line) {
    return std::abs(line.slope) * double(kMostTried) + std::abs(line.offset) < double(int64_t(1) << 60);
  };
  return isSmall(sum.low) && isSmall(sum.high) ? std::optional(sum) : std::nullopt;
}

} // namespace

//===------------------------------------------------------------------------------------------===//
// SizeSet
//===------------------------------------------------------------------------------------------===//

SizeSet SizeSet::intersect(const SizeSet &other) const {
  llvm::SmallVector<Interval> both;
  for (const Interval &a : intervals)
    for (const Interval &b : other.intervals)
      if (std::max(a.first, b.first) <= std::min(a.second, b.second))
        both.push_back({std::max(a.first, b.first), std::min(a.second, b.second)});
  return SizeSet(std::move(both));
}

SizeSet SizeSet::complement() const {
  llvm::SmallVector<Interval> rest;
  int64_t next = 0;
  for (const Interval &interval : intervals) {
    if (interval.first > next)
      rest.push_back({next, interval.first - 1});
    if (interval.second == INT64_MAX)
      return SizeSet(std::move(rest));
    next = interval.second + 1;
  }
  rest.push_back({next, INT64_MAX});
  return SizeSet(std::move(rest));
}

std::optional<std::string> SizeSet::text(StringRef symbol) const {
  constexpr size_t kMost = 4;
  if (intervals.empty() || intervals.size() > kMost)
    return std::nullopt;
  auto number = [](int64_t value) { return llvm::itostr(value); };
  std::vector<std::string> texts;
  auto say = [&](const std::string &relation) { texts.push_back((symbol + " " + relation).str()); };
  int64_t low = intervals.front().first, high = intervals.back().second;
  if (low == high)
    say("= " + number(low));
  else if (high != INT64_MAX)
    say(low > 0 ? "in " + number(low) + ".." + number(high) : "<= " + number(high));
  else if (low > 0 || intervals.size() == 1)
    say(">= " + number(low));
  for (size_t i = 1; i < intervals.size(); ++i) {
    int64_t from = intervals[i - 1].second + 1, to = intervals[i].first - 1;
    say(from == to ? "!= " + number(from) : "not in " + number(from) + ".." + number(to));
  }
  return llvm::join(texts, ", ");
}

//===------------------------------------------------------------------------------------------===//
// Conditions
//===------------------------------------------------------------------------------------------===//

StringRef singleSymbol(const DimExpr &expr) {
  StringRef only;
  bool isSingle = true;
  expr.walkSymbols([&](StringRef symbol) {
    isSingle &= only.empty() || only == symbol;
    only = symbol;
  });
  return isSingle ? only : StringRef();
}

std::optional<SizeSet> solve(const Condition &condition) {
  const DimExpr &difference = condition.difference;
  StringRef symbol = singleSymbol(difference);
  std::optional<LinearBounds> lines =
      symbol.empty() || isReadSymbol(symbol) ? std::nullopt : linearBoundsOf(difference);
  if (!lines)
    return std::nullopt;
  // Beyond `last`, the difference is positive or negative.
  const bool grows = lines->low.slope > 0;
  const LinearBound &bound = grows ? lines->low : lines->high;
  if (!grows && bound.slope >= 0)
    return std::nullopt;
  const double root = std::ceil(-bound.offset / bound.slope) + 1;
  if (root > double(kMostTried))
    return std::nullopt;
  const int64_t last = std::max<int64_t>(0, int64_t(root));
  llvm::SmallVector<SizeSet::Interval> solutions;
  auto add = [&](int64_t from, int64_t to) {
    if (!solutions.empty() && solutions.back().second == from - 1)
      solutions.back().second = to;
    else
      solutions.push_back({from, to});
  };
  for (int64_t value = 0; value <= last; ++value) {
    int64_t d = evaluate(difference, [&](StringRef) { return value; });
    if (condition.kind == Condition::Kind::Zero ? d == 0 : d <= 0)
      add(value, value);
  }
  if (condition.kind == Condition::Kind::AtMostZero && !grows)
    add(last + 1, INT64_MAX);
  return SizeSet(std::move(solutions));
}

std::optional<SizeSet> solve(llvm::ArrayRef<Fact> facts, StringRef symbol) {
  SizeSet values = SizeSet::all();
  for (const Fact &fact : facts) {
    if (singleSymbol(fact.condition.difference) != symbol)
      continue;
    std::optional<SizeSet> some = solve(fact.condition);
    if (!some)
      return std::nullopt;
    values = values.intersect(fact.holds ? *some : some->complement());
  }
  return values;
}

bool mayHold(llvm::ArrayRef<Fact> facts, const Fact &fact) {
  StringRef symbol = singleSymbol(fact.condition.difference);
  std::optional<SizeSet> before = symbol.empty() ? std::nullopt : solve(facts, symbol);
  std::optional<SizeSet> own = before ? solve(llvm::ArrayRef<Fact>(fact), symbol) : std::nullopt;
  return !own || !before->intersect(*own).empty();
}

} // namespace hewn::graph
