// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/ContentsInterpreter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------------------------------===//
// Bounds of expressions
//===------------------------------------------------------------------------------------------------------------------===//

namespace {

/// What is known of an expression's range; an absent bound is infinite.
struct Bounds {
  std::optional<int64_t> low, high;
};

Bounds boundsOf(const DimExpr &expr, int64_t leastDim);

/// `leastDim` is the least value of a dim: 0, or 1 for what holds unless a tensor is empty.
Bounds boundsOf(const DimExpr::Atom &atom, int64_t leastDim) {
  StringRef name = atom.name;
  if (!name.empty()) {
    bool readFromTensor = name.consume_front("u") && llvm::all_of(name, llvm::isDigit);
    return {readFromTensor ? std::nullopt : std::optional(leastDim), std::nullopt};
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

/// The range of a product of factors that are not negative; anything where one may be.
Bounds boundsOf(ArrayRef<DimExpr::AtomRef> factors, int64_t leastDim) {
  Bounds product{1, 1};
  for (const DimExpr::AtomRef &factor : factors) {
    Bounds b = boundsOf(*factor, leastDim);
    if (!b.low || *b.low < 0)
      return factors.size() == 1 ? b : Bounds{};
    product.low = *product.low * *b.low;
    product.high = product.high && b.high ? std::optional(*product.high * *b.high) : std::nullopt;
  }
  return product;
}

Bounds boundsOf(const DimExpr &expr, int64_t leastDim) {
  Bounds sum{0, 0};
  for (const DimExpr::Term &term : expr.terms()) {
    Bounds b = boundsOf(term.factors, leastDim);
    if (term.coefficient < 0)
      std::swap(b.low, b.high);
    sum.low = sum.low && b.low ? std::optional(*sum.low + term.coefficient * *b.low) : std::nullopt;
    sum.high = sum.high && b.high ? std::optional(*sum.high + term.coefficient * *b.high) : std::nullopt;
  }
  return sum;
}

enum class Relation { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };

/// Whether `difference` stands in the relation to 0, if its range tells.
std::optional<bool> holds(Relation relation, const Bounds &difference) {
  std::optional<int64_t> low = difference.low, high = difference.high;
  switch (relation) {
  case Relation::Equal:
    if (low == 0 && high == 0)
      return true;
    return (low && *low > 0) || (high && *high < 0) ? std::optional(false) : std::nullopt;
  case Relation::Less:
    if (high && *high < 0)
      return true;
    return low && *low >= 0 ? std::optional(false) : std::nullopt;
  case Relation::LessOrEqual:
    if (high && *high <= 0)
      return true;
    return low && *low > 0 ? std::optional(false) : std::nullopt;
  case Relation::NotEqual:
  case Relation::Greater:
  case Relation::GreaterOrEqual:
    break;
  }
  Relation opposite = relation == Relation::NotEqual  ? Relation::Equal
                      : relation == Relation::Greater ? Relation::LessOrEqual
                                                      : Relation::Less;
  std::optional<bool> not_ = holds(opposite, difference);
  return not_ ? std::optional(!*not_) : std::nullopt;
}

bool isNonNegative(const DimExpr &expr) {
  std::optional<int64_t> low = boundsOf(expr, 0).low;
  return low && *low >= 0;
}

/// a / b rounded toward zero, for a divisor that is positive unless a dim is 0.
std::optional<DimExpr> divide(const DimExpr &a, const DimExpr &b) {
  std::optional<int64_t> low = boundsOf(b, 1).low;
  if (!low || *low < 1)
    return std::nullopt;
  if (auto exact = a.divideExactly(b))
    return exact;
  return isNonNegative(a) ? std::optional(a.floorDiv(b)) : std::nullopt;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Quotients: floats
//===------------------------------------------------------------------------------------------------------------------===//

/// expr / divisor, with a small positive divisor.
struct Quotient {
  DimExpr expr;
  int64_t divisor;
};

/// A float as a quotient, where a short one is exactly it: scales are 2, 0.5, 1.25.
std::optional<Quotient> quotientOf(const ElementContent &content) {
  if (content.expr)
    return Quotient{*content.expr, content.divisor};
  auto constant = dyn_cast_or_null<FloatAttr>(content.constant);
  if (!constant)
    return std::nullopt;
  double value = constant.getValueAsDouble();
  for (int64_t divisor = 1; divisor <= 1 << 12; divisor *= 2)
    if (double scaled = value * divisor; std::abs(scaled) < 1e12 && std::floor(scaled) == scaled)
      return Quotient{DimExpr(int64_t(scaled)), divisor};
  return std::nullopt;
}

ElementContent contentOf(const DimExpr &expr, int64_t divisor = 1) {
  ElementContent content;
  // Products of many odd factors would outgrow 64 bits.
  if (divisor < 1 || divisor > 1 << 24)
    return content;
  while (divisor % 2 == 0 && expr.divideExactly(DimExpr(2)))
    return contentOf(*expr.divideExactly(DimExpr(2)), divisor / 2);
  content.expr = expr;
  content.divisor = divisor;
  return content;
}

std::optional<DimExpr> integerOf(const ElementContent &content) {
  if (content.expr)
    return content.expr;
  auto constant = dyn_cast_or_null<IntegerAttr>(content.constant);
  if (!constant || constant.getValue().getSignificantBits() > 64)
    return std::nullopt;
  return DimExpr(constant.getValue().getSExtValue());
}

ElementContent boolean(MLIRContext *context, bool value) {
  ElementContent content;
  content.constant = IntegerAttr::get(IntegerType::get(context, 1), value);
  return content;
}

std::optional<bool> booleanOf(const ElementContent &content) {
  auto constant = dyn_cast_or_null<IntegerAttr>(content.constant);
  return constant && constant.getType().isInteger(1) ? std::optional(!constant.getValue().isZero()) : std::nullopt;
}

} // namespace

//===------------------------------------------------------------------------------------------------------------------===//
// Ops on expressions
//===------------------------------------------------------------------------------------------------------------------===//

/// Integer arithmetic; nothing where the op has no expression.
static std::optional<DimExpr> integerOp(Operation &op, const DimExpr &a, const DimExpr &b) {
  return llvm::TypeSwitch<Operation *, std::optional<DimExpr>>(&op)
      .Case([&](arith::AddIOp) { return a + b; })
      .Case([&](arith::SubIOp) { return a - b; })
      .Case([&](arith::MulIOp) { return a * b; })
      .Case<arith::MinSIOp>([&](auto) { return DimExpr::min(a, b); })
      .Case<arith::MaxSIOp>([&](auto) { return DimExpr::max(a, b); })
      .Case<arith::DivSIOp, arith::DivUIOp>([&](auto) { return divide(a, b); })
      .Case<arith::FloorDivSIOp>([&](auto) {
        return divide(b, b) ? std::optional(a.floorDiv(b)) : std::nullopt; // b is positive
      })
      .Case<arith::CeilDivSIOp>([&](auto) { return divide(b, b) ? std::optional(a.ceilDiv(b)) : std::nullopt; })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) -> std::optional<DimExpr> {
        if (!divide(a, b))
          return std::nullopt;
        return a.mod(b);
      })
      .Default([](Operation *) { return std::nullopt; });
}

static ElementContent floatOp(Operation &op, const Quotient &a, const Quotient &b) {
  std::optional<int64_t> divisor = b.expr.constant();
  return llvm::TypeSwitch<Operation *, ElementContent>(&op)
      .Case<arith::AddFOp>([&](auto) {
        return contentOf(a.expr * DimExpr(b.divisor) + b.expr * DimExpr(a.divisor), a.divisor * b.divisor);
      })
      .Case<arith::SubFOp>([&](auto) {
        return contentOf(a.expr * DimExpr(b.divisor) - b.expr * DimExpr(a.divisor), a.divisor * b.divisor);
      })
      .Case<arith::MulFOp>([&](auto) { return contentOf(a.expr * b.expr, a.divisor * b.divisor); })
      .Case<arith::MaximumFOp, arith::MinimumFOp>([&](auto op) { // no quotient is NaN
        constexpr bool isMaximum = std::is_same_v<decltype(op), arith::MaximumFOp>;
        DimExpr x = a.expr * DimExpr(b.divisor), y = b.expr * DimExpr(a.divisor);
        return contentOf(isMaximum ? DimExpr::max(x, y) : DimExpr::min(x, y), a.divisor * b.divisor);
      })
      .Case<arith::DivFOp>([&](auto) {
        if (divisor && *divisor > 0 && *divisor < 1 << 24)
          return contentOf(a.expr * DimExpr(b.divisor), a.divisor * *divisor);
        std::optional<DimExpr> exact =
            divisor ? std::nullopt : (a.expr * DimExpr(b.divisor)).divideExactly(b.expr * DimExpr(a.divisor));
        return exact ? contentOf(*exact) : ElementContent();
      })
      .Default([](Operation *) { return ElementContent(); });
}

static ElementContent convert(Operation &op, const ElementContent &x) {
  if (!x.expr)
    return {};
  bool whole = x.divisor == 1, positive = isNonNegative(*x.expr);
  return llvm::TypeSwitch<Operation *, ElementContent>(&op)
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp, arith::IndexCastUIOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::ExtFOp>([&](auto) { return x; })
      // Sizes fit in 32 bits and in a float's 24: a model that computes in narrower types says so itself.
      .Case<arith::TruncIOp>(
          [&](auto trunc) { return trunc.getType().getIntOrFloatBitWidth() >= 32 ? x : ElementContent(); })
      .Case<arith::TruncFOp>([&](auto trunc) { return trunc.getType().isF32() ? x : ElementContent(); })
      .Case<arith::FPToSIOp, arith::FPToUIOp, math::TruncOp>(
          [&](auto) { return whole || positive ? contentOf(x.expr->floorDiv(DimExpr(x.divisor))) : ElementContent(); })
      .Case<math::FloorOp>([&](auto) { return contentOf(x.expr->floorDiv(DimExpr(x.divisor))); })
      .Case<math::CeilOp>([&](auto) { return contentOf(x.expr->ceilDiv(DimExpr(x.divisor))); })
      .Case<math::RoundEvenOp, math::RoundOp>([&](auto) { return whole ? x : ElementContent(); })
      .Case<math::AbsIOp, math::AbsFOp>([&](auto) { return positive ? x : ElementContent(); })
      .Case<arith::NegFOp>([&](auto) { return contentOf(*x.expr * DimExpr(-1), x.divisor); })
      .Default([](Operation *) { return ElementContent(); });
}

static std::optional<Relation> relationOf(Operation &op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return Relation::Equal;
    case arith::CmpIPredicate::ne:
      return Relation::NotEqual;
    case arith::CmpIPredicate::slt:
    case arith::CmpIPredicate::ult:
      return Relation::Less;
    case arith::CmpIPredicate::sle:
    case arith::CmpIPredicate::ule:
      return Relation::LessOrEqual;
    case arith::CmpIPredicate::sgt:
    case arith::CmpIPredicate::ugt:
      return Relation::Greater;
    case arith::CmpIPredicate::sge:
    case arith::CmpIPredicate::uge:
      return Relation::GreaterOrEqual;
    }
  }
  auto compare = dyn_cast<arith::CmpFOp>(op);
  if (!compare)
    return std::nullopt;
  // No quotient is NaN.
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OEQ:
  case arith::CmpFPredicate::UEQ:
    return Relation::Equal;
  case arith::CmpFPredicate::ONE:
  case arith::CmpFPredicate::UNE:
    return Relation::NotEqual;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::ULT:
    return Relation::Less;
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULE:
    return Relation::LessOrEqual;
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::UGT:
    return Relation::Greater;
  case arith::CmpFPredicate::OGE:
  case arith::CmpFPredicate::UGE:
    return Relation::GreaterOrEqual;
  default:
    return std::nullopt;
  }
}

