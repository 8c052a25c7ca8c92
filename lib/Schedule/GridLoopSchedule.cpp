// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/GridLoopSchedule.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

/// Threads of a block that has no reason for another number; a row or line that is taken for one of unknown length, and one that is
/// better left to one thread.
constexpr int64_t kThreads = 256, kUnknown = 1024, kShort = 16;

GridRowsAttr chooseRowThreads(const DimExpr &rows, const DimExpr &length, bool sideBySide, GridAttr grid) {
  constexpr int64_t longRow = 8192, manyRows = 512;
  int64_t warp = grid.getWarpSize(), each = length.constant().value_or(kUnknown),
          count = rows.constant().value_or(manyRows);
  auto schedule = [&](int64_t rowThreads, int64_t threads) {
    return GridRowsAttr::get(grid.getContext(), rowThreads, threads, /*width=*/1);
  };
  if (each <= kShort || (sideBySide && count >= manyRows / 2))
    return schedule(1, kThreads);
  if (each <= 4 * warp || (count >= manyRows && each <= kUnknown))
    return schedule(warp, kThreads);
  int64_t most = std::min(grid.getLimits().getMaxBlockThreads(), kMaxGridCount) / warp * warp;
  int64_t threads = each > longRow ? most : kThreads;
  return schedule(threads, threads);
}

GridRowsAttr chooseRowWidth(GridRowsAttr schedule, const DimExpr &length, int64_t lanes, GridAttr grid) {
  int64_t rowThreads = schedule.getRowThreads(), threads = schedule.getThreads();
  int64_t vectors = length.constant().value_or(0) / lanes;
  while (rowThreads % (2 * grid.getWarpSize()) == 0 && vectors > 0 && vectors * 2 < rowThreads)
    threads = rowThreads /= 2;
  int64_t width = vectors * 2 < rowThreads ? 1 : lanes;
  return GridRowsAttr::get(grid.getContext(), rowThreads, threads, width);
}

GridCumulateAttr chooseLineThreads(const DimExpr &lines, const DimExpr &length, bool alongLine, GridAttr grid) {
  constexpr int64_t linesOfProcessor = 64, elements = 4;
  int64_t count = lines.constant().value_or(kUnknown);
  bool isShared =
      length.constant().value_or(kUnknown) > kShort && (alongLine || count < linesOfProcessor * grid.getProcessors());
  if (!isShared)
    return GridCumulateAttr::get(grid.getContext(), /*lineThreads=*/1, kThreads, /*elements=*/1);
  auto wanted = uint64_t(llvm::divideCeil(length.constant().value_or(kThreads * elements), elements));
  int64_t threads = std::clamp(int64_t(llvm::PowerOf2Ceil(wanted)), grid.getWarpSize(), kThreads);
  return GridCumulateAttr::get(grid.getContext(), threads, threads, elements);
}

} // namespace hewn::plan
