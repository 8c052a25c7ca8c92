// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/GpuThreadSchedule.h"
#include "dialects/Plan/Target.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;

namespace hewn::plan {

/// Chooses the rows or columns per block of a skinny GEMM whose larger operand is contiguous along
/// M or N instead of K. Returns how many of them a block processes at a time: at least as many as a
/// memory sector contains, but so few that almost all multiprocessors get a block.
static int64_t placesAcross(GpuAttr gpu, std::optional<int64_t> many, std::optional<int64_t> batch) {
  int64_t least = gpu.getCosts().getSectorBytes() / 4, places = gpu.getWarpSize();
  // Maximum number of blocks of a skinny GEMM. It exceeds the number of multiprocessors by a
  // quarter, so that some of them may have two blocks.
  int64_t most = gpu.getProcessors() + gpu.getProcessors() / 4;
  while (many && batch && places > least && 2 * *batch * int64_t(llvm::divideCeil(*many, places)) <= most)
    places /= 2;
  return places;
}

GpuContractAttr chooseThreadContraction(graph::ContractOpInterface op, bool leftAlongSum, bool rightAlongSum) {
  // Limits of M, N and K below which an elementwise kernel computes a contraction faster: if M or N
  // is small, most threads of a tile would be idle; if K is small, the time to copy the operands to
  // a shared tile exceeds the time that this saves.
  constexpr int64_t leastOfFew = 16, leastSumOfFew = 64, leastOfTile = 8, mostEach = 4;
  GpuAttr gpu = gpuOf(op);
  graph::ProductDims product = graph::productDims(op);
  auto count = [&](ArrayRef<unsigned> list) { return product.count(list).constant(); };
  std::optional<int64_t> rows = count(product.rows), columns = count(product.columns), sum = count(product.summed);
  auto isFew = [](std::optional<int64_t> count) { return count && *count >= 1 && *count <= kMaxFew; };
  auto schedule = [&](GpuForm form, int64_t m, int64_t n) {
    return GpuContractAttr::get(op->getContext(), form, m, n, /*splits=*/1, 0, 0, 0, false, false, 0, 0);
  };
  bool rowsAreFew = isFew(rows);
  std::optional<int64_t> many = rowsAreFew ? columns : rows;
  if (rowsAreFew != isFew(columns) && many.value_or(leastOfFew) >= leastOfFew &&
      sum.value_or(leastSumOfFew) >= leastSumOfFew) {
    bool alongSum = rowsAreFew ? rightAlongSum : leftAlongSum;
    int64_t places = alongSum ? kFewThreads / gpu.getWarpSize() : placesAcross(gpu, many, count(product.batch));
    return rowsAreFew ? schedule(GpuForm::FewRows, *rows, places) : schedule(GpuForm::FewColumns, places, *columns);
  }
  for (std::optional<int64_t> side : {rows, columns, sum})
    if (side.value_or(leastOfTile) < leastOfTile)
      return {};
  auto side = [&](std::optional<int64_t> extent) {
    auto each = llvm::PowerOf2Ceil(llvm::divideCeil(extent.value_or(mostEach * kTileSide), kTileSide));
    return std::min<int64_t>(mostEach, int64_t(each)) * kTileSide;
  };
  return schedule(GpuForm::Tiles, side(rows), side(columns));
}

} // namespace hewn::plan
