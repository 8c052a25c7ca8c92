// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/DequantizingMma.h"
#include "lib/Codegen/Contract/Sums/CodeTable.h"
#include "lib/Codegen/Contract/TileLoops.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

constexpr int64_t kMantissaBits = 23;
constexpr int64_t kOne = 0x3f800000; // bit pattern of the float 1.0
constexpr int64_t kPackedWordBytes = 4;
/// Number of packed words of a block whose products are accumulated before they are multiplied by
/// the weights' scale. The unscaled weights are mantissas in [1, 2), far from zero. Partial sums
/// therefore grow with the number of words, and so does their rounding error.
constexpr int64_t kWordsAtOnce = 16;

/// Returns the mantissa 1 + q / 2^bits, where q is weight number `position` (0: in the lowest bits)
/// of each packed word.
Value mantissaOf(OpBuilder &b, Location loc, Value words, graph::WeightEncoding code, int64_t position) {
  auto type = cast<VectorType>(words.getType());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), value)));
  };
  int64_t left = kMantissaBits - code.bits * (position + 1);
  Value shifted = words;
  if (left > 0)
    shifted = arith::ShLIOp::create(b, loc, words, constant(left));
  else if (left < 0)
    shifted = arith::ShRUIOp::create(b, loc, words, constant(-left));
  int64_t mask = ((int64_t(1) << code.bits) - 1) << (kMantissaBits - code.bits);
  Value bits = arith::OrIOp::create(b, loc, arith::AndIOp::create(b, loc, shifted, constant(mask)), constant(kOne));
  return vector::BitCastOp::create(b, loc, VectorType::get(type.getShape(), b.getF32Type()), bits);
}

/// Factors that dequantize the weights of a block (K indices that share a scale): weight = mantissa
/// * factor + addend. Each list has one vector per column vector of the panel. `addend` is empty
/// for weights with a lookup table.
struct BlockFactors {
  SmallVector<Value> factor, addend;
};

/// Callbacks of WeightUnpacker::visit, which loops over blocks and, inside, over the weights of a
/// block. `open` returns the initial state of the inner loop, given the state of the outer loop.
/// `at` gets an index along K and the unpacked weights there, as mantissas or table entries, and
/// updates the inner state. `close` returns the next state of the outer loop, given the final inner
/// state.
struct WeightVisitor {
  llvm::function_ref<SmallVector<Value>(ValueRange)> open;
  llvm::function_ref<void(Index, ArrayRef<Value>, const BlockFactors &, SmallVector<Value> &)> at;
  llvm::function_ref<SmallVector<Value>(ValueRange, ValueRange, const BlockFactors &)> close;
};

/// Emits the loops that unpack the low-bit weights of some column vectors of a panel.
class WeightUnpacker {
public:
  /// The unpacked weights are those of `vectors` column vectors, starting at the column of `at`.
  WeightUnpacker(const ContractKernel &c, ArrayRef<Index> at, int64_t vectors);
  SmallVector<Value> visit(ValueRange state, const WeightVisitor &visitor);
  /// Returns the number of registers that hold the lookup table in all loops.
  size_t registers() const { return table ? table->registers() : 0; }

private:
  Value load(VectorType type, Value memref, const Buffer &buffer, Index start, int64_t j);
  Value splat(double value);
  BlockFactors factorsOf(Index block);
  /// Emits the loop over the packed words [start, start + count) of a block.
  SmallVector<Value> overWords(Index start, int64_t count, const BlockFactors &by, ValueRange before,
                               const WeightVisitor &visitor);

  const ContractKernel &c;
  ElementEmitter &e;
  graph::WeightEncoding code;
  int64_t vectors, lineWords, aheadWords;
  Value words, scales, offsets;
  Index wordStep, scaleStep;
  std::optional<CodeTable> table;
};

