// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Contents/ContentsInterpreter.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------===//
// Comparisons
//===------------------------------------------------------------------------------------------===//

namespace {

enum class Comparison { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };

/// Converts a comparison of `difference` with 0 to a condition and the truth value that the
/// condition must have. For example, `d > 0` becomes `d <= 0`, which must be false.
std::pair<Condition, bool> conditionOf(Comparison relation, const DimExpr &difference) {
  switch (relation) {
  case Comparison::Equal:
  case Comparison::NotEqual:
    return {{Condition::Kind::Zero, difference}, relation == Comparison::Equal};
  case Comparison::Less:
  case Comparison::GreaterOrEqual:
    return {{Condition::Kind::AtMostZero, difference + DimExpr(1)}, relation == Comparison::Less};
  case Comparison::LessOrEqual:
  case Comparison::Greater:
    break;
  }
  return {{Condition::Kind::AtMostZero, difference}, relation == Comparison::LessOrEqual};
}

bool isBoundedByZero(const DimExpr &expr) {
  std::optional<int64_t> low = Facts().boundsOf(expr, 0).low;
  return low && *low >= 0;
}

/// Returns the quotient a / b, rounded toward zero, or nullopt if it is not an expression. `b` must
/// be proven to be positive under the assumption that no dim is 0.
std::optional<DimExpr> divide(const DimExpr &a, const DimExpr &b) {
  std::optional<int64_t> low = Facts().boundsOf(b, 1).low;
  if (!low || *low < 1)
    return std::nullopt;
  if (auto exact = a.divideExactly(b))
    return exact;
  return isBoundedByZero(a) ? std::optional(a.floorDiv(b)) : std::nullopt;
}

//===------------------------------------------------------------------------------------------===//
// Float quotients
//===------------------------------------------------------------------------------------------===//

/// The float value `expr / divisor`, where `divisor` is a small positive integer.
struct Quotient {
  DimExpr expr;
  int64_t divisor;
};

/// Returns a float element as numerator and divisor, or nullopt if the element is unknown or if no
/// small integer divisor represents a constant exactly. Scales such as 2, 0.5 and 1.25 are exact.
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
  // Leaves an element with a large divisor unknown. A float multiplication multiplies the divisors
  // of its operands, which would overflow 64 bits after many multiplications.
  if (divisor < 1 || divisor > 1 << 24 || overflows(expr))
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

//===------------------------------------------------------------------------------------------===//
// Interpretation of ops on expressions
//===------------------------------------------------------------------------------------------===//

/// Evaluates an integer op on expressions. Returns nullopt if the result is not an expression.
static std::optional<DimExpr> integerOp(Operation &op, const DimExpr &a, const DimExpr &b) {
  return llvm::TypeSwitch<Operation *, std::optional<DimExpr>>(&op)
      .Case([&](arith::AddIOp) { return a + b; })
      .Case([&](arith::SubIOp) { return a - b; })
      .Case([&](arith::MulIOp) { return a * b; })
      .Case<arith::MinSIOp>([&](auto) { return DimExpr::min(a, b); })
      .Case<arith::MaxSIOp>([&](auto) { return DimExpr::max(a, b); })
      .Case<arith::DivSIOp, arith::DivUIOp>([&](auto) { return divide(a, b); })
      .Case<arith::FloorDivSIOp>([&](auto) {
        // divide(b, b) fails unless b is positive
        return divide(b, b) ? std::optional(a.floorDiv(b)) : std::nullopt;
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
      // an expression divided by an integer is never NaN, so the ops for maximum and minimum need
      // no NaN case
      .Case<arith::MaximumFOp, arith::MinimumFOp>([&](auto op) {
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
  bool whole = x.divisor == 1, positive = isBoundedByZero(*x.expr);
  return llvm::TypeSwitch<Operation *, ElementContent>(&op)
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp, arith::IndexCastUIOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::ExtFOp>([&](auto) { return x; })
      // Sizes are assumed to fit in 32 bits and in the 24 significand bits of a float, so that
      // conversions to i32 and f32 keep the value. Conversions to smaller types may change it.
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

static std::optional<Comparison> relationOf(Operation &op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return Comparison::Equal;
    case arith::CmpIPredicate::ne:
      return Comparison::NotEqual;
    case arith::CmpIPredicate::slt:
    case arith::CmpIPredicate::ult:
      return Comparison::Less;
    case arith::CmpIPredicate::sle:
    case arith::CmpIPredicate::ule:
      return Comparison::LessOrEqual;
    case arith::CmpIPredicate::sgt:
    case arith::CmpIPredicate::ugt:
      return Comparison::Greater;
    case arith::CmpIPredicate::sge:
    case arith::CmpIPredicate::uge:
      return Comparison::GreaterOrEqual;
    }
  }
  auto compare = dyn_cast<arith::CmpFOp>(op);
  if (!compare)
    return std::nullopt;
  // Float values that are expressions are never NaN, so an ordered comparison predicate and its
  // unordered form are equal.
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OEQ:
  case arith::CmpFPredicate::UEQ:
    return Comparison::Equal;
  case arith::CmpFPredicate::ONE:
  case arith::CmpFPredicate::UNE:
    return Comparison::NotEqual;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::ULT:
    return Comparison::Less;
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULE:
    return Comparison::LessOrEqual;
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::UGT:
    return Comparison::Greater;
  case arith::CmpFPredicate::OGE:
  case arith::CmpFPredicate::UGE:
    return Comparison::GreaterOrEqual;
  default:
    return std::nullopt;
  }
}

//===------------------------------------------------------------------------------------------===//
// The interpreter
//===------------------------------------------------------------------------------------------===//

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
  if (found == results.end())
    return {};
  ElementContent content = found->second.content;
  if (found->second.likely) {
    content = {};
    content.question = found->second.content.question;
  }
  return content;
}

std::optional<int64_t> ContentsInterpreter::constantOf(const Index &index) {
  std::optional<DimExpr> known = integerOf(run(index.base));
  return known ? known->constant() : std::nullopt;
}

/// Folds an op whose operands are constants with MLIR's folders.
std::optional<ContentsInterpreter::Result> ContentsInterpreter::fold(Operation &op, ArrayRef<Result> operands) {
  SmallVector<Attribute> constants;
  for (const Result &operand : operands)
    constants.push_back(operand.content.constant);
  SmallVector<OpFoldResult> folded;
  // If `Operation::fold` succeeds without results, it has modified the op in place and is called
  // again.
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
  SmallVector<Result> in;
  for (Value operand : op.getOperands())
    in.push_back(results.lookup(operand));
  Result result = interpret(op, in);
  // If an op's result is unknown because an operand is unknown, the condition on dims that the
  // operand depends on (`question`) also becomes that of the result.
  if (!result.content.known() || result.likely)
    for (const Result &operand : in)
      if (operand.content.question && !result.content.question)
        result.content.question = operand.content.question;
  return result;
}

ContentsInterpreter::Result ContentsInterpreter::interpret(Operation &op, ArrayRef<Result> in) {
  Result result;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    result.content.constant = constant.getValue();
    return result;
  }
  if (llvm::all_of(in, [](const Result &r) { return bool(r.content.constant); })) {
    std::optional<Result> folded = fold(op, in);
    return folded ? *folded : result;
  }
  MLIRContext *context = op.getContext();
  if (isa<arith::SelectOp>(op)) {
    if (std::optional<bool> condition = booleanOf(in[0].content)) {
      // Evaluates a select even if its condition is only known under the assumption that no dim is
      // 0 (`likely`), because ops emit such a select to guard a division by a dim.
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
  if (std::optional<Comparison> relation = relationOf(op)) {
    DimExpr difference = a->expr * DimExpr(b->divisor) - b->expr * DimExpr(a->divisor);
    if (overflows(difference))
      return result;
    auto [condition, wanted] = conditionOf(*relation, difference);
    for (int64_t leastDim : {0, 1}) {
      if (std::optional<bool> known = facts.holds(condition, leastDim)) {
        bool likely = result.likely || leastDim == 1;
        std::optional<Condition> question = result.content.question;
        result = {boolean(context, *known == wanted), likely};
        result.content.question = question;
        return result;
      }
      result.content.question = condition;
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
