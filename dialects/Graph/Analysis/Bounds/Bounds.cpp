// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Bounds/Bounds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace hewn::graph {

namespace {

/// Maximum number of expressions that the proof of a lower bound examines before it gives up.
constexpr int kMaxSteps = 64;
constexpr int64_t kLargestCoefficient = int64_t(1) << 48;

DimExpr valueOf(const DimExpr::Atom &atom) {
  if (!atom.name.empty())
    return DimExpr::symbol(atom.name);
  switch (atom.op) {
  case DimExpr::Op::FloorDiv:
    return atom.lhs.floorDiv(atom.rhs);
  case DimExpr::Op::Mod:
    return atom.lhs.mod(atom.rhs);
  case DimExpr::Op::Min:
    return DimExpr::min(atom.lhs, atom.rhs);
  case DimExpr::Op::Max:
    return DimExpr::max(atom.lhs, atom.rhs);
  }
  return DimExpr(0);
}

DimExpr productOf(int64_t coefficient, llvm::ArrayRef<DimExpr::AtomRef> factors) {
  DimExpr product(coefficient);
  for (const DimExpr::AtomRef &factor : factors)
    product = product * valueOf(*factor);
  return product;
}

int64_t wrapMul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
int64_t wrapAdd(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }

int64_t evaluateAtom(const DimExpr::Atom &atom, llvm::function_ref<int64_t(llvm::StringRef)> value) {
  if (!atom.name.empty())
    return value(atom.name);
  int64_t l = evaluate(atom.lhs, value), r = evaluate(atom.rhs, value);
  if (atom.op == DimExpr::Op::Min)
    return std::min(l, r);
  if (atom.op == DimExpr::Op::Max)
    return std::max(l, r);
  if (r == 0)
    return 0;
  int64_t quotient = r == -1 ? int64_t(-uint64_t(l)) : llvm::divideFloorSigned(l, r);
  return atom.op == DimExpr::Op::FloorDiv ? quotient : wrapAdd(l, -wrapMul(quotient, r));
}

bool holds(const DimExpr &expr, int &steps);

bool atomHolds(const DimExpr::Atom &atom, int &steps) {
  if (!atom.name.empty())
    return !isReadSymbol(atom.name) && atom.name != kOverflow;
  bool left = holds(atom.lhs, steps), right = holds(atom.rhs, steps);
  switch (atom.op) {
  case DimExpr::Op::FloorDiv:
    return left && right;
  case DimExpr::Op::Mod: // the remainder n mod d has the sign of d
    return right;
  case DimExpr::Op::Min:
    return left && right;
  case DimExpr::Op::Max:
    return left || right;
  }
  return false;
}

/// Returns a lower bound of `expr`, multiplied by a positive constant, in which the operation
/// `atom` is replaced by an expression without this operation: floordiv(n, c), which is between (n
/// - c + 1) / c and n / c, by one of these two bounds, and max(a, b) or min(a, b) by a or b.
std::optional<DimExpr> noLarger(const DimExpr &expr, const DimExpr::AtomRef &atom, bool second, int &steps) {
  bool divides = atom->op == DimExpr::Op::FloorDiv;
  std::optional<int64_t> divisor = atom->rhs.constant();
  if (atom->op == DimExpr::Op::Mod || (divides && (!divisor || *divisor <= 0)))
    return std::nullopt;
  DimExpr result(0);
  for (const DimExpr::Term &term : expr.terms()) {
    DimExpr::Term rest = term;
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

/// Returns `expr` with the factor `atom`, a max or min, replaced by `value`, one of its operands.
DimExpr where(const DimExpr &expr, const DimExpr::AtomRef &atom, const DimExpr &value) {
  DimExpr result(0);
  for (const DimExpr::Term &term : expr.terms()) {
    DimExpr product(term.coefficient);
    for (const DimExpr::AtomRef &factor : term.factors)
      product = product * (factor->text == atom->text ? value : valueOf(*factor));
    result = result + product;
  }
  return result;
}

bool holds(const DimExpr &expr, int &steps) {
  if (--steps < 0)
    return false;
  bool positive = true;
  for (const DimExpr::Term &term : expr.terms())
    positive &=
        term.coefficient >= 0 && llvm::all_of(term.factors, [&](const auto &f) { return atomHolds(*f, steps); });
  if (positive)
    return true;
  for (const DimExpr::Term &term : expr.terms())
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
        return false; // replacing another operation first would give the same lower bounds
      // the value of min(a, b) or max(a, b) is a or b: prove the lower bound of `expr` for both
      // cases
      if (factor->op != DimExpr::Op::Mod)
        return holds(where(expr, factor, factor->lhs), steps) && holds(where(expr, factor, factor->rhs), steps);
    }
  return false;
}

} // namespace

bool isReadSymbol(llvm::StringRef name) {
  return name.consume_front("u") && !name.empty() && llvm::all_of(name, llvm::isDigit);
}

bool overflows(const DimExpr &expr) {
  bool found = false;
  expr.walkSymbols([&](llvm::StringRef name) { found |= name == kOverflow; });
  return found;
}

int64_t evaluate(const DimExpr &expr, llvm::function_ref<int64_t(llvm::StringRef)> value) {
  int64_t sum = 0;
  for (const DimExpr::Term &term : expr.terms()) {
    int64_t product = term.coefficient;
    for (const DimExpr::AtomRef &factor : term.factors)
      product = wrapMul(product, evaluateAtom(*factor, value));
    sum = wrapAdd(sum, product);
  }
  return sum;
}

DimExpr termOf(const DimExpr::Term &term) { return productOf(term.coefficient, term.factors); }

bool isKnownNonNegative(const DimExpr &expr) {
  int steps = kMaxSteps;
  return holds(expr, steps);
}

} // namespace hewn::graph
