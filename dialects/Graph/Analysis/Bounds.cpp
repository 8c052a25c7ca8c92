// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Bounds.h"

#include "llvm/ADT/STLExtras.h"

using Term = hewn::graph::DimExpr::Term;

namespace hewn::graph {

namespace {

/// How many expressions are looked at before the answer is "not seen".
constexpr int kMostSteps = 64;
constexpr int64_t kLargestCoefficient = int64_t(1) << 48;

DimExpr productOf(int64_t coefficient, llvm::ArrayRef<DimExpr::AtomRef> factors) {
  DimExpr product(coefficient);
  for (const DimExpr::AtomRef &factor : factors)
    product = product * DimExpr::ofAtom(factor);
  return product;
}

bool holds(const DimExpr &expr, int &steps);

bool atomHolds(const DimExpr::Atom &atom, int &steps) {
  if (!atom.name.empty())
    return true;
  bool left = holds(atom.lhs, steps), right = holds(atom.rhs, steps);
  switch (atom.op) {
  case DimExpr::Op::FloorDiv:
    return left && right;
  case DimExpr::Op::Mod: // has the divisor's sign
    return right;
  case DimExpr::Op::Min:
    return left && right;
  case DimExpr::Op::Max:
    return left || right;
  }
  return false;
}

/// An expression that is no larger than `expr`, up to a positive factor, and has one operation less: floordiv(n, c) is
/// between (n - c + 1) / c and n / c, max(a, b) at least either, min(a, b) at most either.
std::optional<DimExpr> noLarger(const DimExpr &expr, const DimExpr::AtomRef &atom, bool second, int &steps) {
  bool divides = atom->op == DimExpr::Op::FloorDiv;
  std::optional<int64_t> divisor = atom->rhs.constant();
  if (atom->op == DimExpr::Op::Mod || (divides && (!divisor || *divisor <= 0)))
    return std::nullopt;
  DimExpr result(0);
  for (const Term &term : expr.terms()) {
    Term rest = term;
    auto *found = llvm::find_if(rest.factors, [&](const auto &f) { return f->text == atom->text; });
    if (term.coefficient > kLargestCoefficient || term.coefficient < -kLargestCoefficient)
      return std::nullopt;
    if (found == rest.factors.end()) {
      result = result + productOf(term.coefficient, term.factors) * DimExpr(divides ? *divisor : 1);
      continue;
    }
    rest.factors.erase(found);
    if (!llvm::all_of(rest.factors, [&](const auto &f) { return atomHolds(*f, steps); }))
      return std::nullopt;
    bool positive = term.coefficient > 0;
    DimExpr bound = second ? atom->rhs : atom->lhs;
    if (divides)
      bound = positive ? atom->lhs - DimExpr(*divisor - 1) : atom->lhs;
    else if (positive != (atom->op == DimExpr::Op::Max))
      return std::nullopt;
    result = result + bound * productOf(term.coefficient, rest.factors);
  }
  return result;
}

bool holds(const DimExpr &expr, int &steps) {
  if (--steps < 0)
    return false;
  bool positive = true;
  for (const Term &term : expr.terms())
    positive &=
        term.coefficient >= 0 && llvm::all_of(term.factors, [&](const auto &f) { return atomHolds(*f, steps); });
  if (positive)
    return true;
  for (const Term &term : expr.terms())
    for (const DimExpr::AtomRef &factor : term.factors) {
      if (!factor->name.empty())
        continue;
      for (bool second : {false, true}) {
        if (second && factor->op == DimExpr::Op::FloorDiv)
          continue;
        if (std::optional<DimExpr> bound = noLarger(expr, factor, second, steps); bound && holds(*bound, steps))
          return true;
      }
      if (factor->op == DimExpr::Op::FloorDiv)
        return false; // in another order the bounds would be the same
    }
  return false;
}

} // namespace

bool isNeverNegative(const DimExpr &expr) {
  int steps = kMostSteps;
  return holds(expr, steps);
}

} // namespace hewn::graph
