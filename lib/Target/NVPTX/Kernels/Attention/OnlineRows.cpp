// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Kernels/Attention/OnlineRows.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

namespace {

bool isComputedInFloat(Value value) { return graph::computeType(graph::getElementType(value)).isF32(); }

/// Returns an opaque float32 value, which represents a tensor's element during pattern matching.
Value anyNumber(ElementEmitter &e) {
  return UnrealizedConversionCastOp::create(e.b, e.loc, e.b.getF32Type(), ValueRange()).getResult(0);
}

/// Returns true if the reduction has a single state, merges states by one of the ops `Merge`, and
/// converts neither its elements nor its result.
template <typename... Merge> bool isPlain(ElementEmitter &e, ReduceOpInterface reduce) {
  OpBuilder &b = e.b;
  if (reduce.usesPosition() || reduce.identity(b, e.loc, 0).size() != 1 || !isComputedInFloat(reduce->getResult(0)))
    return false;
  Value x = anyNumber(e), y = anyNumber(e), count = e.toElement(e.constant(1), b.getI64Type());
  SmallVector<Value> lifted = reduce.lift(b, e.loc, x, Value());
  return lifted.size() == 1 && lifted[0] == x &&
         isa_and_nonnull<Merge...>(reduce.merge(b, e.loc, {x}, {y})[0].getDefiningOp()) &&
         reduce.finish(b, e.loc, {x}, count) == x;
}

/// Returns the op that defines `value` if it is of type `Op`, else null.
template <typename Op> Op madeBy(Value value) { return value.getDefiningOp<Op>(); }

/// Returns true if `value` is y, or max(y, c) for a constant c that `fits` accepts. Models emit
/// such a lower bound for rows without columns.
bool isBounded(Value value, Value y, llvm::function_ref<bool(double)> fits) {
  if (value == y)
    return true;
  auto isConstant = [&](Value v) {
    FloatAttr attr;
    return matchPattern(v, m_Constant(&attr)) && fits(attr.getValueAsDouble());
  };
  auto maximum = madeBy<arith::MaximumFOp>(value); // arith.maximumf propagates NaN
  return maximum && maximum.getLhs() == y && isConstant(maximum.getRhs());
}

/// Returns the value before its rounding to a 16-bit float, or `value` itself if it was not
/// rounded.
Value beforeRounding(Value value) {
  if (auto wider = madeBy<arith::ExtFOp>(value))
    if (auto narrower = madeBy<arith::TruncFOp>(wider.getIn()))
      return narrower.getIn();
  return value;
}

/// Returns true if `value` is x / y or x * (1 / y), possibly rounded to a 16-bit float. (The
/// attention result is then rounded to that type as well.) Instead of y, the divisor may be max(y,
/// c), see isBounded.
bool isQuotient(Value value, Value x, Value y, llvm::function_ref<bool(double)> fits) {
  value = beforeRounding(value);
  if (auto divide = madeBy<arith::DivFOp>(value))
    return divide.getLhs() == x && isBounded(divide.getRhs(), y, fits);
  auto multiply = madeBy<arith::MulFOp>(value);
  if (!multiply)
    return false;
  Value other = multiply.getLhs() == x ? multiply.getRhs() : multiply.getLhs();
  auto inverse = madeBy<arith::DivFOp>(other);
  return (multiply.getLhs() == x || multiply.getRhs() == x) && other != x && inverse && inverse.getLhs() != x &&
         isBounded(inverse.getRhs(), y, fits) && matchPattern(inverse.getLhs(), m_OneFloat());
}

/// If `value` is `isnan(x) ? 0 : x`, returns x; otherwise null.
Value beforeZeros(Value value) {
  auto select = madeBy<arith::SelectOp>(value);
  auto isNaN = select ? madeBy<arith::CmpFOp>(select.getCondition()) : arith::CmpFOp();
  using Predicate = arith::CmpFPredicate;
  if (!isNaN || (isNaN.getPredicate() != Predicate::UNE && isNaN.getPredicate() != Predicate::UNO))
    return nullptr;
  Value x = select.getFalseValue(), asked = isNaN.getLhs();
  // NaN may be tested before or after the rounding of x to a 16-bit float, which preserves NaN
  bool ofX = asked == isNaN.getRhs() && (asked == x || beforeRounding(asked) == x);
  return ofX && matchPattern(select.getTrueValue(), m_AnyZeroFloat()) ? x : Value();
}

OrReason<OnlineRows> find(ElementEmitter &e, const graph::FusedAttention &attention) {
  SmallVector<ReduceOpInterface> reductions;
  for (Operation *op : attention.middle)
    if (auto reduce = dyn_cast<ReduceOpInterface>(op))
      reductions.push_back(reduce);
  constexpr StringRef why = "the row-wise ops are not one maximum and one sum in float32";
  if (reductions.size() != 2)
    return Eligibility::no(why);
  OnlineRows rows{reductions[0]->getOperand(0), reductions[1]->getOperand(0), reductions[0], reductions[1]};
  Value maximum = rows.maximum->getResult(0), sum = rows.sum->getResult(0);
  // Accept a softmax that subtracts the row's minimum instead of the maximum as well: except for
  // rounding, the quotient does not depend on the number that is subtracted from the logits.
  if (!isPlain<arith::MaximumFOp, arith::MinimumFOp>(e, rows.maximum) || !isPlain<arith::AddFOp>(e, rows.sum) ||
      !isComputedInFloat(rows.logits) || !isComputedInFloat(rows.powers))
    return Eligibility::no(why);
  SmallVector<Index> at(graph::getRank(rows.logits), e.constant(0));
  // Emits `value` with opaque values bound to the tensors x and y, so that the arithmetic can be
  // matched.
  auto readWith = [&](Value value, Value x, Value asX, Value y, Value asY) {
    e.bind(x, asX);
    e.bind(y, asY);
    Value read = e.read(value, at);
    e.unbind(x);
    e.unbind(y);
    return read;
  };
  Value x = anyNumber(e), y = anyNumber(e);
  auto power = madeBy<math::ExpOp>(readWith(rows.powers, rows.logits, x, maximum, y));
  auto difference = power ? madeBy<arith::SubFOp>(power.getOperand()) : arith::SubFOp();
  // Accept a constant lower bound of the row's maximum if it is at most -65504, the smallest finite
  // float16. While the maximum is below such a bound, no element has been added to the sum of
  // exponentials.
  auto lowest = [](double bound) { return bound <= -65504; };
  if (!difference || difference.getLhs() != x || !isBounded(difference.getRhs(), y, lowest))
    return Eligibility::no("the summed elements are not exp(x - the row's maximum)");
  Value weights = readWith(attention.weights, rows.powers, x, sum, y);
  if (Value before = beforeZeros(weights)) {
    rows.zeroesNaN = true;
    weights = before;
  }
  // Accept a lower bound of the sum of exponentials. A bound that is at most 1 has no effect,
  // because the sum contains the exponential of the row's maximum, which is 1.
  auto least = [&](double bound) {
    rows.hasLeastSum = bound > 1;
    return true;
  };
  if (!isQuotient(weights, x, y, least))
    return Eligibility::no("the weights are not the exponentials divided by their sum: another op follows the softmax");
  return rows;
}

} // namespace

OrReason<OnlineRows> onlineRows(ElementEmitter &e, const graph::FusedAttention &attention) {
  // Erase the scratch code after the analysis, including loads that have no uses.
  Block *block = e.b.getInsertionBlock();
  auto point = e.b.getInsertionPoint();
  Operation *before = point == block->begin() ? nullptr : &*std::prev(point);
  OrReason<OnlineRows> rows = find(e, attention);
  e.forget();
  for (;;) {
    auto now = e.b.getInsertionPoint();
    Operation *last = now == block->begin() ? nullptr : &*std::prev(now);
    if (last == before)
      return rows;
    last->dropAllUses();
    last->erase();
  }
}

} // namespace hewn::codegen
