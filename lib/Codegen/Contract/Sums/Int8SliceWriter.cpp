// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/Int8SliceWriter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;
using hewn::plan::Int8Slices;

namespace hewn::codegen {

/// Largest integers to which a segment's largest magnitude is scaled before activations are split:
/// with three int8 slices, and with one slice. The first is a little less than three slices can
/// represent, because the scaled elements are rounded afterwards.
static constexpr double kLargest = 8355700, kLargestSlice = 127;
/// Lower bound for the largest magnitude of a segment of activations, from which the segment's unit
/// (quantization step) is computed. For segments with smaller elements, the error of this unit is
/// far below the rounding error of other segments.
static constexpr double kTiny = 0x1p-102;

Int8SliceWriter::Int8SliceWriter(const ContractKernel &c, const Int8Slices &slices)
    : c(c), e(c.e), slices(slices), floats(VectorType::get({Int8Slices::atOnce}, c.b.getF32Type())),
      integers(VectorType::get({Int8Slices::atOnce}, c.b.getI32Type())) {
  int64_t places = 8 / slices.code.bits, perWord = slices.code.perWord();
  for (int64_t i = 0; i < Int8Slices::atOnce; ++i) {
    int64_t place = i % perWord / Int8Slices::elementsInFloat, byte = i % Int8Slices::elementsInFloat;
    order.push_back(i / perWord * perWord + byte * places + place);
  }
}

Value Int8SliceWriter::number(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr scalar = isa<FloatType>(element) ? TypedAttr(c.b.getFloatAttr(element, value))
                                             : TypedAttr(c.b.getIntegerAttr(element, int64_t(value)));
  if (auto vector = dyn_cast<VectorType>(type))
    scalar = DenseElementsAttr::get(vector, ArrayRef<Attribute>(scalar));
  return arith::ConstantOp::create(c.b, c.loc(), scalar);
}

Value Int8SliceWriter::load(Value left, Index at, Index i) {
  return vector::LoadOp::create(c.b, c.loc(), floats, left, e.add(at, e.mul(i, e.constant(Int8Slices::atOnce))).base);
}

void Int8SliceWriter::writeRows(ArrayRef<Index> at, Index count, Value memory) {
  const ContractForm &form = c.form;
  Value left = c.from(form.lhs, c.offset(form.lhs, form.maps[0], at));
  int64_t depth = slices.code.block, segment = slices.segmentDepth, rest = depth % segment;
  e.forEach(e.constant(0), count, 1, [&](Index row) {
    Index source = e.mul(row, e.expression(form.rowStride)), target = e.mul(row, e.constant(slices.rowFloats()));
    e.forEach(e.constant(0), e.constant(slices.blocks), 1, [&](Index block) {
      Index from = e.add(source, e.mul(block, e.constant(depth)));
      Index to = e.add(target, e.mul(block, e.constant(slices.segmentsPerBlock * slices.segmentFloats())));
      auto write = [&](Index i, int64_t length) {
        writeSegment(left, e.add(from, e.mul(i, e.constant(segment))), length, memory,
                     e.add(to, e.mul(i, e.constant(slices.segmentFloats()))));
      };
      e.forEach(e.constant(0), e.constant(depth / segment), 1, [&](Index i) { write(i, segment); });
      if (rest)
        write(e.constant(depth / segment), rest);
    });
  });
}

Int8SliceWriter::Unit Int8SliceWriter::unitOf(Value left, Index at, const DimExpr &steps) {
  OpBuilder &b = c.b;
  Location loc = c.loc();
  Type f32 = b.getF32Type();
  auto larger = [&](ArrayRef<Index> i, ValueRange most) -> SmallVector<Value> {
    Value size = math::AbsFOp::create(b, loc, load(left, at, i[0]));
    return {arith::MaximumFOp::create(b, loc, most[0], size)};
  };
  Value largest = e.loopNest({steps}, number(floats, 0), 1, larger)[0];
  largest = vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXIMUMF, largest);
  Value special = arith::SubFOp::create(b, loc, largest, largest);
  Value unit = arith::MaxNumFOp::create(b, loc, largest, number(f32, kTiny));
  unit = arith::MulFOp::create(b, loc, unit, number(f32, 1 / (slices.count > 1 ? kLargest : kLargestSlice)));
  Value inverse = arith::DivFOp::create(b, loc, number(f32, 1), unit);
  return {unit, vector::BroadcastOp::create(b, loc, floats, inverse), special};
}

