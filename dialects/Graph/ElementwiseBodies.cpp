// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/ElementwiseBodies.h"
#include "dialects/Graph/Element.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace hewn::graph::body {

NumberKind numberKind(Type elementType) {
  if (isa<FloatType>(elementType))
    return NumberKind::Float;
  if (elementType.isInteger(1))
    return NumberKind::Bool;
  return elementType.isUnsignedInteger() ? NumberKind::Unsigned : NumberKind::Signed;
}

Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value constant(Builder &e, Value like, double value) {
  Type type = like.getType(), element = getElementTypeOrSelf(type);
  TypedAttr attr;
  if (auto f = dyn_cast<FloatType>(element))
    attr = e.getFloatAttr(f, value);
  else
    attr = e.getIntegerAttr(element, int64_t(value));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(e, attr);
}

Value add(Builder &e, NumberKind kind, Value a, Value b) {
  return kind == NumberKind::Float ? e.createOrFold<arith::AddFOp>(a, b) : e.createOrFold<arith::AddIOp>(a, b);
}

Value sub(Builder &e, NumberKind kind, Value a, Value b) {
  return kind == NumberKind::Float ? e.createOrFold<arith::SubFOp>(a, b) : e.createOrFold<arith::SubIOp>(a, b);
}

Value mul(Builder &e, NumberKind kind, Value a, Value b) {
  return kind == NumberKind::Float ? e.createOrFold<arith::MulFOp>(a, b) : e.createOrFold<arith::MulIOp>(a, b);
}

Value div(Builder &e, NumberKind kind, Value a, Value b) {
  if (kind == NumberKind::Float)
    return e.createOrFold<arith::DivFOp>(a, b);
  // The machine traps on these two, ONNX leaves them open, and no input may
  // stop the process.
  Value zero = constant(e, b, 0), one = constant(e, b, 1);
  Value byZero = e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, b, zero);
  Value divisor = e.createOrFold<arith::SelectOp>(byZero, one, b);
  if (kind == NumberKind::Unsigned || kind == NumberKind::Bool)
    return e.createOrFold<arith::SelectOp>(byZero, zero, e.createOrFold<arith::DivUIOp>(a, divisor));
  Value byMinusOne = e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, b, constant(e, b, -1));
  divisor = e.createOrFold<arith::SelectOp>(byMinusOne, one, divisor);
  Value quotient = e.createOrFold<arith::DivSIOp>(a, divisor);
  quotient = e.createOrFold<arith::SelectOp>(byMinusOne, e.createOrFold<arith::SubIOp>(zero, a), quotient);
  return e.createOrFold<arith::SelectOp>(byZero, zero, quotient);
}

Value neg(Builder &e, NumberKind kind, Value a) {
  return kind == NumberKind::Float ? e.createOrFold<arith::NegFOp>(a)
                                   : e.createOrFold<arith::SubIOp>(constant(e, a, 0), a);
}

Value abs(Builder &e, NumberKind kind, Value a) {
  if (kind == NumberKind::Float)
    return e.createOrFold<math::AbsFOp>(a);
  return kind == NumberKind::Signed ? maximum(e, kind, a, neg(e, kind, a)) : a;
}