WeightUnpacker::WeightUnpacker(const ContractKernel &c, ArrayRef<Index> at, int64_t vectors)
    : c(c), e(c.e), code(*c.form.code), vectors(vectors) {
  auto fromColumn = [&](const Buffer &buffer) { return c.from(buffer, c.offset(buffer, c.form.maps[1], at)); };
  auto stepIn = [&](const Buffer &buffer) {
    return e.expression(ContractForm::strideAlong(buffer, c.form.maps[1], c.form.roles.summed.front()));
  };
  words = fromColumn(c.form.rhs);
  scales = fromColumn(c.form.scale);
  if (c.form.offset.memref)
    offsets = fromColumn(c.form.offset);
  if (c.form.table.memref)
    table.emplace(c);
  wordStep = stepIn(c.form.rhs);
  scaleStep = stepIn(c.form.scale);
  plan::VectorCostsAttr costs = plan::costsOf(c.k.kernel);
  lineWords = costs.getCacheLineBytes() / kPackedWordBytes;
  aheadWords = costs.getPrefetchDistanceBytes() / kPackedWordBytes;
}

// Loads vector `j` of a packed panel. Panels are padded with zeros, so that the load needs no mask.
Value WeightUnpacker::load(VectorType type, Value memref, const Buffer &buffer, Index start, int64_t j) {
  return vector::LoadOp::create(c.b, c.loc(), type, memref, e.add(start, c.rightDistance(buffer, j)).base);
}

Value WeightUnpacker::splat(double value) {
  return arith::ConstantOp::create(c.b, c.loc(),
                                   DenseElementsAttr::get(c.sumType(), c.b.getF32FloatAttr(float(value))));
}

BlockFactors WeightUnpacker::factorsOf(Index block) {
  Index scaleAt = e.mul(block, scaleStep);
  Value one = splat(double(int64_t(1) << code.bits)), toMiddle = splat(-1.5);
  BlockFactors by;
  for (int64_t j = 0; j < vectors; ++j) {
    Value scale = load(c.sumType(), scales, c.form.scale, scaleAt, j), addend;
    if (c.form.table.memref) {
      by.factor.push_back(scale);
      continue;
    }
    Value factor = arith::MulFOp::create(c.b, c.loc(), scale, one);
    if (offsets)
      addend = arith::SubFOp::create(c.b, c.loc(), load(c.sumType(), offsets, c.form.offset, scaleAt, j), factor);
    else
      addend = arith::MulFOp::create(c.b, c.loc(), factor, toMiddle);
    by.factor.push_back(factor);
    by.addend.push_back(addend);
  }
  return by;
}

SmallVector<Value> WeightUnpacker::overWords(Index start, int64_t count, const BlockFactors &by, ValueRange before,
                                             const WeightVisitor &visitor) {
  auto wordType = VectorType::get({e.lanes}, c.b.getI32Type());
  auto body = [&](ArrayRef<Index> inner, ValueRange carried) {
    Index word = e.add(start, inner[0]), wordAt = e.mul(word, wordStep);
    Index first = e.mul(word, e.constant(code.perWord()));
    SmallVector<Value> loaded, next(carried);
    for (int64_t j = 0; j < vectors; ++j) {
      loaded.push_back(load(wordType, words, c.form.rhs, wordAt, j));
      if (j * e.lanes % lineWords == 0)
        c.prefetch(words, e.add(e.add(wordAt, c.rightDistance(j)), e.constant(aheadWords)));
    }
    for (int64_t i = 0; i < code.perWord(); ++i) {
      SmallVector<Value> mantissas;
      for (int64_t j = 0; j < vectors; ++j)
        mantissas.push_back(table ? table->numbers(loaded[j], i) : mantissaOf(c.b, c.loc(), loaded[j], code, i));
      visitor.at(e.add(first, e.constant(i)), mantissas, by, next);
    }
    return next;
  };
  SmallVector<Value> sums = e.loopNest({DimExpr(count)}, visitor.open(before), 1, body);
  return visitor.close(before, sums, by);
}

