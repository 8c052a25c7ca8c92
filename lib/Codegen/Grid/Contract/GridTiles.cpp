// SPDX-License-Identifier: Apache-2.0
//
// Contractions on a grid: a block makes a tile of rows by columns. Its threads bring a slice of both operands into shared
// memory, wherever and however those lie (borders, casts and other prologues are evaluated on the way), then each
// multiplies for its own rows and columns of the tile.
#include "lib/Codegen/Grid/Contract/GridTiles.h"
#include "lib/Codegen/Grid/Contract/GridContractEngine.h"
#include "lib/Codegen/Grid/Contract/GridContraction.h"
#include "lib/Schedule/GridSchedule.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

//===------------------------------------------------------------------------------------------------------------------===//
// What the engine takes
//===------------------------------------------------------------------------------------------------------------------===//

/// Whether all that is made of the contraction's result is made of its elements at the same index.
static bool followedByElements(KernelFunction &k, Value sums) {
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

/// Makes `dim`, if it is in `list`, the one that runs fastest; whether it is.
static bool countLast(SmallVectorImpl<unsigned> &list, std::optional<unsigned> dim) {
  auto *at = dim ? llvm::find(list, *dim) : list.end();
  if (at == list.end())
    return false;
  std::rotate(at, at + 1, list.end());
  return true;
}

/// Counts the rows in the order in which the left operand has them in memory, so that they are evenly spaced where it has nothing in between.
static void countAsStored(GridTiles &tiles) {
  SmallVector<int64_t> order = memoryOrder(graph::ContractOpInterface(tiles.op)->getOperand(0));
  // Of a row that is a dim of the operand its place in that order, of another one none.
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

Found<GridTiles> gridTiles(KernelFunction &k) {
  graph::ContractOpInterface op = graph::onlyContraction(k.kernel.getBody().front());
  if (!op)
    return Verdict::no("its kernel is not of one contraction, elementwise ops and moves");
  GridTiles tiles{graph::productDims(op), op};
  Value sums = op->getResult(0);
  auto spread = k.results[0].getDefiningOp<graph::SplitKOpInterface>();
  if (k.results.size() == 1 && spread && spread->getOperand(0) == sums)
    tiles.parts = spread.getNumSplits();
  else if (!followedByElements(k, sums))
    return Verdict::no("what follows it is not elementwise, one for one");
  std::optional<unsigned> left = tiles.innermost(op->getOperand(0), tiles.maps[0]);
  std::optional<unsigned> right = tiles.innermost(op->getOperand(1), tiles.maps[1]);
  std::optional<unsigned> result = tiles.innermost(tiles.parts > 1 ? sums : k.results[0], tiles.maps[2]);
  countLast(tiles.columns, result);
  tiles.resultAlongRows = countLast(tiles.rows, result);
  // Where both operands lie along sums, but not the same one, the right one waits.
  countLast(tiles.columns, right);
  tiles.rightAlongSum = countLast(tiles.summed, right);
  countLast(tiles.rows, left);
  tiles.leftAlongSum = countLast(tiles.summed, left);
  if (tiles.leftAlongSum && !tiles.resultAlongRows)
    countAsStored(tiles);
  return tiles;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Emit
//===------------------------------------------------------------------------------------------------------------------===//

namespace {

/// Threads along each side of a tile, and summed elements of a slice.
constexpr int64_t kSide = plan::kTileSide, kDepth = 16;

class GridTileEmitter : GridContraction {
public:
  GridTileEmitter(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule)
      : GridContraction(k, b, tiles, kSide * kSide), rowsEach(schedule.getM() / kSide),
        columnsEach(schedule.getN() / kSide) {}

  void run() {
    constexpr int64_t others = 48;
    grid.wantRegisters(rowsEach * columnsEach + 2 * (rowsEach + columnsEach) + others);
    sumType = zeroSum().getType();
    leftShared = grid.shared(kDepth * (rowsEach * kSide + 1), sumType);
    rightShared = grid.shared(kDepth * (columnsEach * kSide + 1), sumType);
    Index thread{grid.thread}, side = e.constant(kSide);
    low = e.mod(thread, side);
    high = e.floorDiv(thread, side);

    Dims counts = {batch, rows.ceilDiv(rowsEach * kSide), columns.ceilDiv(columnsEach * kSide)};
    grid.overBlocks(graph::numElements(counts), [&](Index item) {
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
  /// Rows and columns of a tile that are one thread's.
  const int64_t rowsEach, columnsEach;
  Type sumType;
  Value leftShared, rightShared;
  /// The thread's number in the tile's two directions: neighbours differ in `low`.
  Index low, high;

  Value zeroSum() { return e.constantElement(graph::getElementType(op->getResult(0)), 0); }

  /// A slice of an operand into shared memory at [summed][side]; zero beyond its ends.
  void bring(unsigned operand, ArrayRef<unsigned> list, Value memory, int64_t count, bool alongSum, Index first,
             const DimExpr &extent, Index firstSummed) {
    int64_t width = count * kSide;
    for (int64_t step = 0; step < width * kDepth; step += kSide * kSide) {
      // Neighbouring threads read what lies side by side.
      Index linear = e.add({grid.thread}, e.constant(step));
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
      grid.storeShared(branch.getResult(0), memory, to.base);
    }
  }

  Index rowOf(int64_t i) { return e.add(tiles.resultAlongRows ? low : high, e.constant(i * kSide)); }
  Index columnOf(int64_t j) { return e.add(tiles.resultAlongRows ? high : low, e.constant(j * kSide)); }

  SmallVector<Value> multiply(Index firstRow, Index firstColumn) {
    SmallVector<Value> start(rowsEach * columnsEach, zeroSum());
    auto loop =
        scf::ForOp::create(b, loc(), e.constant(0).base, e.expression(depth).base, e.constant(kDepth).base, start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    e.forget();
    Index summed{loop.getInductionVar()};
    bring(0, tiles.rows, leftShared, rowsEach, tiles.leftAlongSum, firstRow, rows, summed);
    bring(1, tiles.columns, rightShared, columnsEach, tiles.rightAlongSum, firstColumn, columns, summed);
    grid.barrier();
    SmallVector<Value> sums(loop.getRegionIterArgs());
    for (int64_t s = 0; s < kDepth; ++s) {
      auto operands = [&](Value memory, int64_t count, llvm::function_ref<Index(int64_t)> at) {
        SmallVector<Value> list;
        for (int64_t i = 0; i < count; ++i)
          list.push_back(grid.loadShared(sumType, memory, e.add(e.constant(s * (count * kSide + 1)), at(i)).base));
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
    grid.barrier(); // before the next slice overwrites this one
    scf::YieldOp::create(b, loc(), sums);
    return llvm::map_to_vector(loop.getResults(), [](OpResult r) { return Value(r); });
  }
};

} // namespace

LogicalResult emitGridTiles(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule) {
  for (int64_t side : {schedule.getM(), schedule.getN()})
    if (side % kSide != 0 || side > plan::kMaxSumsPerThreadSide * kSide)
      return refuse(k, schedule) << ", of which m and n must be multiples of " << kSide << " up to "
                                 << plan::kMaxSumsPerThreadSide * kSide;
  GridTileEmitter(k, b, tiles, schedule).run();
  return success();
}

} // namespace hewn::codegen
