// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

SmallVector<int64_t> memoryOrder(RankedTensorType type) {
  auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  SmallVector<int64_t> order =
      layout ? llvm::to_vector(layout.getOrder()) : llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  llvm::erase_if(order, [&](int64_t d) { return type.getDimSize(d) == 1; });
  return order;
}

bool isView(Operation *op) {
  auto move = dyn_cast<MoveOpInterface>(op);
  if (!move || move.getViewKind() == ViewKind::None)
    return false;
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  if (move.getViewKind() == ViewKind::Reshape)
    return llvm::is_sorted(memoryOrder(from)) && llvm::is_sorted(memoryOrder(to));
  SmallVector<int64_t> view = move.getViewOrder();
  return llvm::map_to_vector(memoryOrder(to), [&](int64_t d) { return view[d]; }) == memoryOrder(from);
}

} // namespace hewn::graph
