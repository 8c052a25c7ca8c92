// SPDX-License-Identifier: Apache-2.0
//
// Verifiers and bodies of the quantization ops.
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Quant/QuantOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace hewn::graph {

namespace body {

Value quantize(Builder &e, Type xType, Type scaleType, Type to, bool multiply, bool saturate, ValueRange in) {
  Type work = computeType(scaleType);
  Value x = cast(e, xType, work, in[0]);
  Value q = multiply ? mul(e, NumberKind::Float, x, in[1]) : div(e, NumberKind::Float, x, in[1]);
  // The quotient x / scale of a quantization is rounded to the element type of the scale, which is
  // the precision of the division.
  q = cast(e, work, scaleType, q);
  if (isa<FloatType>(to))
    return cast(e, work, to, q, saturate);
  q = math::RoundEvenOp::create(e, q);
  if (in.size() > 2)
    q = add(e, NumberKind::Float, q, cast(e, to, work, in[2]));
  // Saturates the quantized number. Sums above 2^24 are inexact in float32, but are far out of
  // range. For NaN, the first comparison is false, which selects the lowest integer.
  unsigned width = to.getIntOrFloatBitWidth();
  double low = isUnsigned(to) ? 0 : -double(1u << (width - 1));
  Value lowest = constant(e, q, low), highest = constant(e, q, low + double((1u << width) - 1));
  q = e.createOrFold<arith::SelectOp>(compare(e, NumberKind::Float, Order::Greater, q, lowest), q, lowest);
  q = e.createOrFold<arith::SelectOp>(compare(e, NumberKind::Float, Order::Less, q, highest), q, highest);
  Value wide = e.createOrFold<arith::FPToSIOp>(withElement(q.getType(), e.getI32Type()), q);
  return e.createOrFold<arith::TruncIOp>(withElement(q.getType(), e.getIntegerType(width)), wide);
}

Value quantizeByReciprocal(Builder &e, Type to, ValueRange in) {
  // Adding this number to a small float32 rounds it to the nearest integer (ties to even), which is
  // then in the low bits of the sum.
  constexpr double places = 3 << 22;
  Type i32 = e.getI32Type();
  Value x = in[0];
  x = e.createOrFold<arith::SelectOp>(compare(e, NumberKind::Float, Order::Greater, x, in[3]), x, in[3]);
  x = e.createOrFold<arith::SelectOp>(compare(e, NumberKind::Float, Order::Less, x, in[4]), x, in[4]);
  Value q = math::FmaOp::create(e, x, in[1], mul(e, NumberKind::Float, x, in[2]));
  q = add(e, NumberKind::Float, q, constant(e, q, places));
  if (isa<FloatType>(to))
    return sub(e, NumberKind::Float, q, constant(e, q, places));
  Value bits = arith::BitcastOp::create(e, withElement(q.getType(), i32), q);
  if (in.size() > 5)
    bits = add(e, NumberKind::Signed, bits, cast(e, to, i32, in[5]));
  return e.createOrFold<arith::TruncIOp>(withElement(q.getType(), e.getI8Type()), bits);
}

Value dequantize(Builder &e, Type xType, Type scaleType, Type to, ValueRange in) {
  Type work = computeType(scaleType), i32 = e.getI32Type();
  Value x = in[0];
  if (isa<FloatType>(xType)) {
    x = cast(e, xType, work, x);
    if (in.size() > 2)
      x = sub(e, NumberKind::Float, x, cast(e, xType, work, in[2]));
  } else {
    x = cast(e, xType, i32, x);
    if (in.size() > 2)
      x = sub(e, NumberKind::Signed, x, cast(e, xType, i32, in[2]));
    x = cast(e, i32, work, x);
  }
  return cast(e, work, to, mul(e, NumberKind::Float, x, in[1]));
}

/// Returns a global constant of the kernel with the values of the lookup table. Equal tables share
/// one. Returns nullptr outside of a symbol table, where ops are only emitted for analysis.
static memref::GlobalOp globalOf(Builder &e, MemRefType type, ElementsAttr table) {
  Operation *around = e.getInsertionBlock()->getParentOp();
  Operation *kernel = around ? SymbolTable::getNearestSymbolTable(around) : nullptr;
  if (!kernel)
    return nullptr;
  unsigned number = 0;
  for (auto known : kernel->getRegion(0).getOps<memref::GlobalOp>()) {
    if (known.getType() == type && known.getInitialValueAttr() == table)
      return known;
    number += known.getSymName().starts_with("table");
  }
  OpBuilder b(kernel->getRegion(0));
  std::string name = "table" + (number > 0 ? std::to_string(number) : "");
  return memref::GlobalOp::create(b, e.getLoc(), name, b.getStringAttr("private"), type, table, /*constant=*/true,
                                  /*alignment=*/IntegerAttr());
}

Value mapCodes(Builder &e, Type xType, ElementsAttr table, ValueRange in) {
  Type element = computeType(table.getElementType());
  auto type = MemRefType::get(table.getShapedType().getShape(), element);
  auto content = DenseElementsAttr::getFromRawBuffer(RankedTensorType::get(type.getShape(), element),
                                                     cast<DenseElementsAttr>(table).getRawData());
  memref::GlobalOp global = globalOf(e, type, content);
  Value base = memref::GetGlobalOp::create(e, type, global ? global.getSymName() : "table");
  Type i32 = e.getI32Type();
  Value places = cast(e, xType, i32, in[0]);
  if (!isUnsigned(xType))
    places = add(e, NumberKind::Signed, places, constant(e, places, 128));
  auto load = [&](Value place) -> Value {
    Value index = e.createOrFold<arith::IndexCastUIOp>(e.getIndexType(), place);
    return memref::LoadOp::create(e, base, index);
  };
  auto vector = dyn_cast<VectorType>(places.getType());
  if (!vector)
    return load(places);
  Value result = arith::ConstantOp::create(e, e.getZeroAttr(vector.clone(element)));
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
    result = vector::InsertOp::create(e, load(vector::ExtractOp::create(e, places, lane)), result, lane);
  return result;
}

LogicalResult verifyMapCodes(Operation *op, ElementsAttr table) {
  Type x = getElementType(op->getOperand(0)), to = table.getElementType();
  if (!x.isInteger(8))
    return op->emitOpError() << "takes integers of 8 bits, not " << x;
  if (!isa<DenseElementsAttr>(table) || table.getNumElements() != 256 || table.getShapedType().getRank() != 1)
    return op->emitOpError() << "requires a 1-D table of 256 entries";
  if (!to.isF32() && !to.isInteger(8) && !to.isInteger(16))
    return op->emitOpError() << "table entries must be float32 or integers of 8 or 16 bits, not " << to;
  return success();
}

Value center(Builder &e, Type xType, ValueRange in) {
  Type i32 = e.getI32Type();
  Value x = cast(e, xType, i32, in[0]);
  return in.size() > 1 ? sub(e, NumberKind::Signed, x, cast(e, xType, i32, in[1])) : x;
}

static LogicalResult checkScale(Operation *op, Type numbers, Type quantized) {
  Type scale = getElementType(op->getOperand(1));
  if (!isa<FloatType>(scale))
    return op->emitOpError() << "the scale must be a float type, not " << scale;
  if (!isa<FloatType>(numbers) && !numbers.isSignlessInteger(32))
    return op->emitOpError() << "unquantized values must be floats or i32, not " << numbers;
  if (op->getNumOperands() > 2 && getElementType(op->getOperand(2)) != quantized)
    return op->emitOpError() << "zero point is " << getElementType(op->getOperand(2)) << ", not " << quantized;
  return success();
}

LogicalResult verifyQuantize(Operation *op, Type to) {
  bool fits = isa<FloatType>(to) ? to.getIntOrFloatBitWidth() <= 8
                                 : isa<IntegerType>(to) && !to.isInteger(1) && to.getIntOrFloatBitWidth() <= 16;
  if (!fits)
    return op->emitOpError() << "quantizes to integers of 16 bits or less and to float8 and float4, not to " << to;
  return checkScale(op, getElementType(op->getOperand(0)), to);
}

LogicalResult verifyQuantizeByReciprocal(Operation *op, Type to) {
  constexpr unsigned floats = 5;
  if (!to.isF32() && !(isa<IntegerType>(to) && to.getIntOrFloatBitWidth() == 8))
    return op->emitOpError() << "quantizes to integers of 8 bits or to float32, not to " << to;
  if (to.isF32() && op->getNumOperands() > floats)
    return op->emitOpError("a zero point requires an integer result");
  for (unsigned i = 0; i < floats; ++i)
    if (Type type = getElementType(op->getOperand(i)); !type.isF32())
      return op->emitOpError() << "multiplies float32, not " << type;
  if (op->getNumOperands() > floats && getElementType(op->getOperand(floats)) != to)
    return op->emitOpError() << "zero point is " << getElementType(op->getOperand(floats)) << ", not " << to;
  return success();
}

LogicalResult verifyDequantize(Operation *op, Type to) {
  Type from = getElementType(op->getOperand(0));
  if (isa<IntegerType>(from) && (from.isInteger(1) || from.getIntOrFloatBitWidth() > 32))
    return op->emitOpError() << "dequantizes integers of 32 bits or less, not " << from;
  if (!isa<FloatType>(to))
    return op->emitOpError() << "gives floats, not " << to;
  return checkScale(op, to, from);
}

LogicalResult verifyCenter(Operation *op) {
  Type x = getElementType(op->getOperand(0));
  if (!isa<IntegerType>(x) || x.isInteger(1) || x.getIntOrFloatBitWidth() > 16)
    return op->emitOpError() << "takes integers of 16 bits or less, not " << x;
  if (op->getNumOperands() > 1 && getElementType(op->getOperand(1)) != x)
    return op->emitOpError() << "zero point is " << getElementType(op->getOperand(1)) << ", not " << x;
  return success();
}

} // namespace body

Value composeQuantize(Composer &c, Value x, Value scale, Value zeroPoint, Type to, bool multiply, bool saturate) {
  SmallVector<Value> operands = {x, scale};
  if (zeroPoint)
    operands.push_back(zeroPoint);
  return make<QuantizeOp>(c.b, c.loc, operands,
                          {c.b.getNamedAttr("to", TypeAttr::get(to)),
                           c.b.getNamedAttr("multiply", c.b.getBoolAttr(multiply)),
                           c.b.getNamedAttr("saturate", c.b.getBoolAttr(saturate))});
}

Value composeDequantize(Composer &c, Value x, Value scale, Value zeroPoint, Type to) {
  SmallVector<Value> operands = {x, scale};
  if (zeroPoint)
    operands.push_back(zeroPoint);
  return make<DequantizeOp>(c.b, c.loc, operands, c.b.getNamedAttr("to", TypeAttr::get(to)));
}

Value composeMapCodes(Composer &c, Value code, DenseElementsAttr table) {
  return make<MapCodesOp>(c.b, c.loc, code, c.b.getNamedAttr("table", table));
}

} // namespace hewn::graph
