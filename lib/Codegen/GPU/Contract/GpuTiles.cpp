// SPDX-License-Identifier: Apache-2.0
//
// GPU contractions with FMA instructions. A block computes a tile of the result. Its threads stage
// a slice of both operands in shared memory, whatever the operands' layout. Zero padding, casts and
// other prologue ops are evaluated when an element is staged. Each thread then accumulates its rows
// and columns of the tile.
#include "lib/Codegen/GPU/Contract/GpuTiles.h"
#include "lib/Codegen/BlockedSum.h"
#include "lib/Codegen/GPU/Contract/GpuContractEngine.h"
#include "lib/Codegen/GPU/Contract/GpuContraction.h"
#include "lib/Schedule/GpuThreadSchedule.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

//===----------------------------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------------------------===//

/// Returns true if only elementwise ops at the same index lie between the contraction's result and
/// the kernel's results.
static bool followedByElements(KernelContext &k, Value sums) {
  SmallVector<Value> work = {sums};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (graph::getDims(value) != graph::getDims(sums))
      return false;
    for (Operation *user : value.getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        continue;
      if (!isa<graph::ElementwiseOpInterface>(user))
        return false;
      llvm::append_range(work, user->getResults());
    }
  }
  return llvm::all_of(k.results, [&](Value result) { return seen.contains(result); });
}

/// If `dim` is in `list`, makes `dim` the last (innermost) one and returns true.
static bool countLast(SmallVectorImpl<unsigned> &list, std::optional<unsigned> dim) {
  auto *at = dim ? llvm::find(list, *dim) : list.end();
  if (at == list.end())
    return false;
  std::rotate(at, at + 1, list.end());
  return true;
}

/// Orders the row dims as the left operand stores them. If the operand is dense, rows then have a
/// uniform stride.
static void countAsStored(GpuTiles &tiles) {
  SmallVector<int64_t> order = memoryOrder(graph::ContractOpInterface(tiles.op)->getOperand(0));
  // Pairs of a row dim's position in the memory order and the row dim. Row dims that index several
  // dims of the operand, as in windows, have no pair.
  SmallVector<std::pair<int64_t, unsigned>> places;
  for (unsigned d : tiles.rows)
    if (std::optional<unsigned> dim = graph::resultWith(tiles.maps[0], d))
      if (isa<AffineDimExpr>(tiles.maps[0].getResult(*dim)))
        places.push_back({llvm::find(order, int64_t(*dim)) - order.begin(), d});
  if (places.size() != tiles.rows.size())
    return;
  llvm::sort(places);
  for (auto [row, place] : llvm::zip(tiles.rows, places))
    row = place.second;
}

OrReason<GpuTiles> gpuTiles(KernelContext &k) {
  graph::ContractOpInterface op = k.analysis->contraction;
  if (!op)
    return Eligibility::no("its kernel has ops other than one contraction, elementwise ops and indexing ops");
  GpuTiles tiles{graph::productDims(op), op};
  Value sums = op->getResult(0);
  auto spread = k.results[0].getDefiningOp<graph::SplitKOpInterface>();
  if (k.results.size() == 1 && spread && spread->getOperand(0) == sums)
    tiles.parts = spread.getNumSplits();
  else if (!followedByElements(k, sums))
    return Eligibility::no("an op of its epilogue is not elementwise or has other dims than the result");
  std::optional<unsigned> left = tiles.innermost(op->getOperand(0), tiles.maps[0]);
  std::optional<unsigned> right = tiles.innermost(op->getOperand(1), tiles.maps[1]);
  std::optional<unsigned> result = tiles.innermost(tiles.parts > 1 ? sums : k.results[0], tiles.maps[2]);
  countLast(tiles.columns, result);
  tiles.resultAlongRows = countLast(tiles.rows, result);
  // If both operands are contiguous along K, but along different reduction dims, the left operand
  // determines the innermost dim, because its dim is moved last.
  countLast(tiles.columns, right);
  tiles.rightAlongSum = countLast(tiles.summed, right);
  countLast(tiles.rows, left);
  tiles.leftAlongSum = countLast(tiles.summed, left);
  if (tiles.leftAlongSum && !tiles.resultAlongRows)
    countAsStored(tiles);
  return tiles;
}

//===----------------------------------------------------------------------------------------===//
// Code generation
//===----------------------------------------------------------------------------------------===//

namespace {

/// Number of threads along each side of a tile, and number of elements of a slice along K.
constexpr int64_t kSide = plan::kTileSide, kDepth = 16;

class GpuTileEmitter : GpuContraction {
public:
  GpuTileEmitter(KernelContext &k, OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule)
      : GpuContraction(k, b, tiles, kSide * kSide), rowsEach(schedule.getM() / kSide),
        columnsEach(schedule.getN() / kSide) {}

  void run() {
    constexpr int64_t others = 48;
    gpu.wantRegisters(rowsEach * columnsEach + 2 * (rowsEach + columnsEach) + others);
    sumType = zeroSum().getType();
    leftShared = gpu.shared(kDepth * (rowsEach * kSide + 1), sumType);
    rightShared = gpu.shared(kDepth * (columnsEach * kSide + 1), sumType);
    Index thread{gpu.thread}, side = e.constant(kSide);
    low = e.mod(thread, side);
    high = e.floorDiv(thread, side);

    Dims counts = {batch, rows.ceilDiv(rowsEach * kSide), columns.ceilDiv(columnsEach * kSide)};
    gpu.overBlocks(graph::numElements(counts), [&](Index item) {
      SmallVector<Index> at = e.unravel(item, counts);
      set(tiles.batch, at[0]);
      Index firstRow = e.mul(at[1], e.constant(rowsEach * kSide)),
            firstColumn = e.mul(at[2], e.constant(columnsEach * kSide));
      SmallVector<Value> sums = multiply(firstRow, firstColumn);
      e.forget();
      for (int64_t i = 0; i < rowsEach; ++i)
        for (int64_t j = 0; j < columnsEach; ++j)
          store(sums[i * columnsEach + j], e.add(firstRow, rowOf(i)), e.add(firstColumn, columnOf(j)));
    });
  }

private:
  /// Number of rows, and number of columns, of the tile that a thread computes.
  const int64_t rowsEach, columnsEach;
  Type sumType;
  Value leftShared, rightShared;
  /// Coordinates of the thread in the tile. Consecutive threads have consecutive values of `low`.
  Index low, high;