SmallVector<Value> WeightUnpacker::visit(ValueRange state, const WeightVisitor &visitor) {
  int64_t perBlock = code.block / code.perWord(), full = perBlock / kWordsAtOnce, rest = perBlock % kWordsAtOnce;
  const BlockedSum sum = c.blockedSum(state.size());
  int64_t words = std::min(perBlock, kWordsAtOnce) * code.perWord(), additions = std::min(code.block, kSumBlock);
  return sum.nest({c.form.scale.dims[0]}, additions, 1, state, [&](ArrayRef<Index> block, ValueRange carried) {
    Index firstWord = e.mul(block[0], e.constant(perBlock));
    BlockFactors by = factorsOf(block[0]);
    if (full == 0 || (full == 1 && rest == 0))
      return overWords(firstWord, perBlock, by, carried, visitor);
    SmallVector<Value> whole = sum.nest({DimExpr(full)}, words, 1, carried, [&](ArrayRef<Index> at, ValueRange before) {
      return overWords(e.add(firstWord, e.mul(at[0], e.constant(kWordsAtOnce))), kWordsAtOnce, by, before, visitor);
    });
    return rest ? overWords(e.add(firstWord, e.constant(full * kWordsAtOnce)), rest, by, whole, visitor) : whole;
  });
}

/// Implement WeightVisitor's `open` and `close` for visitors that carry one state through both
/// loops, over blocks and over the weights of a block.
SmallVector<Value> keep(ValueRange carried) { return SmallVector<Value>(carried); }
SmallVector<Value> take(ValueRange, ValueRange last, const BlockFactors &) { return keep(last); }

/// Returns the dequantized weights of column vector `j`.
Value weightOf(const ContractKernel &c, ArrayRef<Value> mantissas, const BlockFactors &by, size_t j) {
  if (by.addend.empty())
    return arith::MulFOp::create(c.b, c.loc(), mantissas[j], by.factor[j]);
  return vector::FMAOp::create(c.b, c.loc(), mantissas[j], by.factor[j], by.addend[j]);
}

/// Dequantizes `vectors` column vectors of the panel at `at`. Stores them to `memory` at offset
/// `start`, as one row per index along K; a row has as many elements as the tile has columns.
void decodePanel(const ContractKernel &c, ArrayRef<Index> at, int64_t vectors, const Buffer &memory, Index start) {
  ElementEmitter &e = c.e;
  auto store = [&](Index depth, ArrayRef<Value> mantissas, const BlockFactors &by, SmallVector<Value> &) {
    Index row = e.add(start, e.mul(depth, e.constant(c.tileColumns())));
    for (size_t j = 0; j < mantissas.size(); ++j) {
      Value weight = weightOf(c, mantissas, by, j);
      vector::StoreOp::create(c.b, c.loc(), weight, memory.memref, e.add(row, e.constant(int64_t(j) * e.lanes)).base);
    }
  };
  WeightUnpacker(c, at, vectors).visit({}, {keep, store, take});
}

} // namespace

