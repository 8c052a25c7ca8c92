// SPDX-License-Identifier: Apache-2.0
//
// GPU maps: each thread computes one element of the result, or a vector of contiguous elements if
// the schedule has vectors.
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/GPU/Loops/GpuLoops.h"
#include "lib/Codegen/GPU/Loops/GpuVectors.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Loops/Subviews.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-assign-schedules"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

/// Emits a map with one element per thread. The map covers the results `results`, which have equal
/// dims, or one subview of a result.
static void emitMap(KernelContext &k, GpuBuilder &gpu, OpBuilder &b, ArrayRef<unsigned> results, const Subview *subview,
                    Index start = {}) {
  ElementEmitter e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Value first = k.results[results[0]];
  Dims dims = graph::getDims(first);
  if (subview) {
    dims = subview->dims;
    graph::IndexingOpInterface op = subview->op;
    e.setSubview(op, {subview->operand, start});
  }
  SmallVector<int64_t> order = memoryOrder(first);
  Dims counts = llvm::map_to_vector<4>(order, [&](int64_t d) { return dims[d]; });
  gpu.overThreads(counts, [&](ArrayRef<Index> indices) {
    SmallVector<Index> at(dims.size());
    for (auto [d, index] : llvm::zip(order, indices))
      at[d] = index;
    if (subview)
      at = subview->placeOf(e, at, start);
    SmallVector<Value> values = llvm::map_to_vector(results, [&](unsigned r) { return e.read(k.results[r], at); });
    for (auto [r, value] : llvm::zip(results, values))
      e.write(k.outputs[r], at, value);
  });
}

std::optional<GpuWide> wideMap(KernelContext &k, ArrayRef<unsigned> results, std::optional<int64_t> lanes) {
  // Reductions read their operand at other indices than those of the vector, so they are not
  // supported.
  for (Operation &op : k.kernel.getBody().front().without_terminator())
    if (isa<graph::ReduceOpInterface>(op)) {
      LDBG() << k.kernel.getName() << ": " << op.getName() << " reads elements at other indices than the results'";
      return std::nullopt;
    }
  Value first = k.results[results[0]];
  SmallVector<int64_t> order = memoryOrder(first);
  if (order.empty()) {
    LDBG() << k.kernel.getName() << " has one element";
    return std::nullopt;
  }
  return GpuWide::along(k, graph::getDims(first), unsigned(order.back()), results, lanes);
}

/// Emits a map with several contiguous elements per thread.
static void emitWideMap(KernelContext &k, GpuBuilder &gpu, OpBuilder &b, ArrayRef<unsigned> results,
                        const GpuWide &wide) {
  Value first = k.results[results[0]];
  Dims dims = graph::getDims(first);
  SmallVector<int64_t> order = memoryOrder(first);
  ElementEmitter e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Dims counts = llvm::map_to_vector<4>(order, [&](int64_t d) { return dims[d]; });
  counts.back() = counts.back().floorDiv(wide.lanes());
  gpu.overThreads(counts, [&](ArrayRef<Index> indices) {
    SmallVector<Index> at(dims.size());
    for (auto [d, index] : llvm::zip(order, indices))
      at[d] = index;
    at[order.back()] = e.mul(at[order.back()], e.constant(wide.lanes()));
    SmallVector<SmallVector<Value>> values(results.size());
    wide.overLanes(e, at, [&](ArrayRef<Index> own) {
      for (auto [list, r] : llvm::zip(values, results))
        list.push_back(e.read(k.results[r], own));
    });
    for (auto [list, r] : llvm::zip(values, results))
      wide.write(e, r, at, list);
  });
}

LogicalResult emitGpuMap(KernelContext &k, OpBuilder &b, plan::GpuMapAttr schedule) {
  SmallVector<SmallVector<unsigned>> lists = resultsOfEqualDims(k);
  ArrayRef<int64_t> widths = schedule.getWidths().asArrayRef();
  if (widths.size() != lists.size())
    return refuse(k, schedule) << ", but the kernel has results of " << lists.size() << " different shapes";
  ElementEmitter e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  GpuBuilder gpu(k, e, schedule.getThreads());
  for (auto [together, width] : llvm::zip(lists, widths)) {
    std::optional<GpuWide> wide = width > 1 ? wideMap(k, together, width) : std::nullopt;
    if (wide) {
      emitWideMap(k, gpu, b, together, *wide);
      continue;
    }
    if (width > 1) {
      if (!makesVectors(k, b, together, width) || failed(emitVectorMap(k, gpu, b, together, width)))
        return refuse(k, schedule) << ", but vectors of " << width << " elements are not contiguous and aligned";
      continue;
    }
    SmallVector<Subview> subviews = together.size() == 1 ? subviewsOf(k.results[together[0]]) : SmallVector<Subview>();
    forEachSubview(k, b, subviews,
                   [&](const Subview &subview, Index start) { emitMap(k, gpu, b, together, &subview, start); });
    if (subviews.empty())
      emitMap(k, gpu, b, together, nullptr);
  }
  return success();
}

} // namespace hewn::codegen
