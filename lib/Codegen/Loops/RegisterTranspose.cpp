// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/RegisterTranspose.h"
#include "lib/Codegen/Loops/LoopEngine.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "hewn-lower-kernels"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

std::optional<RegisterTranspose> planTranspose(unsigned lane, unsigned line, ArrayRef<DimExpr> extents,
                                               ArrayRef<DimExpr> strides, int64_t lanes) {
  int64_t width = extents[lane].constant().value_or(lanes), length = extents[line].constant().value_or(lanes);
  if (lane == line || lanes < 2 || length < 2 || 2 * width < lanes) {
    LDBG() << "no in-register transpose for " << lanes << " lanes: the extents are " << width << " and " << length;
    return std::nullopt;
  }
  if (extents[line].constant() && length < lanes && strides[lane] == extents[line])
    return RegisterTranspose{lane, line, length, true};
  if (2 * length < lanes) {
    LDBG() << "no in-register transpose for " << lanes << " lanes: contiguous rows of " << length << " are too short";
    return std::nullopt;
  }
  return RegisterTranspose{lane, line, lanes, false};
}

DimExpr transposeTiles(const RegisterTranspose &transpose, ArrayRef<DimExpr> extents) {
  return extents[transpose.line].ceilDiv(transpose.count);
}

SmallVector<Value> columnsOf(OpBuilder &b, Location loc, SmallVector<Value> rows) {
  int64_t count = rows.size(), lanes = cast<VectorType>(rows[0].getType()).getNumElements();
  SmallVector<Value> columns(count);
  if (llvm::isPowerOf2_64(count)) {
    // Transpose by perfect shuffles, each of which interleaves two halves of the rows: each step
    // rotates the bits of each element's index by one.
    for (int64_t step = 1; step < count; step *= 2) {
      for (int64_t i = 0; i < count; ++i) {
        auto places = llvm::map_to_vector(
            llvm::seq(lanes), [&](int64_t lane) { return i % 2 * (lanes / 2) + lane / 2 + lane % 2 * lanes; });
        columns[i] = vector::ShuffleOp::create(b, loc, rows[i / 2], rows[i / 2 + count / 2], places);
      }
      std::swap(rows, columns);
    }
    return rows;
  }
  for (int64_t i = 0; i < count; ++i) {
    // Transpose one row after another: insert the elements of each row between those of the
    // previous rows.
    for (int64_t row = 0; row < count; ++row) {
      auto places = llvm::map_to_vector(llvm::seq(lanes), [&](int64_t lane) {
        int64_t element = i * lanes + lane;
        return element % count == row ? (row > 0 ? lanes : 0) + element / count : lane;
      });
      columns[i] = vector::ShuffleOp::create(b, loc, row > 0 ? columns[i] : rows[0], rows[row], places);
    }
  }
  return columns;
}

using Values = llvm::function_ref<SmallVector<Value>(ArrayRef<Index>)>;
using Store = llvm::function_ref<void(unsigned, ArrayRef<Index>, Value)>;

/// Transposes one tile: loads a vector at index `lane` for each of `lines` indices of the results'
/// innermost dim, starting at `first`. `full` is true if `lines` is the full count of a tile.
static void transposedTile(ElementEmitter &e, const RegisterTranspose &transpose, const DimExpr &width,
                           SmallVector<Index> at, Index lane, Index first, Index lines, bool full, Values values,
                           Store store) {
  auto maskOf = [&](Index count) {
    return vector::CreateMaskOp::create(e.b, e.loc, VectorType::get({e.lanes}, e.b.getI1Type()), count.base);
  };
  at[transpose.lane] = lane;
  SmallVector<SmallVector<Value>> rows; // loaded vectors of each result
  for (int64_t i = 0; i < transpose.count; ++i) {
    Index place = e.constant(i); // past the end, the last index is loaded again
    at[transpose.line] = e.add(first, full ? place : e.min(place, e.sub(lines, e.constant(1))));
    SmallVector<Value> elements = values(at);
    rows.resize(elements.size());
    for (auto [row, element] : llvm::zip(rows, elements))
      row.push_back(e.broadcast(element));
  }
  bool masked = e.isMasked();
  // number of valid indices along dim `lane`
  Index there = masked ? e.sub(e.expression(width), {lane.base}) : e.constant(e.lanes);
  for (auto [result, row] : llvm::enumerate(rows)) {
    for (auto [i, column] : llvm::enumerate(columnsOf(e.b, e.loc, row))) {
      Index number = e.constant(i);
      if (transpose.whole) { // rows of adjacent lanes are contiguous: store them as one
        Index begin = e.constant(i * e.lanes);
        at[transpose.lane] = {lane.base};
        at[transpose.line] = {begin.base, 1};
        if (masked)
          e.setMask(maskOf(e.sub(e.mul(there, e.constant(transpose.count)), begin)));
      } else {
        at[transpose.lane] = e.add({lane.base}, number);
        at[transpose.line] = {first.base, 1};
        if (masked)
          e.setMask(maskOf(e.select(e.compare(arith::CmpIPredicate::slt, number, there), lines, e.constant(0))));
        else if (!full)
          e.setMask(maskOf(lines));
      }
      store(result, at, column);
    }
  }
  e.setMask({});
}

void transposedLoop(ElementEmitter &e, const RegisterTranspose &transpose, ArrayRef<DimExpr> extents,
                    SmallVector<Index> at, Index tile, Values values, Store store) {
  const DimExpr &width = extents[transpose.lane], &length = extents[transpose.line];
  Index count = e.constant(transpose.count), first = e.mul(tile, count);
  auto loop = [&](Index lines, bool full) {
    vectorLoop(e, width,
               [&](Index lane) { transposedTile(e, transpose, width, at, lane, first, lines, full, values, store); });
  };
  if (length.mod(transpose.count).is(0))
    return loop(count, true);
  // Only the last tile of the transpose may be partial. It has separate code, because masked stores
  // take several times as long as full ones.
  Index rest = e.sub(e.expression(length), first);
  e.branch(e.compare(arith::CmpIPredicate::sge, rest, count), [&] { loop(count, true); }, [&] { loop(rest, false); });
}

} // namespace hewn::codegen
