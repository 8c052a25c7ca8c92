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
    return op->emitOpError() << "reduces over no dims: its operand is what it gives";
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

SmallVector<Value> argIdentity(body::Builder &e, Type element, int64_t lanes, body::IdentityValue least, bool last) {
  Value value = reduceConstant(e, element, lanes, least);
  Value position = reduceConstant(e, e.getI64Type(), lanes, body::IdentityValue::Highest);
  return {value, last ? body::constant(e, position, -1) : position};
}

SmallVector<Value> argMerge(body::Builder &e, body::NumberKind kind, body::Order order, bool last, ValueRange a,
                            ValueRange b) {
  using namespace body;
  Value better = compare(e, kind, order, b[0], a[0]), equal = compare(e, kind, Order::Equal, a[0], b[0]);
  if (kind == NumberKind::Float) {
    Value aIsNaN = compare(e, kind, Order::NotEqual, a[0], a[0]),
          bIsNaN = compare(e, kind, Order::NotEqual, b[0], b[0]);
    equal = e.createOrFold<arith::OrIOp>(equal, e.createOrFold<arith::AndIOp>(aIsNaN, bIsNaN));
    // Of two values only one of which is NaN, neither is equal or better.
    better = e.createOrFold<arith::OrIOp>(better, e.createOrFold<arith::AndIOp>(bIsNaN, flipBits(e, aIsNaN)));
  }
  Value closer = compare(e, NumberKind::Signed, last ? Order::Greater : Order::Less, b[1], a[1]);
  Value takeB = e.createOrFold<arith::OrIOp>(better, e.createOrFold<arith::AndIOp>(equal, closer));
  return {e.createOrFold<arith::SelectOp>(takeB, b[0], a[0]), e.createOrFold<arith::SelectOp>(takeB, b[1], a[1])};
}

} // namespace hewn::graph
