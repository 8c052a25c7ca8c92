// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/LimbSums.h"
#include "lib/Codegen/Contract/Sums/LimbWriter.h"
#include "lib/Codegen/Contract/TileEpilogue.h"
#include "lib/Codegen/Contract/TileLoops.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;
using hewn::plan::Limbs;

namespace hewn::codegen {

namespace {

constexpr int64_t kLimbWordBytes = 4;
/// Times a byte: it in each byte of a word.
constexpr int64_t kEachByte = 0x01010101;

/// The sums of some rows whose limbs lie in memory, by some vectors of columns.
class LimbProducts {
public:
  /// `rows` rows, from the one that `row` counts in `memory` on, by `vectors` vectors, from vector `firstVector` of the panel at `at`
  /// on.
  LimbProducts(const ContractKernel &c, const Limbs &limbs, ArrayRef<Index> at, int64_t firstVector, int64_t vectors,
               int64_t rows, Index row, Value memory);
  SmallVector<Value> sums();

private:
  /// What the codes of a block are multiplied by, and what is added to them: a vector for each of columns; nothing is added where codes
  /// have no offsets.
  struct BlockFactors {
    SmallVector<Value> scale, toMiddle;
  };
  BlockFactors factorsOf(Index block);
  /// Products of a segment, which is the `index`-th of its row and begins at word `first`, added to `before`.
  SmallVector<Value> overSegment(Index index, Index first, int64_t words, const BlockFactors &by, ValueRange before);
  /// Those of `count` words of a segment from `inner` on, exactly, added to sums of integers for each limb.
  SmallVector<Value> overWords(Index index, Index first, Index inner, int64_t count, ValueRange before);
  /// Those of word `inner`; null sums are none yet.
  void addWord(Index index, Index first, Index inner, SmallVector<Value> &sums);
  /// The code that is `place` from the lowest in each byte's share of a word.
  Value codeAt(Value words, int64_t place);
  Value multiply(Value limb, Value code, Value sum);
  Value widened(Value pairs, Value sum);

  /// The table's numbers, less the lowest that there may be, as bytes: all of them in each sixteen.
  Value tableInBytes();

  Index rowAt(int64_t r, Index segment);
  Value load(VectorType type, Value memref, const Buffer &buffer, Index start, int64_t j);
  Value splat(VectorType type, TypedAttr value);
  Value splatFloat(double value) { return splat(c.sumType(), c.b.getF32FloatAttr(float(value))); }
  Value splatWord(int64_t value) { return splat(word, c.b.getI32IntegerAttr(int32_t(value))); }
  /// A float of the rows' memory in every lane; the integer that it stands for.
  Value spread(Index at);
  Value spreadBits(Index at);

