// SPDX-License-Identifier: Apache-2.0
//
// A tile's products with weights of few bits.
//
// A code becomes the high bits of a mantissa, which is one shift and one operation on bits for a vector, and no conversion:
//
//     1.mantissa = 1 + code / 2^bits        code * scale + offset = (1 + code / 2^bits) * (2^bits scale) + (offset - 2^bits scale)
//
// Both factors are made once for the rows that share a scale.
#include "lib/Codegen/Contract/ContractEmitter.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

static constexpr int64_t kMantissaBits = 23;
static constexpr int64_t kOne = 0x3f800000; // 1.0
static constexpr int64_t kWordBytes = 4;
/// Words of a block that are summed before they are scaled: mantissas are far from zero, and so are their sums.
static constexpr int64_t kPieceWords = 16;

/// 1 + code / 2^bits, of the code that is `position` from the lowest in each word.
static Value mantissaOf(OpBuilder &b, Location loc, Value words, graph::Code code, int64_t position) {
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

SmallVector<Value> ContractEmitter::overCodes(int64_t vectors, ValueRange state, const CodeVisitor &visitor) {
  graph::Code code = *form.code;
  unsigned k = form.roles.summed.front();
  auto fromColumn = [&](const Buffer &buffer) { return from(buffer, offset(buffer, form.maps[1], iteration)); };
  auto stepIn = [&](const Buffer &buffer) { return e.expression(ContractForm::strideAlong(buffer, form.maps[1], k)); };
  Value words = fromColumn(form.rhs), scales = fromColumn(form.scale), offsets;
  if (form.offset.memref)
    offsets = fromColumn(form.offset);
  Index wordStep = stepIn(form.rhs), scaleStep = stepIn(form.scale);
  auto wordType = VectorType::get({e.lanes}, b.getI32Type());
  // Panels are padded with zeros: no lane needs a mask.
  auto load = [&](VectorType type, Value memref, const Buffer &buffer, Index start, int64_t j) -> Value {
    return vector::LoadOp::create(b, loc(), type, memref, e.add(start, rightDistance(buffer, j)).base);
  };
  auto splat = [&](double value) {
    return arith::ConstantOp::create(b, loc(), DenseElementsAttr::get(sumType(), b.getF32FloatAttr(float(value))));
  };
  Value one = splat(double(int64_t(1) << code.bits)), toMiddle = splat(-1.5);
  plan::VectorCostsAttr costs = plan::costsOf(this->k.kernel);
  int64_t lineWords = costs.getLineBytes() / kWordBytes, aheadWords = costs.getAheadBytes() / kWordBytes;
  auto fetch = [&](Index place) {
    memref::PrefetchOp::create(b, loc(), words, ValueRange(e.add(place, e.constant(aheadWords)).base),
                               /*isWrite=*/false, /*localityHint=*/2, /*isDataCache=*/true);
  };
  DimExpr blocks = form.scale.dims[0];
  int64_t perBlock = code.block / code.perWord();
  return e.loopNest({blocks}, state, 1, [&](ArrayRef<Index> block, ValueRange carried) {
    Index scaleAt = e.mul(block[0], scaleStep), firstWord = e.mul(block[0], e.constant(perBlock));
    Block by;
    for (int64_t j = 0; j < vectors; ++j) {
      Value factor = arith::MulFOp::create(b, loc(), load(sumType(), scales, form.scale, scaleAt, j), one), addend;
      if (offsets)
        addend = arith::SubFOp::create(b, loc(), load(sumType(), offsets, form.offset, scaleAt, j), factor);
      else
        addend = arith::MulFOp::create(b, loc(), factor, toMiddle);
      by.factor.push_back(factor);
      by.addend.push_back(addend);
    }
    auto piece = [&](Index start, int64_t count, ValueRange whole) {
      SmallVector<Value> sums =
          e.loopNest({DimExpr(count)}, visitor.open(whole), 1, [&](ArrayRef<Index> inner, ValueRange before) {
            Index word = e.add(start, inner[0]), wordAt = e.mul(word, wordStep);
            Index first = e.mul(word, e.constant(code.perWord()));
            SmallVector<Value> loaded, next(before);
            for (int64_t j = 0; j < vectors; ++j) {
              loaded.push_back(load(wordType, words, form.rhs, wordAt, j));
              if (j * e.lanes % lineWords == 0)
                fetch(e.add(wordAt, rightDistance(form.rhs, j)));
            }
            for (int64_t i = 0; i < code.perWord(); ++i) {
              SmallVector<Value> mantissas;
              for (int64_t j = 0; j < vectors; ++j)
                mantissas.push_back(mantissaOf(b, loc(), loaded[j], code, i));
              visitor.at(e.add(first, e.constant(i)), mantissas, by, next);
            }
            return next;
          });
      return visitor.close(whole, sums, by);
    };
    int64_t pieces = perBlock / kPieceWords, rest = perBlock % kPieceWords;
    if (pieces == 0 || (pieces == 1 && rest == 0))
      return piece(firstWord, perBlock, carried);
    SmallVector<Value> whole = e.loopNest({DimExpr(pieces)}, carried, 1, [&](ArrayRef<Index> at, ValueRange before) {
      return piece(e.add(firstWord, e.mul(at[0], e.constant(kPieceWords))), kPieceWords, before);
    });
    return rest ? piece(e.add(firstWord, e.constant(pieces * kPieceWords)), rest, whole) : whole;
  });
}

/// The state of a block's loop is that of the loop over blocks, before it and behind it.
static SmallVector<Value> keep(ValueRange carried) { return SmallVector<Value>(carried); }
template <typename Block> static SmallVector<Value> take(ValueRange, ValueRange last, const Block &) {
  return keep(last);
}

SmallVector<Value> ContractEmitter::codedProducts(const Panel &panel, ArrayRef<Index> rows, SmallVector<Value> sums) {
  SmallVector<Index> at(iteration);
  if (form.tiled)
    at[*form.tiled] = e.add(at[*form.tiled], rows[0]);
  Value left = from(form.lhs, offset(form.lhs, form.maps[0], at));
  Index step = e.expression(ContractForm::strideAlong(form.lhs, form.maps[0], form.roles.summed.front()));
  SmallVector<Index> distance = rowDistances(rows, 0);
  size_t across = size_t(panel.vectors), count = rows.size() * across;
  auto multiply = [&](Index depth, ArrayRef<Value> weights, SmallVector<Value> &next, bool sumsLeft) {
    for (size_t r = 0; r < rows.size(); ++r) {
      Value spread = spreadScalar(left, e.add(e.mul(depth, step), distance[r]), sumType());
      for (size_t j = 0; j < across; ++j)
        next[r * across + j] = product(spread, weights[j], next[r * across + j]);
      if (sumsLeft)
        next[count + r] = arith::AddFOp::create(b, loc(), next[count + r], spread);
    }
  };
  auto scaled = [&](Index depth, ArrayRef<Value> mantissas, const Block &by, SmallVector<Value> &next) {
    SmallVector<Value> weights;
    for (auto [mantissa, factor, addend] : llvm::zip(mantissas, by.factor, by.addend))
      weights.push_back(vector::FMAOp::create(b, loc(), mantissa, factor, addend));
    multiply(depth, weights, next, /*sumsLeft=*/false);
  };
  // Beside the sums: those of the block, its words, and a few that are in use.
  constexpr size_t others = 4;
  plan::TargetAttr target = plan::targetOf(k.kernel);
  bool fits = target && 2 * count + across + rows.size() + others <= size_t(target.getVectorRegisters());
  if (!fits)
    return overCodes(panel.vectors, sums, {keep, scaled, take<Block>});
  // sum of x (m factor + addend) = factor (sum of x m) + addend (sum of x)
  Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(sumType()));
  auto open = [&](ValueRange) { return SmallVector<Value>(count + rows.size(), zero); };
  auto inBlock = [&](Index depth, ArrayRef<Value> mantissas, const Block &, SmallVector<Value> &next) {
    multiply(depth, mantissas, next, /*sumsLeft=*/true);
  };
  auto close = [&](ValueRange carried, ValueRange last, const Block &by) {
    SmallVector<Value> next(carried);
    for (size_t r = 0; r < rows.size(); ++r)
      for (size_t j = 0; j < across; ++j) {
        Value &sum = next[r * across + j];
        sum = product(last[count + r], by.addend[j], sum);
        sum = product(last[r * across + j], by.factor[j], sum);
      }
    return next;
  };
  return overCodes(panel.vectors, sums, {open, inBlock, close});
}

