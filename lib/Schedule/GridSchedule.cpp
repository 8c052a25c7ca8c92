// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/GridSchedule.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;

namespace hewn::plan {

//===------------------------------------------------------------------------------------------------------------------===//
// Tiles
//===------------------------------------------------------------------------------------------------------------------===//

/// More slices under way than these hide nothing more.
constexpr int64_t kMaxBuffers = 4;
/// What the gates of such a ring take of shared memory.
constexpr int64_t kGateBytes = 3 * 8 * kMaxBuffers;
/// Rows of one instruction's result, and columns of the two that share a load.
constexpr int64_t kFragmentRows = 16, kPairColumns = 16;

/// Sums of a thread, beside which there are registers enough for everything else: of a group it is but little, a warp has what it
/// reads in registers too.
static int64_t mostSums(GridAttr grid, const GridTile &tile) {
  auto registers = int64_t(llvm::PowerOf2Ceil(uint64_t(grid.getLimits().getMaxThreadRegisters())));
  return tile.byGroups ? registers / 2 : registers / 4;
}

static int64_t sumsOfThread(const GridTile &tile, int64_t threads, int64_t terms) {
  return tile.rows * tile.columns / threads * (terms > 1 ? 2 : 1);
}

/// With a group that has the operands fetched; as it was where not even two slices fit.
static GridTile fetchedTile(GridTile tile, graph::ContractOpInterface op) {
  GridTile fetched = tile;
  fetched.fetches = true;
  fetched.makesFactors = productsOf(op) > 1;
  fetched.buffers = 1;
  int64_t fit = (gridOf(op).getSharedBytes() - kGateBytes) / fetched.sharedBytes();
  fetched.buffers = std::min(fit, kMaxBuffers);
  return fit >= 2 ? fetched : tile;
}

/// The tile that `wanted` becomes, as chooseMatrixContraction says.
static GridTile gridTile(GridTileAttr wanted, graph::ContractOpInterface op, bool fetchable) {
  constexpr int64_t step = 32, mostRows = 128, mostColumns = 128, mostOfGroup = 256;
  auto upTo = [&](int64_t size, int64_t most) {
    return int64_t(llvm::divideCeil(std::clamp<int64_t>(size, 1, most), step)) * step;
  };
  GridTile tile{upTo(wanted.getM(), mostRows), 1, 1, 1, 1};
  tile.byGroups = wanted.getGroups() && multipliesByGroups(op) && tile.rows % kGroupRows == 0;
  tile.columns = upTo(wanted.getN(), tile.byGroups ? mostOfGroup : mostColumns);
  // One slice is multiplied while another one comes.
  int64_t fit = gridOf(op).getSharedBytes() / tile.sharedBytes(), most = wanted.getBuffers();
  tile.buffers = std::clamp<int64_t>(most > 0 ? std::min(most, fit) : fit, 2, kMaxBuffers);
  if (tile.byGroups) {
    tile.warpsHigh = tile.rows / kGroupRows * kGroupWarps;
    if (fetchable)
      tile = fetchedTile(tile, op);
    if (tile.fetches || !mustBeFetched(op))
      return tile;
    // Each warp on its own then, with no more columns than it has registers for.
    auto alone =
        GridTileAttr::get(op->getContext(), tile.rows, std::min(tile.columns, productsOf(op) > 1 ? 64 : mostColumns),
                          wanted.getSplits(), most, /*groups=*/false, /*cycles=*/0);
    return gridTile(alone, op, fetchable);
  }
  int64_t warps = tile.rows * tile.columns >= 64 * 128 ? 8 : 4;
  // The squarest part of a tile for each warp, which reads least for its work.
  int64_t least = 0;
  for (int64_t high = 1; high <= warps; high *= 2) {
    int64_t wide = warps / high;
    if (tile.rows % (high * kFragmentRows) != 0 || tile.columns % (wide * kPairColumns) != 0)
      continue;
    int64_t sides = tile.rows / high + tile.columns / wide;
    if (least == 0 || sides < least) {
      least = sides;
      tile.warpsHigh = high;
      tile.warpsWide = wide;
    }
  }
  return tile;
}

static int64_t sharedBlocks(const GridTile &tile, GridAttr grid) {
  int64_t shared = grid.getProcessorSharedBytes() > 0 ? grid.getProcessorSharedBytes() : grid.getSharedBytes();
  return std::max<int64_t>(1, shared / (tile.sharedBytes() + grid.getLimits().getReservedBlockBytes()));
}

GridTile tileOf(GridContractAttr schedule, graph::ContractOpInterface op) {
  return {
      schedule.getM(),       schedule.getN(),      schedule.getWarpsM(),  schedule.getWarpsN(),
      schedule.getBuffers(), schedule.getGroups(), schedule.getFetches(), schedule.getFetches() && productsOf(op) > 1};
}

int64_t threadsOf(const GridTile &tile, GridAttr grid) {
  return (tile.warps() + (tile.fetches ? kGroupWarps : 0)) * grid.getWarpSize();
}

GridContractAttr chooseMatrixContraction(GridTileAttr wanted, graph::ContractOpInterface op, bool fetchable,
                                         int64_t splits) {
  GridAttr grid = gridOf(op);
  GridTile tile = gridTile(wanted, op, fetchable);
  // Where tiles are fetched, the blocks that all processors have room for go from one to the next.
  int64_t blocks = tile.fetches ? std::min(sharedBlocks(tile, grid) * grid.getProcessors(), kMaxGridCount) : 0;
  return GridContractAttr::get(op->getContext(), GridForm::Matrix, tile.rows, tile.columns, splits, tile.buffers,
                               tile.warpsHigh, tile.warpsWide, tile.byGroups, tile.fetches, blocks, wanted.getCycles());
}

namespace {

/// What the model looks at; unknown extents are of some size.
struct Sizes {
  int64_t batch, rows, columns, slices;
  /// Products of a pair of words.
  int64_t terms;
  /// Of the operands and the result, once.
  double bytes;
};

/// Cycles that it takes to make factors of a place's part of a slice: nine instructions for each word.
double factorCycles(GridCostsAttr costs) { return 9.0 * (kSliceBytes / 4) / double(costs.getInstructionsPerCycle()); }

/// Products of words that a block makes of a slice, and blocks of the processor that has most of them.
double wordsOfSlice(const Sizes &sizes, const GridTile &tile) {
  return double(tile.rows * tile.columns * (kSliceBytes / 4) * sizes.terms);
}
int64_t busiestBlocks(GridAttr grid, const Sizes &sizes, const GridTile &tile, int64_t parts) {
  int64_t blocks = sizes.batch * parts * int64_t(llvm::divideCeil(sizes.rows, tile.rows)) *
                   int64_t(llvm::divideCeil(sizes.columns, tile.columns));
  return int64_t(llvm::divideCeil(blocks, grid.getProcessors()));
}

/// Cycles that a grid takes for the product with a tile and so many parts of the sum.
double cycles(GridAttr grid, const Sizes &sizes, const GridTile &tile, int64_t parts) {
  GridCostsAttr costs = grid.getCosts();
  GridLimitsAttr limits = grid.getLimits();
  auto l2BytesPerCycle = double(costs.getL2BytesPerCycle()), block = double(costs.getBlockOverheadCycles());
  constexpr int64_t others = 64; // registers of a thread beside its sums
  int64_t each = sumsOfThread(tile, tile.warps() * grid.getWarpSize(), sizes.terms) + others;
  int64_t threads = threadsOf(tile, grid);
  int64_t together = std::max<int64_t>(
      1, std::min({sharedBlocks(tile, grid), limits.getRegisters() / (each * threads), limits.getThreads() / threads}));
  int64_t busiest = busiestBlocks(grid, sizes, tile, parts);
  int64_t slices = int64_t(llvm::divideCeil(sizes.slices, parts));
  double multiply = wordsOfSlice(sizes, tile) /
                    double(tile.byGroups ? costs.getWarpgroupProductsPerCycle() : costs.getMmaProductsPerCycle());
  // Each warp reads its part of both operands, and makes two factors of each word that needs them: what can be hidden behind
  // products only half.
  // Warps of a group read the columns once.
  double parted = double(tile.byGroups ? tile.rows + tile.rows / kGroupRows * tile.columns
                                       : tile.warps() * (tile.warpRows() + tile.warpColumns()));
  double factors = sizes.terms > 1 ? parted * factorCycles(costs) : 0;
  // Where groups take factors, they read the columns for each product, which were fetched, read once more, and written twice.
  if (tile.makesFactors) {
    parted = double(2 * tile.rows + (sizes.terms * tile.rows / kGroupRows + 4) * tile.columns);
    factors = double(tile.rows + tile.columns) * factorCycles(costs);
  }
  double read = parted * kSliceBytes / double(costs.getSharedBytesPerCycle());
  double bring = double((tile.rows + tile.columns) * kSliceBytes) / l2BytesPerCycle;
  // Fetched slices are as long as several of these.
  double ofSlice = double(kSliceBytes) / double(tile.sliceBytes());
  double latency = ofSlice * std::max(double(costs.getSliceOverheadCycles()) +
                                          double(costs.getTermOverheadCycles()) * double(sizes.terms),
                                      double(costs.getFetchLatencyCycles()) / double(tile.buffers - 1));
  double write = double(tile.rows * tile.columns * 4) / l2BytesPerCycle;
  // Where operands are fetched, the next tile's come while one is finished.
  double time = tile.fetches ? block : 0;
  for (int64_t left = busiest; left > 0; left -= together) {
    double here = double(std::min(left, together));
    time += double(slices) * std::max({here * (multiply + factors / 2), here * bring, here * read, latency}) +
            (tile.fetches ? 0 : block) + here * write;
  }
  time = std::max(time, sizes.bytes / double(grid.getCosts().getMemoryBytesPerCycle()));
  if (parts > 1) {
    double result = double(sizes.batch * sizes.rows * sizes.columns * 4);
    time += double(costs.getLaunchCycles()) + block +
            result * double(parts + 1) / (l2BytesPerCycle * double(grid.getProcessors()));
  }
  return time;
}

/// What it costs that a kernel by groups, which are made of all threads of a block, can't be a part of one with others: what two
/// launches, its own and that of what follows, take more than two meetings of blocks, but for its work, which is taken to be twice as
/// long in a part (what it is lib/Transforms/Plan/Join/JointCost.cpp says, when all parts are known). More work than one such gain
/// is no part.
double aloneCycles(GridAttr grid, const Sizes &sizes, const GridTile &tile, int64_t parts) {
  if (!tile.byGroups || grid.getCosts().getGridBarrierCycles() == 0)
    return 0;
  double slices = double(llvm::divideCeil(sizes.slices, parts) * busiestBlocks(grid, sizes, tile, parts));
  double multiply = slices * wordsOfSlice(sizes, tile) / double(grid.getCosts().getMmaProductsPerCycle());
  double work = std::max(multiply, sizes.bytes / double(grid.getCosts().getMemoryBytesPerCycle()));
  double more = double(grid.getCosts().getLaunchCycles() - grid.getCosts().getGridBarrierCycles());
  return work < more ? 2 * more - work : 0;
}

} // namespace

GridTileAttr chooseTile(graph::ContractOpInterface op, bool maySplit) {
  constexpr int64_t unknown = 1024, leastSlices = 4;
  GridAttr grid = gridOf(op);
  graph::ProductDims product = graph::productDims(op);
  auto count = [&](ArrayRef<unsigned> list) { return product.count(list).constant().value_or(unknown); };
  Type staged = stagedType(op);
  int64_t bytes = staged.getIntOrFloatBitWidth() / 8;
  Sizes sizes{count(product.batch), count(product.rows), count(product.columns), 1, 1, 0};
  int64_t depth = count(product.summed);
  sizes.slices = int64_t(llvm::divideCeil(depth * bytes, kSliceBytes));
  sizes.terms = productsOf(op);
  bool fetchable = looksFetchable(op);
  SmallVector<bool, 2> byGroups = {true};
  if (multipliesByGroups(op))
    byGroups = mustBeFetched(op) && !fetchable ? SmallVector<bool, 2>{false} : SmallVector<bool, 2>{true, false};
  sizes.bytes = double(sizes.batch) * double(bytes) *
                (double(sizes.rows * depth) + double(depth * sizes.columns) + double(sizes.rows * sizes.columns));

  constexpr std::pair<int64_t, int64_t> tiles[] = {{128, 256}, {128, 128}, {64, 128}, {128, 64},
                                                   {64, 64},   {32, 64},   {64, 32},  {32, 32}};
  constexpr int64_t splits[] = {1, 2, 3, 4, 6, 8, 12, 16}, rings[] = {0, 3, 2};
  GridTileAttr best;
  double least = 0;
  constexpr double longest = 1e18;
  for (auto [height, width] : tiles)
    for (bool groups : byGroups)
      for (int64_t parts : splits) {
        if (parts > 1 && (!maySplit || sizes.slices / parts < leastSlices))
          break;
        for (int64_t buffers : rings) {
          auto wanted = GridTileAttr::get(op->getContext(), height, width, parts, buffers, groups, /*cycles=*/0);
          GridTile tile = gridTile(wanted, op, fetchable);
          if (tile.sharedBytes() > grid.getSharedBytes() ||
              sumsOfThread(tile, tile.warps() * grid.getWarpSize(), sizes.terms) > mostSums(grid, tile))
            break;
          double time = cycles(grid, sizes, tile, parts), cost = time + aloneCycles(grid, sizes, tile, parts);
          if (!best || cost < least) {
            least = cost;
            best = GridTileAttr::get(op->getContext(), height, width, parts, buffers, groups,
                                     int64_t(std::min(time, longest)));
          }
        }
      }
  return best;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Without matrix instructions
//===------------------------------------------------------------------------------------------------------------------===//

/// Places of the larger operand that a block takes at a time where it lies along them: of a line of memory at least a sector, and so few
/// that about all processors have a block.
static int64_t placesAcross(GridAttr grid, std::optional<int64_t> many, std::optional<int64_t> batch) {
  int64_t least = grid.getCosts().getSectorBytes() / 4, places = grid.getWarpSize();
  int64_t most = grid.getProcessors() + grid.getProcessors() / 4; // blocks: some processors may have two
  while (many && batch && places > least && 2 * *batch * int64_t(llvm::divideCeil(*many, places)) <= most)
    places /= 2;
  return places;
}

GridContractAttr chooseThreadContraction(graph::ContractOpInterface op, bool leftAlongSum, bool rightAlongSum) {
  // Small sides leave most of a tile's threads without work, and short sums are over before operands are shared.
  constexpr int64_t leastOfFew = 16, leastSumOfFew = 64, leastOfTile = 8, mostEach = 4;
  GridAttr grid = gridOf(op);
  graph::ProductDims product = graph::productDims(op);
  auto count = [&](ArrayRef<unsigned> list) { return product.count(list).constant(); };
  std::optional<int64_t> rows = count(product.rows), columns = count(product.columns), sum = count(product.summed);
  auto isFew = [](std::optional<int64_t> count) { return count && *count >= 1 && *count <= kMaxFew; };
  auto schedule = [&](GridForm form, int64_t m, int64_t n) {
    return GridContractAttr::get(op->getContext(), form, m, n, /*splits=*/1, 0, 0, 0, false, false, 0, 0);
  };
  bool rowsAreFew = isFew(rows);
  std::optional<int64_t> many = rowsAreFew ? columns : rows;
  if (rowsAreFew != isFew(columns) && many.value_or(leastOfFew) >= leastOfFew &&
      sum.value_or(leastSumOfFew) >= leastSumOfFew) {
    bool alongSum = rowsAreFew ? rightAlongSum : leftAlongSum;
    int64_t places = alongSum ? kFewThreads / grid.getWarpSize() : placesAcross(grid, many, count(product.batch));
    return rowsAreFew ? schedule(GridForm::FewRows, *rows, places) : schedule(GridForm::FewColumns, places, *columns);
  }
  for (std::optional<int64_t> side : {rows, columns, sum})
    if (side.value_or(leastOfTile) < leastOfTile)
      return {};
  auto side = [&](std::optional<int64_t> extent) {
    auto each = llvm::PowerOf2Ceil(llvm::divideCeil(extent.value_or(mostEach * kTileSide), kTileSide));
    return std::min<int64_t>(mostEach, int64_t(each)) * kTileSide;
  };
  return schedule(GridForm::Tiles, side(rows), side(columns));
}

} // namespace hewn::plan
