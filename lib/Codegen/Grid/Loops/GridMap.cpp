// SPDX-License-Identifier: Apache-2.0
//
// Maps on a grid: a thread an element of the result, or as many neighbours at once as the schedule says, where they lie side by side.
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Codegen/Grid/GridEngine.h"
#include "lib/Codegen/Grid/Loops/GridLoops.h"
#include "lib/Codegen/Grid/Loops/GridVectors.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Loops/Subviews.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-decide-kernels"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

/// A thread an element: of results of the same dims, or of one subview of them.
static void emitMap(KernelFunction &k, Grid &grid, OpBuilder &b, ArrayRef<unsigned> results, const Subview *subview,
                    Index start = {}) {
  KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Value first = k.results[results[0]];
  Dims dims = graph::getDims(first);
  if (subview) {
    dims = subview->dims;
    graph::MoveOpInterface op = subview->op;
    e.setSubview(op, {subview->operand, start});
  }
  SmallVector<int64_t> order = memoryOrder(first);
  Dims counts = llvm::map_to_vector<4>(order, [&](int64_t d) { return dims[d]; });
  grid.overThreads(counts, [&](ArrayRef<Index> indices) {
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

std::optional<GridWide> wideMap(KernelFunction &k, ArrayRef<unsigned> results, std::optional<int64_t> lanes) {
  // A reduction reads what it reduces at other elements than the one that is held.
  for (Operation &op : k.kernel.getBody().front().without_terminator())
    if (isa<graph::ReduceOpInterface>(op)) {
      LDBG() << k.kernel.getName() << ": " << op.getName() << " reads other elements than the results' own";
      return std::nullopt;
    }
  Value first = k.results[results[0]];
  SmallVector<int64_t> order = memoryOrder(first);
  if (order.empty()) {
    LDBG() << k.kernel.getName() << " has one element";
    return std::nullopt;
  }
  return GridWide::along(k, graph::getDims(first), unsigned(order.back()), results, lanes);
}

/// The same of several elements.
static void emitWideMap(KernelFunction &k, Grid &grid, OpBuilder &b, ArrayRef<unsigned> results, const GridWide &wide) {
  Value first = k.results[results[0]];
  Dims dims = graph::getDims(first);
  SmallVector<int64_t> order = memoryOrder(first);
  KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Dims counts = llvm::map_to_vector<4>(order, [&](int64_t d) { return dims[d]; });
  counts.back() = counts.back().floorDiv(wide.lanes());
  grid.overThreads(counts, [&](ArrayRef<Index> indices) {
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

LogicalResult emitGridMap(KernelFunction &k, OpBuilder &b, plan::GridMapAttr schedule) {
  SmallVector<SmallVector<unsigned>> lists = resultsOfEqualDims(k);
  ArrayRef<int64_t> widths = schedule.getWidths().asArrayRef();
  if (widths.size() != lists.size())
    return refuse(k, schedule) << ", and results of " << lists.size() << " dims";
  KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Grid grid(k, e, schedule.getThreads());
  for (auto [together, width] : llvm::zip(lists, widths)) {
    std::optional<GridWide> wide = width > 1 ? wideMap(k, together, width) : std::nullopt;
    if (wide) {
      emitWideMap(k, grid, b, together, *wide);
      continue;
    }
    if (width > 1) {
      if (!makesVectors(k, b, together, width) || failed(emitVectorMap(k, grid, b, together, width)))
        return refuse(k, schedule) << ", and elements that do not lie side by side " << width << " at a time";
      continue;
    }
    SmallVector<Subview> subviews = together.size() == 1 ? subviewsOf(k.results[together[0]]) : SmallVector<Subview>();
    forEachSubview(k, b, subviews,
                   [&](const Subview &subview, Index start) { emitMap(k, grid, b, together, &subview, start); });
    if (subviews.empty())
      emitMap(k, grid, b, together, nullptr);
  }
  return success();
}

} // namespace hewn::codegen
