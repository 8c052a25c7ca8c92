// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/Int8SliceMma.h"
#include "lib/Codegen/Contract/Sums/Int8SliceWriter.h"
#include "lib/Codegen/Contract/TileEpilogue.h"
#include "lib/Codegen/Contract/TileLoops.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;
using hewn::plan::Int8Slices;

namespace hewn::codegen {

namespace {

constexpr int64_t kSliceWordBytes = 4;
/// Multiplier that replicates a byte into the four bytes of a word.
constexpr int64_t kEachByte = 0x01010101;

/// Computes the accumulators of a contraction for some rows and some column vectors. The int8
/// slices of the rows are in memory.
class Int8SliceProducts {
public:
  /// Multiplies the int8 slices of `rows` rows, starting at row `row` of `memory`, by `vectors`
  /// column vectors of weights, starting at vector `firstVector` of the panel at `at`.
  Int8SliceProducts(const ContractKernel &c, const Int8Slices &slices, ArrayRef<Index> at, int64_t firstVector,
                    int64_t vectors, int64_t rows, Index row, Value memory);
  SmallVector<Value> sums();

private:
  /// The scale, and `offset + middle * scale`, of the weights of a block: one vector per column
  /// vector. `middle` is the number that the integer products subtract from each weight. `toMiddle`
  /// is empty if the weights have no offsets.
  struct BlockFactors {
    SmallVector<Value> scale, toMiddle;
  };
  BlockFactors factorsOf(Index block);
  /// Multiplies a segment of a row (activations with the same quantization unit) by its weights and
  /// adds the result to `before`. The segment is number `index` of its row, and its weights begin
  /// at packed word `first`.
  SmallVector<Value> overSegment(Index index, Index first, int64_t words, const BlockFactors &by, ValueRange before);
  /// Multiplies the int8 slices of a segment by `count` packed words of weights, starting at word
  /// `inner`. Adds the products to the integer accumulators of each slice, which are exact.
  SmallVector<Value> overWords(Index index, Index first, Index inner, int64_t count, ValueRange before);
  /// Multiplies int8 slices by packed word `inner` of the weights and adds the products to `sums`.
  /// The first product initializes accumulators that are null.
  void addWord(Index index, Index first, Index inner, SmallVector<Value> &sums);
  /// Unpacks weight number `place` (0: lowest bits) of each byte of the packed words.
  Value codeAt(Value words, int64_t place);
  Value multiply(Value slice, Value code, Value sum);
  Value widened(Value pairs, Value sum);

  /// Returns the lookup table of low-bit weights as bytes, repeated in each 16 bytes of a vector.
  /// An offset is added to the entries, so that all of them are unsigned.
  Value tableInBytes();

  Index rowAt(int64_t r, Index segment);
  Value load(VectorType type, Value memref, const Buffer &buffer, Index start, int64_t j);
  Value splat(VectorType type, TypedAttr value);
  Value splatFloat(double value) { return splat(c.sumType(), c.b.getF32FloatAttr(float(value))); }
  Value splatWord(int64_t value) { return splat(word, c.b.getI32IntegerAttr(int32_t(value))); }
  /// Broadcast a float from the memory of the rows' int8 slices to all lanes, as a float (`spread`)
  /// or as the 32-bit integer that has the same bits (`spreadBits`).
  Value spread(Index at);
  Value spreadBits(Index at);