//===------------------------------------------------------------------------------------------------------------------===//
// The interpreter
//===------------------------------------------------------------------------------------------------------------------===//

Value ContentsInterpreter::enter(Type type, const ElementContent &content) {
  Value value = block.addArgument(type, loc);
  results[value].content = content;
  return value;
}

void ContentsInterpreter::restart() {
  for (Operation &op : block)
    for (Value result : op.getResults())
      results.erase(result);
  last = nullptr;
}

ElementContent ContentsInterpreter::run(Value value) {
  auto next = last ? std::next(last->getIterator()) : block.begin();
  for (; next != block.end(); ++next) {
    if (next->getNumResults() == 1)
      results[next->getResult(0)] = interpret(*next);
    last = &*next;
  }
  auto found = results.find(value);
  return found == results.end() || found->second.likely ? ElementContent() : found->second.content;
}

std::optional<int64_t> ContentsInterpreter::constantOf(const Index &index) {
  std::optional<DimExpr> known = integerOf(run(index.base));
  return known ? known->constant() : std::nullopt;
}

/// MLIR's own folders run ops on constants.
std::optional<ContentsInterpreter::Result> ContentsInterpreter::fold(Operation &op, ArrayRef<Result> operands) {
  SmallVector<Attribute> constants;
  for (const Result &operand : operands)
    constants.push_back(operand.content.constant);
  SmallVector<OpFoldResult> folded;
  // Success without results is an op that was changed in place: once more.
  for (int tries = 0; tries < 3 && folded.empty(); ++tries)
    if (failed(op.fold(constants, folded)))
      return std::nullopt;
  if (folded.size() != 1)
    return std::nullopt;
  bool likely = llvm::any_of(operands, [](const Result &r) { return r.likely; });
  if (auto attr = dyn_cast<Attribute>(folded[0])) {
    Result result;
    result.content.constant = attr;
    result.likely = likely;
    return result;
  }
  auto found = results.find(cast<Value>(folded[0]));
  return found == results.end() ? std::nullopt : std::optional(found->second);
}