  Value zeroSum() { return e.constantElement(graph::getElementType(op->getResult(0)), 0); }

  /// Stages a slice of an operand in shared memory as [K][row or column]. Elements out of range
  /// become zero.
  void bring(unsigned operand, ArrayRef<unsigned> list, Value memory, int64_t count, bool alongSum, Index first,
             const DimExpr &extent, Index firstSummed) {
    int64_t width = count * kSide;
    for (int64_t step = 0; step < width * kDepth; step += kSide * kSide) {
      // Let consecutive threads read contiguous elements, so that loads are coalesced.
      Index linear = e.add({gpu.thread}, e.constant(step));
      Index inSum = alongSum ? low : e.floorDiv(linear, e.constant(width));
      Index inSide = alongSum ? e.floorDiv(linear, e.constant(kDepth)) : e.mod(linear, e.constant(width));
      Index position = e.add(first, inSide), summed = e.add(firstSummed, inSum);
      Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::slt, position, e.expression(extent)),
                                  e.compare(arith::CmpIPredicate::slt, summed, e.expression(depth)));
      e.forget();
      auto branch = scf::IfOp::create(b, loc(), sumType, inside, /*withElseRegion=*/true);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        set(list, position);
        set(tiles.summed, summed);
        scf::YieldOp::create(b, loc(), readOperand(e, operand));
        b.setInsertionPointToStart(branch.elseBlock());
        scf::YieldOp::create(b, loc(), zeroSum());
        e.forget();
      }
      Index to = e.add(e.mul(inSum, e.constant(width + 1)), inSide);
      gpu.storeShared(branch.getResult(0), memory, to.base);
    }
  }

  Index rowOf(int64_t i) { return e.add(tiles.resultAlongRows ? low : high, e.constant(i * kSide)); }
  Index columnOf(int64_t j) { return e.add(tiles.resultAlongRows ? high : low, e.constant(j * kSide)); }

  SmallVector<Value> multiply(Index firstRow, Index firstColumn) {
    SmallVector<Value> start(rowsEach * columnsEach, zeroSum());
    auto merge = [&](ValueRange x, ValueRange y) {
      return llvm::map_to_vector(llvm::zip(x, y),
                                 [&](auto pair) { return e.addElements(std::get<0>(pair), std::get<1>(pair)); });
    };
    const BlockedSum sum(e, start, merge);
    return sum.range(
        e.constant(0), e.expression(depth), kDepth, depth.ceilDiv(kDepth).constant(), kDepth, start,
        [&](Index from, Index to, ValueRange before) { return overSlices(firstRow, firstColumn, from, to, before); });
  }

  /// Emits the loop over the K-slices that begin in [from, to).
  SmallVector<Value> overSlices(Index firstRow, Index firstColumn, Index from, Index to, ValueRange start) {
    auto loop = scf::ForOp::create(b, loc(), from.base, to.base, e.constant(kDepth).base, start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    e.forget();
    Index summed{loop.getInductionVar()};
    bring(0, tiles.rows, leftShared, rowsEach, tiles.leftAlongSum, firstRow, rows, summed);
    bring(1, tiles.columns, rightShared, columnsEach, tiles.rightAlongSum, firstColumn, columns, summed);
    gpu.barrier();
    SmallVector<Value> sums(loop.getRegionIterArgs());
    for (int64_t s = 0; s < kDepth; ++s) {
      auto operands = [&](Value memory, int64_t count, llvm::function_ref<Index(int64_t)> at) {
        SmallVector<Value> list;
        for (int64_t i = 0; i < count; ++i)
          list.push_back(gpu.loadShared(sumType, memory, e.add(e.constant(s * (count * kSide + 1)), at(i)).base));
        return list;
      };
      SmallVector<Value> left = operands(leftShared, rowsEach, [&](int64_t i) { return rowOf(i); });
      SmallVector<Value> right = operands(rightShared, columnsEach, [&](int64_t j) { return columnOf(j); });
      for (int64_t i = 0; i < rowsEach; ++i)
        for (int64_t j = 0; j < columnsEach; ++j) {
          Value &sum = sums[i * columnsEach + j];
          sum = e.multiplyAdd(sum, left[i], right[j]);
        }
    }
    gpu.barrier(); // all threads have read this slice before the next one overwrites it
    scf::YieldOp::create(b, loc(), sums);
    return llvm::map_to_vector(loop.getResults(), [](OpResult r) { return Value(r); });
  }
};

} // namespace

LogicalResult emitGpuTiles(KernelContext &k, OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule) {
  for (int64_t side : {schedule.getM(), schedule.getN()})
    if (side % kSide != 0 || side > plan::kMaxSumsPerThreadSide * kSide)
      return refuse(k, schedule) << ", but m and n must be multiples of " << kSide << " up to "
                                 << plan::kMaxSumsPerThreadSide * kSide;
  GpuTileEmitter(k, b, tiles, schedule).run();
  return success();
}

} // namespace hewn::codegen
