// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Reduce/Reduce.h"
#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

Value body::divideByCount(Builder &e, NumberKind kind, Value state, Value count) {
  Type type = state.getType();
  if (kind == NumberKind::Float)
    return e.createOrFold<arith::DivFOp>(state, e.createOrFold<arith::SIToFPOp>(type, count));
  Value divisor = count;
  if (count.getType() != type)
    divisor = e.createOrFold<arith::TruncIOp>(type, count);
  return div(e, kind, state, divisor);
}

Value reduceConstant(body::Builder &e, Type element, int64_t lanes, body::IdentityValue value) {
  Type type = computeType(element);
  TypedAttr attr;
  if (auto f = dyn_cast<FloatType>(type)) {
    double number = 0;
    switch (value) {
    case body::IdentityValue::Zero:
      break;
    case body::IdentityValue::One:
      number = 1;
      break;
    case body::IdentityValue::Lowest:
      number = -std::numeric_limits<double>::infinity();
      break;
    case body::IdentityValue::Highest:
      number = std::numeric_limits<double>::infinity();
      break;
    }
    attr = e.getFloatAttr(f, number);
  } else {
    unsigned width = type.getIntOrFloatBitWidth();
    bool unsignedKind = isUnsigned(element);
    APInt number(width, value == body::IdentityValue::One ? 1 : 0);
    if (value == body::IdentityValue::Lowest)
      number = unsignedKind ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
    if (value == body::IdentityValue::Highest)
      number = unsignedKind ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
    attr = e.getIntegerAttr(type, number);
  }
  if (lanes)
    attr = DenseElementsAttr::get(VectorType::get({lanes}, type), Attribute(attr));
  return arith::ConstantOp::create(e, attr);
}

LogicalResult inferReduce(Operation *op, DimsOf dimsOf, Type elementType, SmallVectorImpl<TensorShape> &results) {
  auto reduce = cast<ReduceOpInterface>(op);
  Dims dims = dimsOf(op->getOperand(0)), kept;
  SmallVector<int64_t> reduced = reduce.getReducedDims();
  if (reduced.empty())
    return op->emitOpError() << "must reduce at least one dim";
  for (auto [i, dim] : llvm::enumerate(reduced))
    if (dim < 0 || dim >= int64_t(dims.size()) || (i > 0 && reduced[i - 1] >= dim))
      return op->emitOpError() << "reduced dims must be ascending and within the rank " << dims.size();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (!llvm::is_contained(reduced, int64_t(i)))
      kept.push_back(dim);
    else if (reduce.keepsDims())
      kept.push_back(DimExpr(1));
  }
  results.push_back({std::move(kept), elementType});
  return success();
}

/// Returns the integer type in which ArgMax and ArgMin compute indices along dim `dim` of `x`.
static IntegerType positionType(Value x, int64_t dim) {
  std::optional<int64_t> extent = getDims(x)[dim].constant();
  return IntegerType::get(x.getContext(), extent && *extent <= std::numeric_limits<int32_t>::max() ? 32 : 64);
}

SmallVector<Value> argIdentity(body::Builder &e, Value x, int64_t dim, int64_t lanes, body::IdentityValue least,
                               bool last) {
  Value value = reduceConstant(e, getElementType(x), lanes, least);
  Value position = reduceConstant(e, positionType(x, dim), lanes, body::IdentityValue::Highest);
  return {value, last ? body::constant(e, position, -1) : position};
}

Value argPosition(body::Builder &e, Value x, int64_t dim, Value position) {
  Type type = positionType(x, dim), wanted = type;
  if (auto vector = dyn_cast<VectorType>(position.getType()))
    wanted = vector.clone(type);
  return type.isInteger(64) ? position : e.createOrFold<arith::TruncIOp>(wanted, position);
}

Value argFinish(body::Builder &e, bool last, ValueRange state) {
  Value position = state[1];
  // If the state of an ArgMax or ArgMin still has the initial index, all elements are equal to the
  // initial value, so the first one is at index 0.
  if (!last) {
    auto vector = dyn_cast<VectorType>(position.getType());
    Value none = reduceConstant(e, getElementTypeOrSelf(position), vector ? vector.getNumElements() : 0,
                                body::IdentityValue::Highest);
    Value isNone = e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, position, none);
    position = e.createOrFold<arith::SelectOp>(isNone, body::constant(e, position, 0), position);
  }
  Type wanted = e.getI64Type();
  if (auto vector = dyn_cast<VectorType>(position.getType()))
    wanted = vector.clone(wanted);
  return position.getType() == wanted ? position : e.createOrFold<arith::ExtSIOp>(wanted, position);
}

SmallVector<Value> argAppend(body::Builder &e, body::NumberKind kind, body::Order order, bool last, ValueRange state,
                             ValueRange element) {
  using namespace body;
  Value a = state[0], b = element[0], take;
  bool greater = order == Order::Greater;
  if (kind == NumberKind::Float) {
    // Adds an element to the state of an ArgMax or ArgMin. Unordered predicates are true if at
    // least one operand is NaN. A NaN in the state must stay if the new element is a number, or if
    // the first NaN is searched; `may` excludes these cases.
    using P = arith::CmpFPredicate;
    P better = greater ? (last ? P::UGE : P::UGT) : (last ? P::ULE : P::ULT);
    Value may = e.createOrFold<arith::CmpFOp>(P::ORD, a, a);
    if (last)
      may = e.createOrFold<arith::OrIOp>(may, e.createOrFold<arith::CmpFOp>(P::UNO, b, b));
    take = e.createOrFold<arith::AndIOp>(e.createOrFold<arith::CmpFOp>(better, b, a), may);
  } else {
    take = compare(e, kind, order, b, a);
    if (last)
      take = e.createOrFold<arith::OrIOp>(take, compare(e, kind, Order::Equal, b, a));
  }
  return {e.createOrFold<arith::SelectOp>(take, b, a), e.createOrFold<arith::SelectOp>(take, element[1], state[1])};
}

SmallVector<Value> argMerge(body::Builder &e, body::NumberKind kind, body::Order order, bool last, ValueRange a,
                            ValueRange b) {
  using namespace body;
  Value better = compare(e, kind, order, b[0], a[0]), equal = compare(e, kind, Order::Equal, a[0], b[0]);
  if (kind == NumberKind::Float) {
    Value aIsNaN = compare(e, kind, Order::NotEqual, a[0], a[0]),
          bIsNaN = compare(e, kind, Order::NotEqual, b[0], b[0]);
    equal = e.createOrFold<arith::OrIOp>(equal, e.createOrFold<arith::AndIOp>(aIsNaN, bIsNaN));
    // Combines two states a and b of an ArgMax or ArgMin. Comparisons with NaN are false, so a
    // single NaN is handled here: b is better if only b is NaN.
    better = e.createOrFold<arith::OrIOp>(better, e.createOrFold<arith::AndIOp>(bIsNaN, flipBits(e, aIsNaN)));
  }
  Value closer = compare(e, NumberKind::Signed, last ? Order::Greater : Order::Less, b[1], a[1]);
  Value takeB = e.createOrFold<arith::OrIOp>(better, e.createOrFold<arith::AndIOp>(equal, closer));
  return {e.createOrFold<arith::SelectOp>(takeB, b[0], a[0]), e.createOrFold<arith::SelectOp>(takeB, b[1], a[1])};
}

} // namespace hewn::graph
