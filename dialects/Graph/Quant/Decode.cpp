// SPDX-License-Identifier: Apache-2.0
//
// Packed low-bit weights: verification and index arithmetic of the ops that unpack them, and the
// construction of these ops from the layouts that exporters emit.
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Quant/QuantOps.h"

using namespace mlir;

namespace hewn::graph {

WeightEncoding DecodeOp::getCode() { return WeightEncoding{int64_t(getBits()), int64_t(getBlock()), getRoundsData()}; }

/// Returns true if `scale` has one entry for each quantization block of each column of the packed
/// weights [k / perWord, n].
static bool fitsScales(WeightEncoding code, const Dims &codes, const Dims &scale) {
  return codes.size() == 2 && scale.size() == 2 && codes[1] == scale[1] &&
         codes[0] * DimExpr(code.perWord()) == scale[0] * DimExpr(code.block);
}

LogicalResult DecodeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims codes = dimsOf(getCodes()), scale = dimsOf(getScale()), offset = getOffset() ? dimsOf(getOffset()) : scale;
  WeightEncoding code = getCode();
  if (!code.isSound())
    return emitOpError("requires 2, 4 or 8 bits, and blocks of complete words");
  if (!getElementType(getCodes()).isUnsignedInteger(32) || !getElementType(getScale()).isF32() ||
      (getOffset() && !getElementType(getOffset()).isF32()))
    return emitOpError("requires codes packed in ui32, and scales and offsets of f32");
  if (scale != offset || !fitsScales(code, codes, scale))
    return emitOpError("requires a scale and an offset for each block of each column");
  results.push_back({{codes[0] * DimExpr(code.perWord()), codes[1]}, getElementType(getScale())});
  return success();
}

/// Returns the low-bit integer at index `at` of the unpacked weight matrix, as i32.
static Value codeAt(ElementBuilder &e, Value words, WeightEncoding code, ArrayRef<Index> at) {
  Index perWord = e.constant(code.perWord());
  Value word = e.read(words, {e.floorDiv(at[0], perWord), at[1]});
  Value shift = e.toElement(e.mul(e.mod(at[0], perWord), e.constant(code.bits)), e.b.getI32Type());
  SmallVector<Value> values = {word, shift, e.constantElement(e.b.getI32Type(), double((1 << code.bits) - 1))};
  e.unify(values);
  return arith::AndIOp::create(e.b, e.loc, arith::ShRUIOp::create(e.b, e.loc, values[0], values[1]), values[2]);
}

Value DecodeOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  WeightEncoding code = getCode();
  Index block = e.floorDiv(at[0], e.constant(code.block));
  Value scale = e.read(getScale(), {block, at[1]});
  SmallVector<Value> values = {codeAt(e, getCodes(), code, at), scale,
                               getOffset() ? e.read(getOffset(), {block, at[1]})
                                           : e.constantElement(e.b.getF32Type(), double(1 << (code.bits - 1)))};
  e.unify(values);
  scale = values[1];
  Value number = arith::SIToFPOp::create(e.b, e.loc, scale.getType(), values[0]);
  if (!getOffset())
    return arith::MulFOp::create(e.b, e.loc, arith::SubFOp::create(e.b, e.loc, number, values[2]), scale);
  return arith::AddFOp::create(e.b, e.loc, arith::MulFOp::create(e.b, e.loc, number, scale), values[2]);
}

WeightEncoding DecodeByTableOp::getCode() {
  WeightEncoding code{int64_t(getBits()), int64_t(getBlock())};
  code.tableInBytes = getInBytes();
  return code;
}

LogicalResult DecodeByTableOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims codes = dimsOf(getCodes()), table = dimsOf(getTable());
  WeightEncoding code = getCode();
  if (!code.isSound() || code.bits == 2)
    return emitOpError("requires 4 or 8 bits, and blocks of complete words");
  if (!getElementType(getCodes()).isUnsignedInteger(32) || !getElementType(getScale()).isF32() ||
      !getElementType(getTable()).isF32())
    return emitOpError("requires codes packed in ui32, and scales and a table of f32");
  if (table.size() != 1 || !table[0].is((int64_t(1) << code.bits)))
    return emitOpError() << "needs a table of " << (int64_t(1) << code.bits) << " entries, one per code";
  if (!fitsScales(code, codes, dimsOf(getScale())))
    return emitOpError("needs a scale for each block of each column");
  results.push_back({{codes[0] * DimExpr(code.perWord()), codes[1]}, getElementType(getScale())});
  return success();
}

