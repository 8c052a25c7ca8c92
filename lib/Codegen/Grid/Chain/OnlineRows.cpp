// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Chain/OnlineRows.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

namespace {

bool isComputedInFloat(Value value) { return graph::computeType(graph::getElementType(value)).isF32(); }

/// Some number that nothing is known of.
Value anyNumber(KernelElements &e) {
  return UnrealizedConversionCastOp::create(e.b, e.loc, e.b.getF32Type(), ValueRange()).getResult(0);
}

/// Whether the reduction's state is one number, merged by one of `Merge`, and made of an element, and into the result, as it is.
template <typename... Merge> bool isPlain(KernelElements &e, ReduceOpInterface reduce) {
  OpBuilder &b = e.b;
  if (reduce.usesPosition() || reduce.identity(b, e.loc, 0).size() != 1 || !isComputedInFloat(reduce->getResult(0)))
    return false;
  Value x = anyNumber(e), y = anyNumber(e), count = e.toElement(e.constant(1), b.getI64Type());
  SmallVector<Value> lifted = reduce.lift(b, e.loc, x, Value());
  return lifted.size() == 1 && lifted[0] == x &&
         isa_and_nonnull<Merge...>(reduce.merge(b, e.loc, {x}, {y})[0].getDefiningOp()) &&
         reduce.finish(b, e.loc, {x}, count) == x;
}

/// The op of `value`; null where it is another.
template <typename Op> Op madeBy(Value value) { return value.getDefiningOp<Op>(); }

/// y, or where that is less than a constant the constant, as rows without any columns have it; of which `fits` may ask something.
bool isBounded(Value value, Value y, llvm::function_ref<bool(double)> fits) {
  if (value == y)
    return true;
  auto isConstant = [&](Value v) {
    FloatAttr attr;
    return matchPattern(v, m_Constant(&attr)) && fits(attr.getValueAsDouble());
  };
  auto maximum = madeBy<arith::MaximumFOp>(value); // what is no number stays so
  return maximum && maximum.getLhs() == y && isConstant(maximum.getRhs());
}

/// What is rounded to a narrower type; another value itself.
Value beforeRounding(Value value) {
  if (auto wider = madeBy<arith::ExtFOp>(value))
    if (auto narrower = madeBy<arith::TruncFOp>(wider.getIn()))
      return narrower.getIn();
  return value;
}

/// x / y, perhaps rounded to a narrower type: the result of such weights is rounded to it too, once. `fits`: as isBounded asks it of y.
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

/// `x` of x, or of 0 where x is no number; null: of something else.
Value beforeZeros(Value value) {
  auto select = madeBy<arith::SelectOp>(value);
  auto isNaN = select ? madeBy<arith::CmpFOp>(select.getCondition()) : arith::CmpFOp();
  using Predicate = arith::CmpFPredicate;
  if (!isNaN || (isNaN.getPredicate() != Predicate::UNE && isNaN.getPredicate() != Predicate::UNO))
    return nullptr;
  Value x = select.getFalseValue(), asked = isNaN.getLhs();
  bool ofX = asked == isNaN.getRhs() && (asked == x || beforeRounding(asked) == x); // no number rounded is none
  return ofX && matchPattern(select.getTrueValue(), m_AnyZeroFloat()) ? x : Value();
}

Found<OnlineRows> find(KernelElements &e, const graph::Chain &chain) {
  SmallVector<ReduceOpInterface> reductions;
  for (Operation *op : chain.middle)
    if (auto reduce = dyn_cast<ReduceOpInterface>(op))
      reductions.push_back(reduce);
  constexpr StringRef why = "rows are not reduced once to their maximum, and once to a sum of floats";
  if (reductions.size() != 2)
    return Verdict::no(why);
  OnlineRows rows{reductions[0]->getOperand(0), reductions[1]->getOperand(0), reductions[0], reductions[1]};
  Value maximum = rows.maximum->getResult(0), sum = rows.sum->getResult(0);
  // (Whichever number is subtracted, the quotient is the same but for rounding: that it is a choice of elements is enough.)
  if (!isPlain<arith::MaximumFOp, arith::MinimumFOp>(e, rows.maximum) || !isPlain<arith::AddFOp>(e, rows.sum) ||
      !isComputedInFloat(rows.logits) || !isComputedInFloat(rows.powers))
    return Verdict::no(why);
  SmallVector<Index> at(graph::getRank(rows.logits), e.constant(0));
  // What stands for the values is told from all else by being bound.
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
  // No float16 is less: as long as the maximum is nothing has been added yet.
  auto lowest = [](double bound) { return bound <= -65504; };
  if (!difference || difference.getLhs() != x || !isBounded(difference.getRhs(), y, lowest))
    return Verdict::no("what is summed is not the exponential of an element less the row's maximum");
  Value weights = readWith(chain.weights, rows.powers, x, sum, y);
  if (Value before = beforeZeros(weights)) {
    rows.zeroesNaN = true;
    weights = before;
  }
  // A sum has the power of the row's maximum in it, which is 1: constants up to that change nothing.
  auto least = [&](double bound) {
    rows.hasLeastSum = bound > 1;
    return true;
  };
  if (!isQuotient(weights, x, y, least))
    return Verdict::no("weights are not the exponentials over their sum: something else is done behind the softmax");
  return rows;
}

} // namespace

Found<OnlineRows> onlineRows(KernelElements &e, const graph::Chain &chain) {
  // In a place of its own: what is tried out may leave reads of memory behind.
  Block *block = e.b.getInsertionBlock();
  auto point = e.b.getInsertionPoint();
  Operation *before = point == block->begin() ? nullptr : &*std::prev(point);
  Found<OnlineRows> rows = find(e, chain);
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
