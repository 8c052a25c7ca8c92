// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

bool isViewKind(Operation *op) {
  auto move = dyn_cast<MoveOpInterface>(op);
  return move && op->getNumOperands() > 0 && move.getViewKind() != ViewKind::None;
}

bool isView(Operation *op) {
  if (!isViewKind(op))
    return false;
  auto move = cast<MoveOpInterface>(op);
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  if (move.getViewKind() == ViewKind::Reshape)
    return llvm::is_sorted(significantOrder(from)) && llvm::is_sorted(significantOrder(to));
  SmallVector<int64_t> view = move.getViewOrder();
  return llvm::map_to_vector(significantOrder(to), [&](int64_t d) { return view[d]; }) == significantOrder(from);
}

} // namespace hewn::graph