/// Returns the entry of the lookup table at index `place` (one i32 per lane), times the scale.
/// Every index is valid, but the index is clamped, because the access analysis needs a range.
static Value numberOf(ElementBuilder &e, Value table, Value place, Value scale) {
  Index last = e.constant(*getDims(table)[0].constant() - 1);
  Index at = e.max(e.min(e.fromElement(place), last), e.constant(0));
  SmallVector<Value> values = {e.read(table, {at}), scale};
  e.unify(values);
  return arith::MulFOp::create(e.b, e.loc, values[0], values[1]);
}

Value DecodeByTableOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  WeightEncoding code = getCode();
  Value scale = e.read(getScale(), {e.floorDiv(at[0], e.constant(code.block)), at[1]});
  return numberOf(e, getTable(), codeAt(e, getCodes(), code, at), scale);
}

LogicalResult LookUpOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims codes = dimsOf(getCodes()), table = dimsOf(getTable()), scale = dimsOf(getScale());
  Type type = getElementType(getCodes());
  if (!isUnsigned(type) || !isa<IntegerType>(type) || type.getIntOrFloatBitWidth() > 8)
    return emitOpError() << "requires unsigned integers of at most 8 bits, not " << type;
  if (!getElementType(getTable()).isF32() || !getElementType(getScale()).isF32())
    return emitOpError("needs a table and scales of f32");
  int64_t count = int64_t(1) << type.getIntOrFloatBitWidth();
  if (table.size() != 1 || !table[0].is(count))
    return emitOpError() << "needs a table of " << count << " entries, one per code";
  if (broadcastDims({codes, scale}) != codes)
    return emitOpError("needs scales that broadcast to the codes");
  results.push_back({codes, getElementType(getTable())});
  return success();
}

Value LookUpOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims dims = getDims(getScale());
  SmallVector<Index> scaleAt(at.take_back(dims.size()));
  for (auto [d, dim] : llvm::enumerate(dims))
    if (dim.is(1))
      scaleAt[d] = e.constant(0);
  Value code = e.read(getCodes(), at);
  code = arith::ExtUIOp::create(e.b, e.loc, body::withElement(code.getType(), e.b.getI32Type()), code);
  return numberOf(e, getTable(), code, e.read(getScale(), scaleAt));
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

Value composeLookUp(Composer &c, Value codes, Value table, Value scale) {
  return make<LookUpOp>(c.b, c.loc, {codes, table, scale});
}

Value composeDecodeByTable(Composer &c, Value words, Value scale, Value table, WeightEncoding code) {
  scale = c.expand(scale, {getDims(scale)[0], getDims(words)[1]});
  SmallVector<NamedAttribute> attributes = {c.b.getNamedAttr("bits", c.b.getI64IntegerAttr(code.bits)),
                                            c.b.getNamedAttr("block", c.b.getI64IntegerAttr(code.block))};
  if (code.tableInBytes)
    attributes.push_back(c.b.getNamedAttr("inBytes", c.b.getBoolAttr(true)));
  return make<DecodeByTableOp>(c.b, c.loc, {words, scale, table}, attributes);
}

Value composeDecode(Composer &c, Value words, Value scale, Value zero, WeightEncoding code) {
  Type f32 = c.b.getF32Type();
  scale = c.cast(scale, f32);
  SmallVector<Value> operands = {words, scale};
  if (zero)
    operands.push_back(c.op<NegOp>({c.op<MulOp>({scale, c.cast(zero, f32)})}));
  for (Value &operand : MutableArrayRef(operands).drop_front())
    // Scales and offsets with one column are expanded to all columns only here, after the
    // multiplications above: if their operands are constants, the multiplications can then be
    // folded.
    if (operand)
      operand = c.expand(operand, {getDims(operand)[0], getDims(words)[1]});
  SmallVector<NamedAttribute> attributes = {c.b.getNamedAttr("bits", c.b.getI64IntegerAttr(code.bits)),
                                            c.b.getNamedAttr("block", c.b.getI64IntegerAttr(code.block))};
  if (code.roundsData)
    attributes.push_back(c.b.getNamedAttr("roundsData", c.b.getBoolAttr(true)));
  return make<DecodeOp>(c.b, c.loc, operands, attributes);
}

} // namespace hewn::graph
