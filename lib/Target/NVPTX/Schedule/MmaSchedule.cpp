// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Schedule/MmaSchedule.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;

namespace hewn::plan {

//===------------------------------------------------------------------------------------------------------------------===//
// Tiles
//===------------------------------------------------------------------------------------------------------------------===//

/// Maximum number of pipeline stages of a GEMM kernel: more stages do not hide more latency.
constexpr int64_t kMaxBuffers = 4;
/// Shared memory of the mbarriers of a pipeline, in bytes.
constexpr int64_t kGateBytes = 3 * 8 * kMaxBuffers;
/// Number of rows of a warp MMA, and number of columns of two warp MMAs: one `ldmatrix` loads the
/// right operand of both.
constexpr int64_t kFragmentRows = 16, kPairColumns = 16;

/// Returns the maximum number of accumulators per thread of a GEMM kernel. The remaining registers
/// must suffice for all other values, which include the operands of warp MMAs.
static int64_t mostSums(GpuAttr gpu, const GpuTile &tile) {
  auto registers = int64_t(llvm::PowerOf2Ceil(uint64_t(gpu.getLimits().getMaxThreadRegisters())));
  return tile.byGroups ? registers / 2 : registers / 4;
}

static int64_t sumsOfThread(const GpuTile &tile, int64_t threads, int64_t terms) {
  return tile.rows * tile.columns / threads * (terms > 1 ? 2 : 1);
}

/// Returns the GEMM tile `tile`, changed to use a producer warpgroup with TMA loads. If fewer than
/// two pipeline stages would fit in shared memory, returns `tile` unchanged.
static GpuTile fetchedTile(GpuTile tile, graph::ContractOpInterface op) {
  GpuTile fetched = tile;
  fetched.fetches = true;
  fetched.makesFactors = productsOf(op) > 1;
  fetched.buffers = 1;
  int64_t fit = (gpuOf(op).getSharedBytes() - kGateBytes) / fetched.sharedBytes();
  fetched.buffers = std::min(fit, kMaxBuffers);
  return fit >= 2 ? fetched : tile;
}

/// Returns the GEMM tile for the requested sizes `wanted` (see chooseMatrixContraction).
static GpuTile gpuTile(GpuTileAttr wanted, graph::ContractOpInterface op, bool fetchable) {
  constexpr int64_t step = 32, mostRows = 128, mostColumns = 128, mostOfGroup = 256;
  auto upTo = [&](int64_t size, int64_t most) {
    return int64_t(llvm::divideCeil(std::clamp<int64_t>(size, 1, most), step)) * step;
  };
  GpuTile tile{upTo(wanted.getM(), mostRows), 1, 1, 1, 1};
  tile.byGroups = wanted.getGroups() && multipliesByGroups(op) && tile.rows % kGroupRows == 0;
  tile.columns = upTo(wanted.getN(), tile.byGroups ? mostOfGroup : mostColumns);
  // The pipeline has at least two stages, so that one K-slice is loaded while another one is
  // multiplied.
  int64_t fit = gpuOf(op).getSharedBytes() / tile.sharedBytes(), most = wanted.getBuffers();
  tile.buffers = std::clamp<int64_t>(most > 0 ? std::min(most, fit) : fit, 2, kMaxBuffers);
  if (tile.byGroups) {
    tile.warpsHigh = tile.rows / kGroupRows * kGroupWarps;
    if (fetchable)
      tile = fetchedTile(tile, op);
    if (tile.fetches || !mustBeFetched(op))
      return tile;
    // The operands of this warpgroup kernel need TMA loads, which are not possible. The tile falls
    // back to warp MMA, with no more columns than the registers of a warp allow.
    auto alone =
        GpuTileAttr::get(op->getContext(), tile.rows, std::min(tile.columns, productsOf(op) > 1 ? 64 : mostColumns),
                         wanted.getSplits(), most, /*groups=*/false, /*cycles=*/0);
    return gpuTile(alone, op, fetchable);
  }
  int64_t warps = tile.rows * tile.columns >= 64 * 128 ? 8 : 4;
  // Divides the GEMM tile over the warps of the block so that the part of each warp is as square as
  // possible. A square part needs the fewest loads per MMA.
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

static int64_t sharedBlocks(const GpuTile &tile, GpuAttr gpu) {
  int64_t shared = gpu.getProcessorSharedBytes() > 0 ? gpu.getProcessorSharedBytes() : gpu.getSharedBytes();
  return std::max<int64_t>(1, shared / (tile.sharedBytes() + gpu.getLimits().getReservedBlockBytes()));
}

GpuTile tileOf(GpuContractAttr schedule, graph::ContractOpInterface op) {
  return {
      schedule.getM(),       schedule.getN(),      schedule.getWarpsM(),  schedule.getWarpsN(),
      schedule.getBuffers(), schedule.getGroups(), schedule.getFetches(), schedule.getFetches() && productsOf(op) > 1};
}

int64_t threadsOf(const GpuTile &tile, GpuAttr gpu) {
  return (tile.warps() + (tile.fetches ? kGroupWarps : 0)) * gpu.getWarpSize();
}

GpuContractAttr chooseMatrixContraction(GpuTileAttr wanted, graph::ContractOpInterface op, bool fetchable,
                                        int64_t splits) {
  GpuAttr gpu = gpuOf(op);
  GpuTile tile = gpuTile(wanted, op, fetchable);
  // With TMA loads, the blocks of the kernel process one tile after another: there are as many
  // blocks as all multiprocessors can hold at once.
  int64_t blocks = tile.fetches ? std::min(sharedBlocks(tile, gpu) * gpu.getProcessors(), kMaxGridCount) : 0;
  return GpuContractAttr::get(op->getContext(), GpuForm::Matrix, tile.rows, tile.columns, splits, tile.buffers,
                              tile.warpsHigh, tile.warpsWide, tile.byGroups, tile.fetches, blocks, wanted.getCycles());
}

namespace {

/// Dims of a GEMM for the cost model. For dynamic dims, the model assumes a size.
struct Sizes {
  int64_t batch, rows, columns, slices;
  /// Number of MMAs by which a kernel replaces one MMA on the original operands (3 for 3xTF32).
  int64_t terms;
  /// Number of bytes of the operands and the result of the GEMM, each counted once.
  double bytes;
};

/// Returns the cycles to split the float32 elements of one row or column of a K-slice into TF32
/// components, at nine instructions per element.
double factorCycles(GpuCostsAttr costs) { return 9.0 * (kSliceBytes / 4) / double(costs.getInstructionsPerCycle()); }

/// Return the number of multiply-adds that a block executes for one K-slice (counted in 32-bit
/// elements), and the number of blocks that the busiest multiprocessor executes.
double wordsOfSlice(const Sizes &sizes, const GpuTile &tile) {
  return double(tile.rows * tile.columns * (kSliceBytes / 4) * sizes.terms);
}
int64_t busiestBlocks(GpuAttr gpu, const Sizes &sizes, const GpuTile &tile, int64_t parts) {
  int64_t blocks = sizes.batch * parts * int64_t(llvm::divideCeil(sizes.rows, tile.rows)) *
                   int64_t(llvm::divideCeil(sizes.columns, tile.columns));
  return int64_t(llvm::divideCeil(blocks, gpu.getProcessors()));
}

/// Returns the expected cycles of the GEMM with this tile and `parts` split-K partials.
double cycles(GpuAttr gpu, const Sizes &sizes, const GpuTile &tile, int64_t parts) {
  GpuCostsAttr costs = gpu.getCosts();
  GpuLimitsAttr limits = gpu.getLimits();
  auto l2BytesPerCycle = double(costs.getL2BytesPerCycle()), block = double(costs.getBlockOverheadCycles());
  constexpr int64_t others = 64; // registers that a thread uses in addition to its accumulators
  int64_t each = sumsOfThread(tile, tile.warps() * gpu.getWarpSize(), sizes.terms) + others;
  int64_t threads = threadsOf(tile, gpu);
  int64_t together = std::max<int64_t>(
      1, std::min({sharedBlocks(tile, gpu), limits.getRegisters() / (each * threads), limits.getThreads() / threads}));
  int64_t busiest = busiestBlocks(gpu, sizes, tile, parts);
  int64_t slices = int64_t(llvm::divideCeil(sizes.slices, parts));
  double multiply = wordsOfSlice(sizes, tile) /
                    double(tile.byGroups ? costs.getWarpgroupProductsPerCycle() : costs.getMmaProductsPerCycle());
  // `parted` is the number of rows and columns of a K-slice that all warps of a block load from
  // shared memory. The warps of a warpgroup share the loads of the columns. For 3xTF32, each warp
  // also splits the elements that it loads into two components; the MMAs hide half of the time of
  // this split.
  double parted = double(tile.byGroups ? tile.rows + tile.rows / kGroupRows * tile.columns
                                       : tile.warps() * (tile.warpRows() + tile.warpColumns()));
  double factors = sizes.terms > 1 ? parted * factorCycles(costs) : 0;
  // Warpgroup MMA on TF32 components loads the columns again for each of the MMAs. In addition, the
  // producer warpgroup reads each TMA-loaded column once and writes its two components.
  if (tile.makesFactors) {
    parted = double(2 * tile.rows + (sizes.terms * tile.rows / kGroupRows + 4) * tile.columns);
    factors = double(tile.rows + tile.columns) * factorCycles(costs);
  }
  double read = parted * kSliceBytes / double(costs.getSharedBytesPerCycle());
  double bring = double((tile.rows + tile.columns) * kSliceBytes) / l2BytesPerCycle;
  // The cost model counts K-slices of `kSliceBytes`. A K-slice that TMA loads is longer and
  // consists of several of these, so its latency is divided by their number.
  double ofSlice = double(kSliceBytes) / double(tile.sliceBytes());
  double latency = ofSlice * std::max(double(costs.getSliceOverheadCycles()) +
                                          double(costs.getTermOverheadCycles()) * double(sizes.terms),
                                      double(costs.getFetchLatencyCycles()) / double(tile.buffers - 1));
  double write = double(tile.rows * tile.columns * 4) / l2BytesPerCycle;
  // With TMA loads, a block computes several GEMM tiles, and loads the first K-slices of the next
  // tile during the epilogue of the current one. The overhead of a block therefore counts only
  // once.
  double time = tile.fetches ? block : 0;
  for (int64_t left = busiest; left > 0; left -= together) {
    double here = double(std::min(left, together));
    time += double(slices) * std::max({here * (multiply + factors / 2), here * bring, here * read, latency}) +
            (tile.fetches ? 0 : block) + here * write;
  }
  time = std::max(time, sizes.bytes / double(gpu.getCosts().getMemoryBytesPerCycle()));
  if (parts > 1) {
    double result = double(sizes.batch * sizes.rows * sizes.columns * 4);
    time += double(costs.getLaunchCycles()) + block +
            result * double(parts + 1) / (l2BytesPerCycle * double(gpu.getProcessors()));
  }
  return time;
}

/// Returns the penalty for a warpgroup kernel, which cannot be a phase of a persistent kernel
/// because its warpgroups use all threads of a block. The penalty is the time by which two launches
/// (of this kernel and of the next one) exceed two grid-wide barriers, minus the kernel's work,
/// because a phase is assumed to take twice as long. It is 0 for a kernel with more work than the
/// difference. When all phases are known, lib/Transforms/Plan/Join/PersistentCost.cpp computes the
/// actual costs.
double aloneCycles(GpuAttr gpu, const Sizes &sizes, const GpuTile &tile, int64_t parts) {
  if (!tile.byGroups || gpu.getCosts().getGridBarrierCycles() == 0)
    return 0;
  double slices = double(llvm::divideCeil(sizes.slices, parts) * busiestBlocks(gpu, sizes, tile, parts));
  double multiply = slices * wordsOfSlice(sizes, tile) / double(gpu.getCosts().getMmaProductsPerCycle());
  double work = std::max(multiply, sizes.bytes / double(gpu.getCosts().getMemoryBytesPerCycle()));
  double more = double(gpu.getCosts().getLaunchCycles() - gpu.getCosts().getGridBarrierCycles());
  return work < more ? 2 * more - work : 0;
}

} // namespace

GpuTileAttr chooseTile(graph::ContractOpInterface op, bool maySplit) {
  constexpr int64_t unknown = 1024, leastSlices = 4;
  GpuAttr gpu = gpuOf(op);
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
  GpuTileAttr best;
  double least = 0;
  constexpr double longest = 1e18;
  for (auto [height, width] : tiles)
    for (bool groups : byGroups)
      for (int64_t parts : splits) {
        if (parts > 1 && (!maySplit || sizes.slices / parts < leastSlices))
          break;
        for (int64_t buffers : rings) {
          auto wanted = GpuTileAttr::get(op->getContext(), height, width, parts, buffers, groups, /*cycles=*/0);
          GpuTile tile = gpuTile(wanted, op, fetchable);
          if (tile.sharedBytes() > gpu.getSharedBytes() ||
              sumsOfThread(tile, tile.warps() * gpu.getWarpSize(), sizes.terms) > mostSums(gpu, tile))
            break;
          double time = cycles(gpu, sizes, tile, parts), cost = time + aloneCycles(gpu, sizes, tile, parts);
          if (!best || cost < least) {
            least = cost;
            best = GpuTileAttr::get(op->getContext(), height, width, parts, buffers, groups,
                                    int64_t(std::min(time, longest)));
          }
        }
      }
  return best;
}

} // namespace hewn::plan