  const ContractKernel &c;
  KernelElements &e;
  const Limbs &limbs;
  int64_t firstVector, across, rows, lineWords, aheadWords;
  Value memory, words, scales, offsets, table;
  Index wordStep, scaleStep, base;
  VectorType word, bytes;
};

LimbProducts::LimbProducts(const ContractKernel &c, const Limbs &limbs, ArrayRef<Index> at, int64_t firstVector,
                           int64_t vectors, int64_t rows, Index row, Value memory)
    : c(c), e(c.e), limbs(limbs), firstVector(firstVector), across(vectors), rows(rows), memory(memory),
      word(VectorType::get({e.lanes}, c.b.getI32Type())),
      bytes(VectorType::get({e.lanes * Limbs::elementsInFloat}, c.b.getI8Type())) {
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
  lineWords = costs.getCacheLineBytes() / kLimbWordBytes;
  aheadWords = costs.getPrefetchDistanceBytes() / kLimbWordBytes;
  base = e.mul(row, e.constant(limbs.rowFloats()));
  if (limbs.code.tableInBytes)
    table = tableInBytes();
}

Value LimbProducts::tableInBytes() {
  OpBuilder &b = c.b;
  Location loc = c.loc();
  const Buffer &buffer = c.form.table;
  int64_t count = int64_t(1) << limbs.code.bits;
  auto floats = VectorType::get({count}, b.getF32Type()), integers = VectorType::get({count}, b.getI32Type());
  Value from = c.from(buffer, buffer.start ? Index{buffer.start} : e.constant(0));
  Value numbers = vector::LoadOp::create(b, loc, floats, from, e.constant(0).base);
  Value units = splat(floats, b.getF32FloatAttr(float(graph::Code::tableUnits)));
  numbers = arith::FPToSIOp::create(b, loc, integers, arith::MulFOp::create(b, loc, numbers, units));
  numbers = arith::AddIOp::create(b, loc, numbers, splat(integers, b.getI32IntegerAttr(int32_t(limbs.middle()))));
  numbers = arith::TruncIOp::create(b, loc, VectorType::get({count}, b.getI8Type()), numbers);
  auto repeated = llvm::map_to_vector(llvm::seq(bytes.getNumElements()), [&](int64_t lane) { return lane % count; });
  return vector::ShuffleOp::create(b, loc, numbers, numbers, repeated);
}

Index LimbProducts::rowAt(int64_t r, Index segment) {
  return e.add(base, e.add(e.constant(r * limbs.rowFloats()), e.mul(segment, e.constant(limbs.segmentFloats()))));
}

Value LimbProducts::load(VectorType type, Value memref, const Buffer &buffer, Index start, int64_t j) {
  return vector::LoadOp::create(c.b, c.loc(), type, memref,
                                e.add(start, c.rightDistance(buffer, firstVector + j)).base);
}

Value LimbProducts::splat(VectorType type, TypedAttr value) {
  return arith::ConstantOp::create(c.b, c.loc(), DenseElementsAttr::get(type, ArrayRef<Attribute>(value)));
}

Value LimbProducts::spread(Index at) {
  return vector::BroadcastOp::create(c.b, c.loc(), c.sumType(), memref::LoadOp::create(c.b, c.loc(), memory, at.base));
}

Value LimbProducts::spreadBits(Index at) {
  Value element = memref::LoadOp::create(c.b, c.loc(), memory, at.base);
  Value bits = arith::BitcastOp::create(c.b, c.loc(), c.b.getI32Type(), element);
  return vector::BroadcastOp::create(c.b, c.loc(), word, bits);
}

Value LimbProducts::codeAt(Value words, int64_t place) {
  graph::Code code = limbs.code;
  Value bits = words;
  if (place)
    bits = arith::ShRUIOp::create(c.b, c.loc(), bits, splatWord(place * code.bits));
  if (code.bits < 8)
    bits = arith::AndIOp::create(c.b, c.loc(), bits, splatWord(((int64_t(1) << code.bits) - 1) * kEachByte));
  if (limbs.lessByte()) // of each byte, by its highest bit
    bits = arith::XOrIOp::create(c.b, c.loc(), bits, splatWord(limbs.lessByte() * kEachByte));
  Value places = vector::BitCastOp::create(c.b, c.loc(), bytes, bits);
  if (!table)
    return places;
  StringAttr look = plan::targetOf(c.k.kernel).getPermuteBytesIntrinsic();
  return LLVM::CallIntrinsicOp::create(c.b, c.loc(), bytes, look, ValueRange{table, places}).getResult(0);
}

Value LimbProducts::multiply(Value limb, Value code, Value sum) {
  bool rightFirst = limbs.dot.getRightFirst();
  Value first = rightFirst ? limb : code, second = rightFirst ? code : limb;
  if (limbs.widen) {
    auto pairs = VectorType::get({e.lanes * 2}, c.b.getI16Type());
    Value made = LLVM::CallIntrinsicOp::create(c.b, c.loc(), pairs, limbs.dot.getIntrinsic(), ValueRange{first, second})
                     .getResult(0);
    return sum ? Value(arith::AddIOp::create(c.b, c.loc(), sum, made)) : made;
  }
  return LLVM::CallIntrinsicOp::create(c.b, c.loc(), sum.getType(), limbs.dot.getIntrinsic(),
                                       ValueRange{sum, first, second})
      .getResult(0);
}

Value LimbProducts::widened(Value pairs, Value sum) {
  Value ones = splat(cast<VectorType>(pairs.getType()), c.b.getI16IntegerAttr(1));
  Value made = LLVM::CallIntrinsicOp::create(c.b, c.loc(), word, limbs.widen.getIntrinsic(), ValueRange{pairs, ones})
                   .getResult(0);
  return arith::AddIOp::create(c.b, c.loc(), sum, made);
}

void LimbProducts::addWord(Index index, Index first, Index inner, SmallVector<Value> &next) {
  SmallVector<Value> loaded;
  Index wordAt = e.mul(e.add(first, inner), wordStep);
  for (int64_t j = 0; j < across; ++j) {
    loaded.push_back(load(word, words, c.form.rhs, wordAt, j));
    if (j * e.lanes % lineWords == 0)
      c.prefetch(words, e.add(e.add(wordAt, c.rightDistance(firstVector + j)), e.constant(aheadWords)));
  }
  int64_t places = 8 / limbs.code.bits;
  for (int64_t place = 0; place < places; ++place) {
    SmallVector<Value> codes = llvm::map_to_vector(loaded, [&](Value given) { return codeAt(given, place); });
    for (int64_t l = 0; l < limbs.count; ++l)
      for (int64_t r = 0; r < rows; ++r) {
        Index at = e.add(e.mul(inner, e.constant(places)),
                         e.constant(place + Limbs::header + l * limbs.segmentDepth / Limbs::elementsInFloat));
        Value limb = vector::BitCastOp::create(c.b, c.loc(), bytes, spreadBits(e.add(rowAt(r, index), at)));
        for (int64_t j = 0; j < across; ++j) {
          Value &sum = next[(l * rows + r) * across + j];
          sum = multiply(limb, codes[j], sum);
        }
      }
  }
}

SmallVector<Value> LimbProducts::overWords(Index index, Index first, Index inner, int64_t count, ValueRange before) {
  SmallVector<Value> next(before);
  if (!limbs.widen) {
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

SmallVector<Value> LimbProducts::overSegment(Index index, Index first, int64_t words, const BlockFactors &by,
                                             ValueRange before) {
  SmallVector<Value> whole;
  for (int64_t l = 0; l < limbs.count; ++l)
    for (int64_t r = 0; r < rows; ++r)
      whole.append(across, spreadBits(e.add(rowAt(r, index), e.constant(2 + l))));
  // As many words at a time as sums of pairs have room for, of equal parts; findPairs has seen to it that there is room for one.
  int64_t atOnce = 1, most = limbs.widen ? limbs.sumsInPairs() / (8 / limbs.code.bits) : 1;
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
      for (int64_t l = limbs.count; l-- > 0;) {
        Value limb = arith::SIToFPOp::create(c.b, c.loc(), c.sumType(), whole[(l * rows + r) * across + j]);
        sum = sum ? Value(vector::FMAOp::create(c.b, c.loc(), sum, splatFloat(256), limb)) : limb;
      }
      Value &to = next[r * across + j];
      to = vector::FMAOp::create(c.b, c.loc(), sum, arith::MulFOp::create(c.b, c.loc(), unit, by.scale[j]), to);
      if (!by.toMiddle.empty())
        to = vector::FMAOp::create(c.b, c.loc(), spread(e.add(rowAt(r, index), e.constant(1))), by.toMiddle[j], to);
    }
  }
  return next;
}

LimbProducts::BlockFactors LimbProducts::factorsOf(Index block) {
  BlockFactors by;
  Index scaleAt = e.mul(block, scaleStep);
  for (int64_t j = 0; j < across; ++j) {
    by.scale.push_back(load(c.sumType(), scales, c.form.scale, scaleAt, j));
    if (offsets) // code * scale + offset = (code - middle) * scale + (offset + middle * scale)
      by.toMiddle.push_back(vector::FMAOp::create(c.b, c.loc(), by.scale.back(), splatFloat(double(limbs.middle())),
                                                  load(c.sumType(), offsets, c.form.offset, scaleAt, j)));
  }
  return by;
}

SmallVector<Value> LimbProducts::sums() {
  graph::Code code = limbs.code;
  int64_t blockWords = code.block / code.perWord(), segmentWords = limbs.segmentDepth / code.perWord();
  int64_t full = blockWords / segmentWords, rest = blockWords % segmentWords;
  SmallVector<Value> zeros(rows * across, splatFloat(0));
  return e.loopNest({DimExpr(limbs.blocks)}, zeros, 1, [&](ArrayRef<Index> block, ValueRange before) {
    Index firstWord = e.mul(block[0], e.constant(blockWords));
    Index firstSegment = e.mul(block[0], e.constant(limbs.segmentsPerBlock));
    BlockFactors by = factorsOf(block[0]);
    auto at = [&](Index i) { return e.add(firstWord, e.mul(i, e.constant(segmentWords))); };
    SmallVector<Value> done = e.loopNest({DimExpr(full)}, before, 1, [&](ArrayRef<Index> i, ValueRange state) {
      return overSegment(e.add(firstSegment, i[0]), at(i[0]), segmentWords, by, state);
    });
    Index last = e.constant(full);
    return rest ? overSegment(e.add(firstSegment, last), at(last), rest, by, done) : done;
  });
}

/// Vectors of columns that a tile has beside so many sums for each.
int64_t vectorsBeside(const ContractKernel &c, const Limbs &limbs, int64_t sums) {
  // Accumulators of all limbs have three quarters of the registers: a row by some vectors, or more rows by fewer. Half of them where there
  // are products of their own, which are not added to the sums yet.
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  int64_t room = target ? target.getVectorRegisters() * 3 / 4 : 0, across = 4;
  if (limbs.widen)
    room = room * 2 / 3;
  while (across > 1 && sums * across > room)
    across /= 2;
  return across;
}

/// Some rows of a panel: those of `whole`, from its first one on, whose limbs lie in `memory` from row `row` on.
void emitTile(const ContractKernel &c, const Limbs &limbs, const Tile &whole, int64_t rows, Index row, Value memory) {
  KernelElements &e = c.e;
  int64_t across = vectorsBeside(c, limbs, limbs.count * rows);
  for (int64_t j = 0; j < whole.panel.vectors; j += across) {
    Tile tile;
    tile.panel.vectors = std::min(across, whole.panel.vectors - j);
    tile.panel.masks.assign(whole.panel.masks.begin() + j, whole.panel.masks.begin() + j + tile.panel.vectors);
    SmallVector<Value> sums = LimbProducts(c, limbs, whole.at, j, tile.panel.vectors, rows, row, memory).sums();
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

/// The rows of a panel from the one at `at` on, of which `count` have limbs in `memory`.
void overLimbRows(const ContractKernel &c, const Limbs &limbs, const Point &at, Index panel, Index count,
                  Value memory) {
  KernelElements &e = c.e;
  std::optional<int64_t> known = c.form.rows.constant();
  withPanel(c, panel, [&](const Panel &whole, Index firstColumn) {
    Tile in{whole, at, {}, {}, {}};
    in.at[c.form.roles.column] = firstColumn;
    auto tile = [&](int64_t rows, Index row) { emitTile(c, limbs, in, rows, row, memory); };
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

void emitByLimbs(const ContractKernel &c, const Buffer &memory, const Limbs &limbs) {
  KernelElements &e = c.e;
  const ContractForm &form = c.form;
  DimExpr slots = memory.dims[0], panelCount = c.columns.ceilDiv(c.tileColumns());
  DimExpr work = vectorWork(graph::numElements(form.extents), e.lanes * Limbs::elementsInFloat, 4);
  // Limbs serve all panels of a thread.
  overRanges(c.k, e, slots, work, [&](Index firstSlot, Index endSlot) {
    Index panels = e.expression(panelCount), share = e.expression(panelCount.ceilDiv(*slots.constant()));
    Index begin = e.mul(firstSlot, share), end = e.min(e.mul(endSlot, share), panels);
    Value own = c.from(memory, e.mul(firstSlot, e.expression(memory.strides[0])));
    e.loopNest(c.extentsOf(form.outerRows), {}, 1, [&](ArrayRef<Index> outer, ValueRange) -> SmallVector<Value> {
      Point at = c.origin();
      for (auto [d, index] : llvm::zip(form.outerRows, outer))
        at[d] = index;
      e.forEach(e.constant(0), e.expression(form.rows), Limbs::rows, [&](Index first) {
        Index count = e.min(e.sub(e.expression(form.rows), first), e.constant(Limbs::rows));
        if (form.tiled)
          at[*form.tiled] = first;
        LimbWriter(c, limbs).writeRows(at, count, own);
        e.forEach(begin, end, 1, [&](Index panel) { overLimbRows(c, limbs, at, panel, count, own); });
      });
      return {};
    });
  });
}

} // namespace hewn::codegen