  const ContractKernel &c;
  ElementEmitter &e;
  const Int8Slices &slices;
  int64_t firstVector, across, rows, lineWords, aheadWords;
  Value memory, words, scales, offsets, table;
  Index wordStep, scaleStep, base;
  VectorType word, bytes;
};

Int8SliceProducts::Int8SliceProducts(const ContractKernel &c, const Int8Slices &slices, ArrayRef<Index> at,
                                     int64_t firstVector, int64_t vectors, int64_t rows, Index row, Value memory)
    : c(c), e(c.e), slices(slices), firstVector(firstVector), across(vectors), rows(rows), memory(memory),
      word(VectorType::get({e.lanes}, c.b.getI32Type())),
      bytes(VectorType::get({e.lanes * Int8Slices::elementsInFloat}, c.b.getI8Type())) {
  const ContractForm &form = c.form;
  auto fromColumn = [&](const Buffer &buffer) { return c.from(buffer, c.offset(buffer, form.maps[1], at)); };
  auto stepIn = [&](const Buffer &buffer) {
    return e.expression(ContractForm::strideAlong(buffer, form.maps[1], form.roles.summed.front()));
  };
  words = fromColumn(form.rhs);
  scales = fromColumn(form.scale);
  if (form.offset.memref)
    offsets = fromColumn(form.offset);
  wordStep = stepIn(form.rhs);
  scaleStep = stepIn(form.scale);
  plan::VectorCostsAttr costs = plan::costsOf(c.k.kernel);
  lineWords = costs.getCacheLineBytes() / kSliceWordBytes;
  aheadWords = costs.getPrefetchDistanceBytes() / kSliceWordBytes;
  base = e.mul(row, e.constant(slices.rowFloats()));
  if (slices.code.tableInBytes)
    table = tableInBytes();
}

Value Int8SliceProducts::tableInBytes() {
  OpBuilder &b = c.b;
  Location loc = c.loc();
  const Buffer &buffer = c.form.table;
  int64_t count = int64_t(1) << slices.code.bits;
  auto floats = VectorType::get({count}, b.getF32Type()), integers = VectorType::get({count}, b.getI32Type());
  Value from = c.from(buffer, buffer.start ? Index{buffer.start} : e.constant(0));
  Value numbers = vector::LoadOp::create(b, loc, floats, from, e.constant(0).base);
  Value units = splat(floats, b.getF32FloatAttr(float(graph::WeightEncoding::tableUnits)));
  numbers = arith::FPToSIOp::create(b, loc, integers, arith::MulFOp::create(b, loc, numbers, units));
  numbers = arith::AddIOp::create(b, loc, numbers, splat(integers, b.getI32IntegerAttr(int32_t(slices.middle()))));
  numbers = arith::TruncIOp::create(b, loc, VectorType::get({count}, b.getI8Type()), numbers);
  auto repeated = llvm::map_to_vector(llvm::seq(bytes.getNumElements()), [&](int64_t lane) { return lane % count; });
  return vector::ShuffleOp::create(b, loc, numbers, numbers, repeated);
}

Index Int8SliceProducts::rowAt(int64_t r, Index segment) {
  return e.add(base, e.add(e.constant(r * slices.rowFloats()), e.mul(segment, e.constant(slices.segmentFloats()))));
}

Value Int8SliceProducts::load(VectorType type, Value memref, const Buffer &buffer, Index start, int64_t j) {
  return vector::LoadOp::create(c.b, c.loc(), type, memref,
                                e.add(start, c.rightDistance(buffer, firstVector + j)).base);
}

Value Int8SliceProducts::splat(VectorType type, TypedAttr value) {
  return arith::ConstantOp::create(c.b, c.loc(), DenseElementsAttr::get(type, ArrayRef<Attribute>(value)));
}

Value Int8SliceProducts::spread(Index at) {
  return vector::BroadcastOp::create(c.b, c.loc(), c.sumType(), memref::LoadOp::create(c.b, c.loc(), memory, at.base));
}

Value Int8SliceProducts::spreadBits(Index at) {
  Value element = memref::LoadOp::create(c.b, c.loc(), memory, at.base);
  Value bits = arith::BitcastOp::create(c.b, c.loc(), c.b.getI32Type(), element);
  return vector::BroadcastOp::create(c.b, c.loc(), word, bits);
}

Value Int8SliceProducts::codeAt(Value words, int64_t place) {
  graph::WeightEncoding code = slices.code;
  Value bits = words;
  if (place)
    bits = arith::ShRUIOp::create(c.b, c.loc(), bits, splatWord(place * code.bits));
  if (code.bits < 8)
    bits = arith::AndIOp::create(c.b, c.loc(), bits, splatWord(((int64_t(1) << code.bits) - 1) * kEachByte));
  // Make 8-bit weights signed: subtract 128 from each byte by flipping its highest bit.
  if (slices.lessByte())
    bits = arith::XOrIOp::create(c.b, c.loc(), bits, splatWord(slices.lessByte() * kEachByte));
  Value places = vector::BitCastOp::create(c.b, c.loc(), bytes, bits);
  if (!table)
    return places;
  StringAttr look = plan::targetOf(c.k.kernel).getPermuteBytesIntrinsic();
  return LLVM::CallIntrinsicOp::create(c.b, c.loc(), bytes, look, ValueRange{table, places}).getResult(0);
}

Value Int8SliceProducts::multiply(Value slice, Value code, Value sum) {
  bool rightFirst = slices.dot.getRightFirst();
  Value first = rightFirst ? slice : code, second = rightFirst ? code : slice;
  if (slices.widen) {
    auto pairs = VectorType::get({e.lanes * 2}, c.b.getI16Type());
    Value made =
        LLVM::CallIntrinsicOp::create(c.b, c.loc(), pairs, slices.dot.getIntrinsic(), ValueRange{first, second})
            .getResult(0);
    return sum ? Value(arith::AddIOp::create(c.b, c.loc(), sum, made)) : made;
  }
  return LLVM::CallIntrinsicOp::create(c.b, c.loc(), sum.getType(), slices.dot.getIntrinsic(),
                                       ValueRange{sum, first, second})
      .getResult(0);
}

Value Int8SliceProducts::widened(Value pairs, Value sum) {
  Value ones = splat(cast<VectorType>(pairs.getType()), c.b.getI16IntegerAttr(1));
  Value made = LLVM::CallIntrinsicOp::create(c.b, c.loc(), word, slices.widen.getIntrinsic(), ValueRange{pairs, ones})
                   .getResult(0);
  return arith::AddIOp::create(c.b, c.loc(), sum, made);
}

void Int8SliceProducts::addWord(Index index, Index first, Index inner, SmallVector<Value> &next) {
  SmallVector<Value> loaded;
  Index wordAt = e.mul(e.add(first, inner), wordStep);
  for (int64_t j = 0; j < across; ++j) {
    loaded.push_back(load(word, words, c.form.rhs, wordAt, j));
    if (j * e.lanes % lineWords == 0)
      c.prefetch(words, e.add(e.add(wordAt, c.rightDistance(firstVector + j)), e.constant(aheadWords)));
  }
  int64_t places = 8 / slices.code.bits;
  for (int64_t place = 0; place < places; ++place) {
    SmallVector<Value> codes = llvm::map_to_vector(loaded, [&](Value given) { return codeAt(given, place); });
    for (int64_t l = 0; l < slices.count; ++l)
      for (int64_t r = 0; r < rows; ++r) {
        Index at =
            e.add(e.mul(inner, e.constant(places)),
                  e.constant(place + Int8Slices::header + l * slices.segmentDepth / Int8Slices::elementsInFloat));
        Value slice = vector::BitCastOp::create(c.b, c.loc(), bytes, spreadBits(e.add(rowAt(r, index), at)));
        for (int64_t j = 0; j < across; ++j) {
          Value &sum = next[(l * rows + r) * across + j];
          sum = multiply(slice, codes[j], sum);
        }
      }
  }
}

SmallVector<Value> Int8SliceProducts::overWords(Index index, Index first, Index inner, int64_t count,
                                                ValueRange before) {
  SmallVector<Value> next(before);
  if (!slices.widen) {
    for (int64_t i = 0; i < count; ++i)
      addWord(index, first, e.add(inner, e.constant(i)), next);
    return next;
  }
  SmallVector<Value> pairs(before.size());
  for (int64_t i = 0; i < count; ++i)
    addWord(index, first, e.add(inner, e.constant(i)), pairs);
  for (auto [sum, made] : llvm::zip(next, pairs))
    sum = widened(made, sum);
  return next;
}

SmallVector<Value> Int8SliceProducts::overSegment(Index index, Index first, int64_t words, const BlockFactors &by,
                                                  ValueRange before) {
  SmallVector<Value> whole;
  for (int64_t l = 0; l < slices.count; ++l)
    for (int64_t r = 0; r < rows; ++r)
      whole.append(across, spreadBits(e.add(rowAt(r, index), e.constant(2 + l))));
  // The number of words whose products can be accumulated in 16-bit pair sums without overflow is a
  // power of two that divides the segment. int8SlicesOf accepts only encodings for which it is at
  // least one word.
  int64_t atOnce = 1, most = slices.widen ? slices.sumsInPairs() / (8 / slices.code.bits) : 1;
  while (atOnce * 2 <= most && words % (atOnce * 2) == 0)
    atOnce *= 2;
  whole = e.loopNest({DimExpr(words / atOnce)}, whole, 1, [&](ArrayRef<Index> inner, ValueRange carried) {
    return overWords(index, first, e.mul(inner[0], e.constant(atOnce)), atOnce, carried);
  });
  SmallVector<Value> next(before);
  for (int64_t r = 0; r < rows; ++r) {
    Value unit = spread(rowAt(r, index));
    for (int64_t j = 0; j < across; ++j) {
      Value sum;
      for (int64_t l = slices.count; l-- > 0;) {
        Value slice = arith::SIToFPOp::create(c.b, c.loc(), c.sumType(), whole[(l * rows + r) * across + j]);
        sum = sum ? Value(vector::FMAOp::create(c.b, c.loc(), sum, splatFloat(256), slice)) : slice;
      }
      Value &to = next[r * across + j];
      to = vector::FMAOp::create(c.b, c.loc(), sum, arith::MulFOp::create(c.b, c.loc(), unit, by.scale[j]), to);
      if (!by.toMiddle.empty())
        to = vector::FMAOp::create(c.b, c.loc(), spread(e.add(rowAt(r, index), e.constant(1))), by.toMiddle[j], to);
    }
  }
  return next;
}

Int8SliceProducts::BlockFactors Int8SliceProducts::factorsOf(Index block) {
  BlockFactors by;
  Index scaleAt = e.mul(block, scaleStep);
  for (int64_t j = 0; j < across; ++j) {
    by.scale.push_back(load(c.sumType(), scales, c.form.scale, scaleAt, j));
    // Weights are q * scale + offset = (q - middle) * scale + (offset + middle * scale).
    if (offsets)
      by.toMiddle.push_back(vector::FMAOp::create(c.b, c.loc(), by.scale.back(), splatFloat(double(slices.middle())),
                                                  load(c.sumType(), offsets, c.form.offset, scaleAt, j)));
  }
  return by;
}

SmallVector<Value> Int8SliceProducts::sums() {
  graph::WeightEncoding code = slices.code;
  int64_t blockWords = code.block / code.perWord(), segmentWords = slices.segmentDepth / code.perWord();
  int64_t full = blockWords / segmentWords, rest = blockWords % segmentWords;
  SmallVector<Value> zeros(rows * across, splatFloat(0));
  const BlockedSum sum = c.blockedSum(zeros.size());
  int64_t additions = std::min(2 * slices.segmentsPerBlock, kSumBlock);
  return sum.nest({DimExpr(slices.blocks)}, additions, 1, zeros, [&](ArrayRef<Index> block, ValueRange before) {
    Index firstWord = e.mul(block[0], e.constant(blockWords));
    Index firstSegment = e.mul(block[0], e.constant(slices.segmentsPerBlock));
    BlockFactors by = factorsOf(block[0]);
    auto at = [&](Index i) { return e.add(firstWord, e.mul(i, e.constant(segmentWords))); };
    SmallVector<Value> done = sum.nest({DimExpr(full)}, 2, 1, before, [&](ArrayRef<Index> i, ValueRange state) {
      return overSegment(e.add(firstSegment, i[0]), at(i[0]), segmentWords, by, state);
    });
    Index last = e.constant(full);
    return rest ? overSegment(e.add(firstSegment, last), at(last), rest, by, done) : done;
  });
}

/// Returns the number of column vectors of a tile in which each column vector needs `sums`
/// accumulators.
int64_t tileVectors(const ContractKernel &c, const Int8Slices &slices, int64_t sums) {
  // The accumulators may fill three quarters of the vector registers, or half of them if 16-bit
  // pair sums need registers as well. A tile with one row has more column vectors than a tile with
  // several rows.
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  int64_t room = target ? target.getVectorRegisters() * 3 / 4 : 0, across = 4;
  if (slices.widen)
    room = room * 2 / 3;
  while (across > 1 && sums * across > room)
    across /= 2;
  return across;
}

/// Emits `rows` rows of the tile `whole` and stores their results. The int8 slices of the rows are
/// in `memory`, starting at row `row`.
void emitTile(const ContractKernel &c, const Int8Slices &slices, const Tile &whole, int64_t rows, Index row,
              Value memory) {
  ElementEmitter &e = c.e;
  int64_t across = tileVectors(c, slices, slices.count * rows);
  for (int64_t j = 0; j < whole.panel.vectors; j += across) {
    Tile tile;
    tile.panel.vectors = std::min(across, whole.panel.vectors - j);
    tile.panel.masks.assign(whole.panel.masks.begin() + j, whole.panel.masks.begin() + j + tile.panel.vectors);
    SmallVector<Value> sums = Int8SliceProducts(c, slices, whole.at, j, tile.panel.vectors, rows, row, memory).sums();
    tile.at = whole.at;
    Index &column = tile.at[c.form.roles.column];
    column = e.add(column, e.constant(j * e.lanes));
    if (c.form.tiled)
      tile.at[*c.form.tiled] = e.add(tile.at[*c.form.tiled], row);
    for (int64_t r = 0; r < rows; ++r)
      tile.rows.push_back(e.constant(r));
    storeTile(c, tile, sums);
  }
}

/// Emits panel `panel` for `count` rows, starting at the row of `at`. The int8 slices of the rows
/// are in `memory`.
void overSliceRows(const ContractKernel &c, const Int8Slices &slices, const Point &at, Index panel, Index count,
                   Value memory) {
  ElementEmitter &e = c.e;
  std::optional<int64_t> known = c.form.rows.constant();
  withPanel(c, panel, [&](const Panel &whole, Index firstColumn) {
    Tile in{whole, at, {}, {}, {}};
    in.at[c.form.roles.column] = firstColumn;
    auto tile = [&](int64_t rows, Index row) { emitTile(c, slices, in, rows, row, memory); };
    constexpr int64_t most = 4;
    Index inTiles = e.mul(e.floorDiv(count, e.constant(most)), e.constant(most)), rest = e.sub(count, inTiles);
    if (known.value_or(most) >= most)
      e.forEach(e.constant(0), inTiles, most, [&](Index row) { tile(most, row); });
    if (known ? *known % most >= 2 : true)
      e.branch(e.compare(arith::CmpIPredicate::sge, rest, e.constant(2)), [&] { tile(2, inTiles); }, [] {});
    if (known ? *known % 2 == 1 : true)
      e.branch(
          e.compare(arith::CmpIPredicate::eq, e.mod(rest, e.constant(2)), e.constant(1)),
          [&] { tile(1, e.sub(count, e.constant(1))); }, [] {});
  });
}

} // namespace

void emitByInt8Slices(const ContractKernel &c, const Buffer &memory, const Int8Slices &slices) {
  ElementEmitter &e = c.e;
  const ContractForm &form = c.form;
  DimExpr slots = memory.dims[0], panelCount = c.columns.ceilDiv(c.tileColumns());
  DimExpr work = vectorWork(graph::numElements(form.extents), e.lanes * Int8Slices::elementsInFloat, 4);
  // Each task splits some rows into int8 slices and multiplies them by all of its panels.
  overRanges(c.k, e, slots, work, [&](Index firstSlot, Index endSlot) {
    Index panels = e.expression(panelCount), share = e.expression(panelCount.ceilDiv(*slots.constant()));
    Index begin = e.mul(firstSlot, share), end = e.min(e.mul(endSlot, share), panels);
    Value own = c.from(memory, e.mul(firstSlot, e.expression(memory.strides[0])));
    e.loopNest(c.extentsOf(form.outerRows), {}, 1, [&](ArrayRef<Index> outer, ValueRange) -> SmallVector<Value> {
      Point at = c.origin();
      for (auto [d, index] : llvm::zip(form.outerRows, outer))
        at[d] = index;
      e.forEach(e.constant(0), e.expression(form.rows), Int8Slices::rows, [&](Index first) {
        Index count = e.min(e.sub(e.expression(form.rows), first), e.constant(Int8Slices::rows));
        if (form.tiled)
          at[*form.tiled] = first;
        Int8SliceWriter(c, slices).writeRows(at, count, own);
        e.forEach(begin, end, 1, [&](Index panel) { overSliceRows(c, slices, at, panel, count, own); });
      });
      return {};
    });
  });
}

} // namespace hewn::codegen