ContentsInterpreter::Result ContentsInterpreter::interpret(Operation &op) {
  Result result;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    result.content.constant = constant.getValue();
    return result;
  }
  SmallVector<Result> in;
  for (Value operand : op.getOperands())
    in.push_back(results.lookup(operand));
  if (llvm::all_of(in, [](const Result &r) { return bool(r.content.constant); })) {
    std::optional<Result> folded = fold(op, in);
    return folded ? *folded : result;
  }
  MLIRContext *context = op.getContext();
  if (isa<arith::SelectOp>(op)) {
    if (std::optional<bool> condition = booleanOf(in[0].content)) {
      // A guess about the condition ends here: the branch is what a division's guard would have chosen.
      return in[*condition ? 1 : 2];
    }
    if (in[1].content.expr && in[2].content.expr && *in[1].content.expr == *in[2].content.expr &&
        in[1].content.divisor == in[2].content.divisor)
      return in[1];
    return result;
  }
  if (isa<arith::AndIOp, arith::OrIOp>(op) && op.getResult(0).getType().isInteger(1)) {
    bool absorbing = isa<arith::OrIOp>(op);
    for (unsigned i : {0, 1}) {
      std::optional<bool> known = booleanOf(in[i].content);
      if (known)
        return *known == absorbing ? in[i] : in[1 - i];
    }
    return result;
  }
  result.likely = llvm::any_of(in, [](const Result &r) { return r.likely; });
  if (in.size() == 1) {
    result.content = convert(op, in[0].content);
    return result;
  }
  if (in.size() != 2)
    return result;
  std::optional<Quotient> a, b;
  bool isFloat = isa<FloatType>(op.getOperand(0).getType());
  if (isFloat) {
    a = quotientOf(in[0].content);
    b = quotientOf(in[1].content);
  } else {
    auto x = integerOf(in[0].content), y = integerOf(in[1].content);
    a = x ? std::optional(Quotient{*x, 1}) : std::nullopt;
    b = y ? std::optional(Quotient{*y, 1}) : std::nullopt;
  }
  if (!a || !b)
    return result;
  if (std::optional<Relation> relation = relationOf(op)) {
    DimExpr difference = a->expr * DimExpr(b->divisor) - b->expr * DimExpr(a->divisor);
    for (int64_t leastDim : {0, 1})
      if (std::optional<bool> known = holds(*relation, boundsOf(difference, leastDim))) {
        result.likely |= leastDim == 1;
        result.content = boolean(context, *known);
        return result;
      }
    return result;
  }
  if (isFloat)
    result.content = floatOp(op, *a, *b);
  else if (auto expr = integerOp(op, a->expr, b->expr))
    result.content = contentOf(*expr);
  return result;
}

} // namespace hewn::graph
