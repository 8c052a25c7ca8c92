// SPDX-License-Identifier: Apache-2.0
//
// Weights of few bits: their meaning, and how they are made of what exporters write.
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Quant/QuantOps.h"

using namespace mlir;

namespace hewn::graph {

Code DecodeOp::getCode() { return Code{int64_t(getBits()), int64_t(getBlock()), getRoundsData()}; }

LogicalResult DecodeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims codes = dimsOf(getCodes()), scale = dimsOf(getScale()), offset = getOffset() ? dimsOf(getOffset()) : scale;
  Code code = getCode();
  if (!code.isSound())
    return emitOpError("needs 2, 4 or 8 bits, and blocks of whole words");
  if (!getElementType(getCodes()).isUnsignedInteger(32) || !getElementType(getScale()).isF32() ||
      (getOffset() && !getElementType(getOffset()).isF32()))
    return emitOpError("needs codes in words of ui32, scales and offsets of f32");
  if (codes.size() != 2 || scale.size() != 2 || scale != offset || codes[1] != scale[1] ||
      codes[0] * DimExpr(code.perWord()) != scale[0] * DimExpr(code.block))
    return emitOpError("needs a scale and an offset for each block of each column");
  results.push_back({{codes[0] * DimExpr(code.perWord()), codes[1]}, getElementType(getScale())});
  return success();
}

Value DecodeOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Code code = getCode();
  Index perWord = e.constant(code.perWord()), block = e.floorDiv(at[0], e.constant(code.block));
  Value word = e.read(getCodes(), {e.floorDiv(at[0], perWord), at[1]});
  Value shift = e.toElement(e.mul(e.mod(at[0], perWord), e.constant(code.bits)), e.b.getI32Type());
  Value scale = e.read(getScale(), {block, at[1]});
  SmallVector<Value> values = {word, shift, e.constantElement(e.b.getI32Type(), double((1 << code.bits) - 1)), scale,
                               getOffset() ? e.read(getOffset(), {block, at[1]})
                                           : e.constantElement(e.b.getF32Type(), double(1 << (code.bits - 1)))};
  e.unify(values);
  Value number = arith::AndIOp::create(e.b, e.loc, arith::ShRUIOp::create(e.b, e.loc, values[0], values[1]), values[2]);
  scale = values[3];
  number = arith::SIToFPOp::create(e.b, e.loc, scale.getType(), number);
  if (!getOffset())
    return arith::MulFOp::create(e.b, e.loc, arith::SubFOp::create(e.b, e.loc, number, values[4]), scale);
  return arith::AddFOp::create(e.b, e.loc, arith::MulFOp::create(e.b, e.loc, number, scale), values[4]);
}

LogicalResult EncodeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getNumbers());
  auto type = dyn_cast<IntegerType>(getElementType(getNumbers()));
  if (dims.size() != 2 || !type || (type.getWidth() != 2 && type.getWidth() != 4 && type.getWidth() != 8))
    return emitOpError("needs a matrix of integers of 2, 4 or 8 bits");
  Type words = IntegerType::get(getContext(), 32, IntegerType::Unsigned);
  results.push_back({{dims[0].ceilDiv(32 / type.getWidth()), dims[1]}, words});
  return success();
}

Value EncodeOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Type i32 = e.b.getI32Type(), type = getElementType(getNumbers());
  int64_t bits = type.getIntOrFloatBitWidth(), perWord = 32 / bits;
  bool whole = getDims(getNumbers())[0].divideExactly(DimExpr(perWord)).has_value();
  Value word;
  for (int64_t i = 0; i < perWord; ++i) {
    Index row = e.add(e.mul(at[0], e.constant(perWord)), e.constant(i));
    Value inside = whole ? Value() : e.inBounds(row, e.extent(getNumbers(), 0));
    Value zero = e.constantElement(type, isUnsigned(type) ? 0 : -double(1 << (bits - 1)));
    Value number = whole ? e.read(getNumbers(), {row, at[1]}) : e.readIf(inside, getNumbers(), {row, at[1]}, zero);
    SmallVector<Value> values = {number, e.constantElement(i32, isUnsigned(type) ? 0 : double(1 << (bits - 1))),
                                 e.constantElement(i32, double(bits * i))};
    if (word)
      values.push_back(word);
    e.unify(values);
    number = arith::ExtUIOp::create(e.b, e.loc, values[1].getType(), values[0]);
    number = arith::XOrIOp::create(e.b, e.loc, number, values[1]);
    number = arith::ShLIOp::create(e.b, e.loc, number, values[2]);
    word = word ? Value(arith::OrIOp::create(e.b, e.loc, values[3], number)) : number;
  }
  return word;
}

Value composeDecode(Composer &c, Value words, Value scale, Value zero, Code code) {
  Type f32 = c.b.getF32Type();
  scale = c.cast(scale, f32);
  SmallVector<Value> operands = {words, scale};
  if (zero)
    operands.push_back(c.op<NegOp>({c.op<MulOp>({scale, c.cast(zero, f32)})}));
  for (Value &operand : MutableArrayRef(operands).drop_front())
    if (operand) // last, so that it reads constants
      operand = c.expand(operand, {getDims(operand)[0], getDims(words)[1]});
  SmallVector<NamedAttribute> attributes = {c.b.getNamedAttr("bits", c.b.getI64IntegerAttr(code.bits)),
                                            c.b.getNamedAttr("block", c.b.getI64IntegerAttr(code.block))};
  if (code.roundsData)
    attributes.push_back(c.b.getNamedAttr("roundsData", c.b.getBoolAttr(true)));
  return make<DecodeOp>(c.b, c.loc, operands, attributes);
}

} // namespace hewn::graph
