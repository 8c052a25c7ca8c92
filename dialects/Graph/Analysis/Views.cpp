// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

bool isViewKind(Operation *op) {
  auto move = dyn_cast<IndexingOpInterface>(op);
  return move && op->getNumOperands() > 0 && move.getViewKind() != ViewKind::None;
}

bool isView(Operation *op) {
  if (!isViewKind(op))
    return false;
  auto move = cast<IndexingOpInterface>(op);
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  if (move.getViewKind() == ViewKind::Reshape) {
    std::optional<SmallVector<int64_t>> order =
        reshapedOrder(memoryOrder(from), getDims(op->getOperand(0)), getDims(op->getResult(0)));
    return order && significantOrder(*order, to) == significantOrder(to);
  }
  return significantOrder(transposedOrder(memoryOrder(from), move.getViewOrder()), to) == significantOrder(to);
}

SmallVector<int64_t> transposedOrder(ArrayRef<int64_t> order, ArrayRef<int64_t> view) {
  return llvm::map_to_vector(order, [&](int64_t d) -> int64_t { return llvm::find(view, d) - view.begin(); });
}

SmallVector<ReshapeRun> reshapeRuns(const Dims &from, const Dims &to) {
  SmallVector<ReshapeRun> runs;
  unsigned i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeRun run;
    DimExpr p(1), q(1);
    if (i < from.size())
      run.operandDims.push_back(i), p = from[i++];
    if (j < to.size())
      run.resultDims.push_back(j), q = to[j++];
    while (p != q && (i < from.size() || j < to.size())) {
      // Extends the group of reshape dims by a dim of `from` or of `to`: on the side with the
      // smaller element count if both counts are constant, else on the side whose count divides the
      // other.
      bool takeFrom = p.constant() && q.constant() ? *p.constant() < *q.constant() : q.divideExactly(p).has_value();
      if ((takeFrom && i < from.size()) || j == to.size())
        run.operandDims.push_back(i), p = p * from[i++];
      else
        run.resultDims.push_back(j), q = q * to[j++];
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

/// Returns the positions, in the operand's memory order, of the operand dims in one group of
/// reshape dims. Dims of size 1 are not counted.
static SmallVector<int64_t> placesOf(const ReshapeRun &run, ArrayRef<int64_t> order, const Dims &from) {
  SmallVector<int64_t> kept = llvm::filter_to_vector(order, [&](int64_t d) { return !from[d].is(1); });
  SmallVector<int64_t> places;
  for (unsigned d : run.operandDims)
    if (!from[d].is(1))
      places.push_back(llvm::find(kept, int64_t(d)) - kept.begin());
  return places;
}

std::optional<SmallVector<int64_t>> reshapedOrder(ArrayRef<int64_t> order, const Dims &from, const Dims &to) {
  // for each group of reshape dims: the memory position of its first operand dim, and its result
  // dims
  SmallVector<std::pair<int64_t, SmallVector<unsigned>>> placed;
  for (ReshapeRun &run : reshapeRuns(from, to)) {
    SmallVector<int64_t> places = placesOf(run, order, from);
    for (auto [i, place] : llvm::enumerate(places))
      if (place != places.front() + int64_t(i))
        return std::nullopt;
    placed.push_back({places.empty() ? -1 : places.front(), std::move(run.resultDims)});
  }
  llvm::sort(placed);
  SmallVector<int64_t> result;
  for (auto &[place, dims] : placed)
    result.append(dims.begin(), dims.end());
  return result;
}

SmallVector<int64_t> orderToReshape(ArrayRef<int64_t> order, const Dims &from, const Dims &to) {
  if (reshapedOrder(order, from, to))
    return llvm::to_vector(order);
  int64_t dims = llvm::count_if(from, [](const DimExpr &dim) { return !dim.is(1); });
  SmallVector<int64_t> runs, innermost;
  for (const ReshapeRun &run : reshapeRuns(from, to)) {
    SmallVector<int64_t> places = placesOf(run, order, from);
    bool behind = !places.empty() && *llvm::min_element(places) == dims - int64_t(places.size());
    (behind ? innermost : runs).append(run.operandDims.begin(), run.operandDims.end());
  }
  runs.append(innermost);
  return runs;
}

} // namespace hewn::graph