Value compare(Builder &e, NumberKind kind, Order order, Value a, Value b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static const F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static const I signeds[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static const I unsigneds[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  if (kind == NumberKind::Float)
    return e.createOrFold<arith::CmpFOp>(floats[int(order)], a, b);
  return e.createOrFold<arith::CmpIOp>((kind == NumberKind::Signed ? signeds : unsigneds)[int(order)], a, b);
}

Value minimum(Builder &e, NumberKind kind, Value a, Value b) {
  Value chosen = e.createOrFold<arith::SelectOp>(compare(e, kind, Order::Less, a, b), a, b);
  if (kind != NumberKind::Float)
    return chosen;
  // A NaN in a compares false and gives b; one more select brings it back (one
  // in b comes by itself).
  return e.createOrFold<arith::SelectOp>(compare(e, kind, Order::NotEqual, a, a), a, chosen);
}

Value maximum(Builder &e, NumberKind kind, Value a, Value b) {
  Value chosen = e.createOrFold<arith::SelectOp>(compare(e, kind, Order::Greater, a, b), a, b);
  if (kind != NumberKind::Float)
    return chosen;
  return e.createOrFold<arith::SelectOp>(compare(e, kind, Order::NotEqual, a, a), a, chosen);
}

Value sigmoid(Builder &e, Value x) {
  // With e^-|x| nothing overflows: 1/(1+t) above zero, t/(1+t) below.
  Value t = math::ExpOp::create(e, e.createOrFold<arith::NegFOp>(math::AbsFOp::create(e, x)));
  Value one = constant(e, x, 1.0);
  Value negative = arith::CmpFOp::create(e, arith::CmpFPredicate::OLT, x, constant(e, x, 0.0));
  Value numerator = arith::SelectOp::create(e, negative, t, one);
  return arith::DivFOp::create(e, numerator, arith::AddFOp::create(e, one, t));
}

Value leakyRelu(Builder &e, Value x, double alpha) {
  Value negative = arith::CmpFOp::create(e, arith::CmpFPredicate::OLT, x, constant(e, x, 0.0));
  return arith::SelectOp::create(e, negative, arith::MulFOp::create(e, x, constant(e, x, alpha)), x);
}

Value pow(Builder &e, Type baseType, Type exponentType, Value base, Value exponent) {
  Type element = getElementTypeOrSelf(base.getType());
  bool integer = isa<IntegerType>(element);
  Type work = integer || element.isF64() ? Type(e.getF64Type()) : Type(e.getF32Type());
  // A known small exponent is multiplication: x², x³ and √x are most of what
  // models hold.
  Attribute known;
  FloatAttr scalar;
  if (matchPattern(exponent, m_Constant(&known))) {
    if (auto splat = dyn_cast<SplatElementsAttr>(known))
      scalar = dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>());
    else
      scalar = dyn_cast<FloatAttr>(known);
  }
  if (scalar && !integer) {
    double p = scalar.getValueAsDouble();
    if (p == 2.0)
      return e.createOrFold<arith::MulFOp>(base, base);
    if (p == 3.0)
      return e.createOrFold<arith::MulFOp>(e.createOrFold<arith::MulFOp>(base, base), base);
    if (p == 0.5)
      return math::SqrtOp::create(e, base);
    if (p == 1.0)
      return base;
  }
  Value x = cast(e, baseType, work, base), y = cast(e, exponentType, work, exponent);
  return cast(e, work, baseType, math::PowFOp::create(e, x, y));
}

/// A float of compute type, rounded to a narrower storage type and back.
static Value roundTo(Builder &e, Type storage, Value x) {
  Type compute = computeType(storage);
  if (compute == storage)
    return x;
  Value narrow = e.createOrFold<arith::TruncFOp>(withElement(x.getType(), storage), x);
  return arith::ExtFOp::create(e, withElement(x.getType(), compute), narrow);
}

Value cast(Builder &e, Type from, Type to, Value x) {
  Type source = computeType(from), target = computeType(to);
  Type type = withElement(x.getType(), target);
  NumberKind kind = numberKind(from);
  if (isa<FloatType>(from)) {
    if (to.isInteger(1))
      return compare(e, NumberKind::Float, Order::NotEqual, x, constant(e, x, 0.0));
    if (isa<FloatType>(to)) {
      if (source.getIntOrFloatBitWidth() < target.getIntOrFloatBitWidth())
        return e.createOrFold<arith::ExtFOp>(type, x);
      if (source.getIntOrFloatBitWidth() > target.getIntOrFloatBitWidth())
        x = e.createOrFold<arith::TruncFOp>(type, x);
      return from == to ? x : roundTo(e, to, x);
    }
    // Through 64 bits, so that values out of a narrow range wrap as numpy's do
    // instead of being poison.
    Type wide = withElement(x.getType(), e.getI64Type());
    if (to.isUnsignedInteger(64))
      return e.createOrFold<arith::FPToUIOp>(wide, x);
    Value integer = to.getIntOrFloatBitWidth() <= 16 || to.isUnsignedInteger(32) || to.isInteger(64)
                        ? e.createOrFold<arith::FPToSIOp>(wide, x)
                        : e.createOrFold<arith::FPToSIOp>(withElement(x.getType(), e.getI32Type()), x);
    return integer.getType() == type ? integer : e.createOrFold<arith::TruncIOp>(type, integer);
  }
  if (isa<FloatType>(to)) {
    Value value = kind == NumberKind::Signed ? e.createOrFold<arith::SIToFPOp>(type, x)
                                             : e.createOrFold<arith::UIToFPOp>(type, x);
    return roundTo(e, to, value);
  }
  if (to.isInteger(1))
    return from.isInteger(1) ? x : compare(e, kind, Order::NotEqual, x, constant(e, x, 0));
  unsigned a = source.getIntOrFloatBitWidth(), b = target.getIntOrFloatBitWidth();
  if (a == b)
    return x;
  if (a > b)
    return e.createOrFold<arith::TruncIOp>(type, x);
  return kind == NumberKind::Signed ? e.createOrFold<arith::ExtSIOp>(type, x) : e.createOrFold<arith::ExtUIOp>(type, x);
}

LogicalResult inferElementwise(Operation *op, DimsOf dimsOf, Type elementType, SmallVectorImpl<TensorShape> &results) {
  SmallVector<Dims> shapes = llvm::map_to_vector(op->getOperands(), [&](Value v) { return dimsOf(v); });
  std::optional<Dims> dims = broadcastDims(shapes);
  if (!dims) {
    InFlightDiagnostic error = op->emitOpError("operands do not broadcast:");
    for (const Dims &shape : shapes) {
      error << " [";
      llvm::interleaveComma(shape, error, [&](const DimExpr &d) { error << d.str(); });
      error << "]";
    }
    return error;
  }
  results.push_back({std::move(*dims), elementType});
  return success();
}

} // namespace hewn::graph::body