void Int8SliceWriter::split(Value rounded, Index i, Value memory, Index to, SmallVectorImpl<Value> &sums) {
  OpBuilder &b = c.b;
  Location loc = c.loc();
  constexpr int64_t floatsAtOnce = Int8Slices::atOnce / Int8Slices::elementsInFloat;
  Value left = arith::FPToSIOp::create(b, loc, integers, rounded);
  for (int64_t l = 0; l < slices.count; ++l) { // from the lowest slice to the highest
    Value slice = left;
    // The rest, `left` minus the slice, is a multiple of 256 and goes to the higher slices.
    if (l + 1 < slices.count) {
      Value up = arith::AddIOp::create(b, loc, left, number(integers, 128));
      Value higher = arith::ShRSIOp::create(b, loc, up, number(integers, 8));
      slice = arith::SubIOp::create(b, loc, left, arith::ShLIOp::create(b, loc, higher, number(integers, 8)));
      left = higher;
    }
    sums[l] = arith::AddIOp::create(b, loc, sums[l], slice);
    Value bytes = arith::TruncIOp::create(b, loc, VectorType::get({Int8Slices::atOnce}, b.getI8Type()), slice);
    if (slices.code.bits < 8)
      bytes = vector::ShuffleOp::create(b, loc, bytes, bytes, order);
    auto asFloats = VectorType::get({floatsAtOnce}, b.getF32Type());
    Index place = e.add(e.mul(i, e.constant(floatsAtOnce)),
                        e.constant(Int8Slices::header + l * slices.segmentDepth / Int8Slices::elementsInFloat));
    vector::StoreOp::create(b, loc, vector::BitCastOp::create(b, loc, asFloats, bytes), memory, e.add(to, place).base);
  }
}

void Int8SliceWriter::writeSegment(Value left, Index at, int64_t depth, Value memory, Index to) {
  OpBuilder &b = c.b;
  Location loc = c.loc();
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  DimExpr steps(depth / Int8Slices::atOnce);
  Unit of = unitOf(left, at, steps);
  SmallVector<Value> state(slices.count, number(integers, 0));
  state.push_back(number(floats, 0));
  SmallVector<Value> sums = e.loopNest({steps}, state, 1, [&](ArrayRef<Index> i, ValueRange before) {
    SmallVector<Value> next(before);
    Value scaled = arith::MulFOp::create(b, loc, load(left, at, i[0]), of.inverse);
    Value rounded = math::RoundEvenOp::create(b, loc, scaled);
    next.back() = arith::AddFOp::create(b, loc, next.back(), rounded);
    split(rounded, i[0], memory, to, next);
    return next;
  });
  auto store = [&](int64_t i, Value value) {
    memref::StoreOp::create(b, loc, value, memory, e.add(to, e.constant(i)).base);
  };
  Value unit = of.unit;
  if (slices.code.tableInBytes)
    unit = arith::MulFOp::create(b, loc, unit, number(f32, 1.0 / double(graph::WeightEncoding::tableUnits)));
  Value scale = arith::AddFOp::create(b, loc, unit, of.special);
  store(0, scale);
  Value sum = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, sums.back());
  store(1, arith::MulFOp::create(b, loc, sum, scale));
  for (int64_t l = 0; l < slices.count; ++l) {
    Value sliceSum = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, sums[l]);
    Value less = number(i32, double(slices.lessByte() - slices.middle()));
    store(2 + l, arith::BitcastOp::create(b, loc, f32, arith::MulIOp::create(b, loc, sliceSum, less)));
  }
}

} // namespace hewn::codegen
