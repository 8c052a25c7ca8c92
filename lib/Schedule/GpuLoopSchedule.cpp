// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/GpuLoopSchedule.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

/// Constants of the cost model for row-wise reductions. `kThreads`: usual number of threads per
/// block. `kUnknown`: assumed length of a row with a dynamic length. `kShort`: length up to which
/// one thread computes a row.
constexpr int64_t kThreads = 256, kUnknown = 1024, kShort = 16;

GpuRowsAttr chooseRowThreads(const DimExpr &rows, const DimExpr &length, bool sideBySide, GpuAttr gpu) {
  constexpr int64_t longRow = 8192, manyRows = 512;
  int64_t warp = gpu.getWarpSize(), each = length.constant().value_or(kUnknown),
          count = rows.constant().value_or(manyRows);
  auto schedule = [&](int64_t rowThreads, int64_t threads) {
    return GpuRowsAttr::get(gpu.getContext(), rowThreads, threads, /*width=*/1);
  };
  if (each <= kShort || (sideBySide && count >= manyRows / 2))
    return schedule(1, kThreads);
  if (each <= 4 * warp || (count >= manyRows && each <= kUnknown))
    return schedule(warp, kThreads);
  int64_t most = std::min(gpu.getLimits().getMaxBlockThreads(), kMaxGridCount) / warp * warp;
  int64_t threads = each > longRow ? most : kThreads;
  return schedule(threads, threads);
}

GpuRowsAttr chooseRowWidth(GpuRowsAttr schedule, const DimExpr &length, int64_t lanes, GpuAttr gpu) {
  int64_t rowThreads = schedule.getRowThreads(), threads = schedule.getThreads();
  int64_t vectors = length.constant().value_or(0) / lanes;
  while (rowThreads % (2 * gpu.getWarpSize()) == 0 && vectors > 0 && vectors * 2 < rowThreads)
    threads = rowThreads /= 2;
  int64_t width = vectors * 2 < rowThreads ? 1 : lanes;
  return GpuRowsAttr::get(gpu.getContext(), rowThreads, threads, width);
}

GpuCumulateAttr chooseLineThreads(const DimExpr &lines, const DimExpr &length, bool alongLine, GpuAttr gpu) {
  constexpr int64_t linesOfProcessor = 64, elements = 4;
  int64_t count = lines.constant().value_or(kUnknown);
  bool isShared =
      length.constant().value_or(kUnknown) > kShort && (alongLine || count < linesOfProcessor * gpu.getProcessors());
  if (!isShared)
    return GpuCumulateAttr::get(gpu.getContext(), /*lineThreads=*/1, kThreads, /*elements=*/1);
  auto wanted = uint64_t(llvm::divideCeil(length.constant().value_or(kThreads * elements), elements));
  int64_t threads = std::clamp(int64_t(llvm::PowerOf2Ceil(wanted)), gpu.getWarpSize(), kThreads);
  return GpuCumulateAttr::get(gpu.getContext(), threads, threads, elements);
}

} // namespace hewn::plan