SmallVector<Value> dequantizingMma(const ContractKernel &c, const Tile &tile, SmallVector<Value> sums) {
  ElementEmitter &e = c.e;
  OpBuilder &b = c.b;
  const ContractForm &form = c.form;
  const SmallVector<Index> &rows = tile.rows;
  Point at = tile.at;
  if (form.tiled)
    at[*form.tiled] = e.add(at[*form.tiled], rows[0]);
  Value left = c.from(form.lhs, c.offset(form.lhs, form.maps[0], at));
  Index step = e.expression(ContractForm::strideAlong(form.lhs, form.maps[0], form.roles.summed.front()));
  SmallVector<Index> distance = c.rowDistances(rows, 0);
  size_t across = size_t(tile.panel.vectors), count = rows.size() * across;
  auto multiply = [&](Index depth, ArrayRef<Value> weights, SmallVector<Value> &next, bool sumsLeft) {
    for (size_t r = 0; r < rows.size(); ++r) {
      Value spread = c.splatScalar(left, e.add(e.mul(depth, step), distance[r]), c.sumType());
      for (size_t j = 0; j < across; ++j)
        next[r * across + j] = c.product(spread, weights[j], next[r * across + j]);
      if (sumsLeft)
        next[count + r] = arith::AddFOp::create(b, c.loc(), next[count + r], spread);
    }
  };
  auto scaled = [&](Index depth, ArrayRef<Value> mantissas, const BlockFactors &by, SmallVector<Value> &next) {
    SmallVector<Value> weights;
    for (size_t j = 0; j < mantissas.size(); ++j)
      weights.push_back(weightOf(c, mantissas, by, j));
    multiply(depth, weights, next, /*sumsLeft=*/false);
  };
  WeightUnpacker walk(c, tile.at, tile.panel.vectors);
  // Number of registers that the multiply-adds need for packed words and temporaries, in addition
  // to the accumulators.
  constexpr size_t others = 4;
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  bool hasAddends = !form.table.memref;
  size_t perRow = hasAddends ? rows.size() : 0;
  bool fits = target && 2 * count + across + perRow + walk.registers() + others <= size_t(target.getVectorRegisters());
  if (!fits)
    return walk.visit(sums, {keep, scaled, take});
  // Accumulate a block with unscaled weights (mantissas m) and apply the factor and the addend that
  // dequantize them once per block: sum of x * (m * factor + addend) = factor * (sum of x * m) +
  // addend * (sum of x). Weights with a lookup table have no addend.
  Value zero = arith::ConstantOp::create(b, c.loc(), b.getZeroAttr(c.sumType()));
  auto open = [&](ValueRange) { return SmallVector<Value>(count + perRow, zero); };
  auto inBlock = [&](Index depth, ArrayRef<Value> mantissas, const BlockFactors &, SmallVector<Value> &next) {
    multiply(depth, mantissas, next, /*sumsLeft=*/hasAddends);
  };
  auto close = [&](ValueRange carried, ValueRange last, const BlockFactors &by) {
    SmallVector<Value> next(carried);
    for (size_t r = 0; r < rows.size(); ++r)
      for (size_t j = 0; j < across; ++j) {
        Value &sum = next[r * across + j];
        if (hasAddends)
          sum = c.product(last[count + r], by.addend[j], sum);
        sum = c.product(last[r * across + j], by.factor[j], sum);
      }
    return next;
  };
  return walk.visit(sums, {open, inBlock, close});
}

void emitDecoding(const ContractKernel &c, const Buffer &panels) {
  ElementEmitter &e = c.e;
  const ContractForm &form = c.form;
  Index start = e.constant(0);
  auto sharing = [&](Index panel) {
    auto decode = [&](int64_t vectors, Index firstColumn) {
      Point at = c.origin();
      at[form.roles.column] = firstColumn;
      decodePanel(c, at, vectors, panels, start);
    };
    // Panels of packed weights are padded with zeros, so a tile within a panel is always full. If a
    // tile spans several panels, the last tile may have fewer panels than the others.
    if (c.tileColumns() <= form.rhs.block)
      decode(c.tileColumns() / e.lanes, e.mul(panel, e.constant(c.tileColumns())));
    else
      withPanel(c, panel, [&](const Panel &own, Index firstColumn) { decode(own.vectors, firstColumn); });
    // Emit the multiply-adds as a contraction whose right operand is the dequantized weights. All
    // panels of a task use the memory of its slot, one after another.
    ContractForm decoded = form;
    decoded.code = std::nullopt;
    decoded.rhs = panels;
    decoded.rhs.dims = {form.extents[form.roles.summed.front()], c.columns};
    decoded.rhs.strides = {DimExpr(c.tileColumns()), DimExpr(0)};
    decoded.rhs.blockDim = 1;
    decoded.rhs.block = c.tileColumns();
    decoded.rhs.start = start.base;
    ContractKernel floats(c.k, c.b, e, std::move(decoded), c.schedule);
    TileLoops(floats).overAllRows(panel);
  };
  bool known = form.rows.constant().has_value();
  overSlots(
      c.k, e, *panels.dims[0].constant(), {c.columns.ceilDiv(c.tileColumns())},
      vectorWork(graph::numElements(form.extents), e.lanes, 1),
      [&](Index slot) { start = e.mul(slot, e.expression(panels.strides[0])); },
      [&](ArrayRef<Index> at) {
        if (known)
          return sharing(at[0]);
        Value few = e.compare(arith::CmpIPredicate::sle, e.expression(form.rows), e.constant(c.tileRows()));
        e.branch(few, [&] { TileLoops(c).overAllRows(at[0]); }, [&] { sharing(at[0]); });
      });
}

} // namespace hewn::codegen