void ContractEmitter::decodePanel(Index panel, const Buffer &memory, Index start) {
  Index outside = iteration[form.roles.column];
  iteration[form.roles.column] = e.mul(panel, e.constant(n));
  auto store = [&](Index depth, ArrayRef<Value> mantissas, const Block &by, SmallVector<Value> &) {
    Index row = e.add(start, e.mul(depth, e.constant(n)));
    for (auto [j, mantissa] : llvm::enumerate(mantissas)) {
      Value weight = vector::FMAOp::create(b, loc(), mantissa, by.factor[j], by.addend[j]);
      vector::StoreOp::create(b, loc(), weight, memory.memref, e.add(row, e.constant(int64_t(j) * e.lanes)).base);
    }
  };
  overCodes(n / e.lanes, {}, {keep, store, take<Block>});
  iteration[form.roles.column] = outside;
}

void ContractEmitter::overAllRows(Index panel) {
  Dims counts = extentsOf(form.outerRows);
  counts.push_back(form.rows.ceilDiv(m));
  e.loopNest(counts, {}, 1, [&](ArrayRef<Index> at, ValueRange) -> SmallVector<Value> {
    for (auto [d, index] : llvm::zip(form.outerRows, at))
      iteration[d] = index;
    overPanels(panel, at.back());
    return {};
  });
}

void ContractEmitter::runDecoding(const Buffer &panels) {
  Index start = e.constant(0);
  auto sharing = [&](Index panel) {
    decodePanel(panel, panels, start);
    ContractForm coded = form;
    // All panels lie in one place, one after another.
    form.code = std::nullopt;
    form.rhs = Buffer{panels.memref, b.getF32Type()};
    form.rhs.dims = {form.extents[form.roles.summed.front()], columns};
    form.rhs.strides = {DimExpr(n), DimExpr(0)};
    form.rhs.blockDim = 1;
    form.rhs.block = n;
    form.rhs.start = start.base;
    overAllRows(panel);
    form = coded;
  };
  bool known = form.rows.constant().has_value();
  overSlots(
      k, e, *panels.dims[0].constant(), {columns.ceilDiv(n)}, vectorWork(graph::numElements(form.extents), e.lanes, 1),
      [&](Index slot) { start = e.mul(slot, e.expression(panels.strides[0])); },
      [&](ArrayRef<Index> at) {
        if (known)
          return sharing(at[0]);
        Value few = e.compare(arith::CmpIPredicate::sle, e.expression(form.rows), e.constant(m));
        e.branch(few, [&] { overAllRows(at[0]); }, [&] { sharing(at[0]); });
      });
}

} // namespace hewn::codegen
