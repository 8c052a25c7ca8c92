// SPDX-License-Identifier: Apache-2.0
//
// Weights of few bits: their meaning, and how they are made of what exporters write.
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/Quant/Quant.h"

using namespace mlir;

namespace hewn::graph {

std::optional<Code> DecodeOp::getCode() { return Code{int64_t(getBits()), int64_t(getBlock())}; }

LogicalResult DecodeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims codes = dimsOf(getCodes()), scale = dimsOf(getScale()), offset = getOffset() ? dimsOf(getOffset()) : scale;
  Code code = *getCode();
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
  Code code = *getCode();
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

/// Bytes [n, 4 * words] as words [n, words], the first byte lowest.
static Value composeWords(Composer &c, Value bytes) {
  Type ui32 = IntegerType::get(c.b.getContext(), 32, IntegerType::Unsigned);
  Dims dims = getDims(bytes);
  DimExpr words = dims[1].floorDiv(4);
  bytes = c.reshape(bytes, {dims[0], words, DimExpr(4)});
  Value all;
  for (int64_t i = 0; i < 4; ++i) {
    Value part = c.cast(c.slice(bytes, 2, DimExpr(i), DimExpr(1)), ui32);
    if (i)
      part = make<BitShiftOp>(c.b, c.loc, {part, c.scalarLike(part, double(8 * i))},
                              c.b.getNamedAttr("direction", c.b.getStringAttr("LEFT")));
    all = all ? c.op("graph.bitwise_or", {all, part}) : part;
  }
  return c.reshape(all, {dims[0], words});
}

Value composeDecode(Composer &c, Value bytes, Value scale, Value zero, Code code) {
  Type f32 = c.b.getF32Type();
  scale = c.cast(scale, f32);
  SmallVector<Value> operands = {c.transpose(composeWords(c, bytes), {1, 0}), c.transpose(scale, {1, 0})};
  if (zero)
    operands.push_back(c.transpose(c.op("graph.neg", {c.op("graph.mul", {scale, c.cast(zero, f32)})}), {1, 0}));
  NamedAttribute attributes[] = {c.b.getNamedAttr("bits", c.b.getI64IntegerAttr(code.bits)),
                                 c.b.getNamedAttr("block", c.b.getI64IntegerAttr(code.block))};
  return make<DecodeOp>(c.b, c.loc, operands, attributes);
}

} // namespace hewn::graph
