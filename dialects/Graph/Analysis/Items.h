// SPDX-License-Identifier: Apache-2.0
//
// Items: what lies at one index of the first dim of a tensor, such as an image of a batch.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_ITEMS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_ITEMS_H

#include "dialects/Graph/Analysis/Shapes.h"

namespace hewn::graph {

/// How an op makes its result item by item.
struct ItemForm {
  /// For each operand, whether an item of the result needs the item of it; the others it needs whole.
  llvm::SmallVector<bool> byItem;
  /// The attributes of the op that makes a single one, whose first dim is 1.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
};

/// The form of an op of one result: its cut form (Cuts.h) where the first dim is cut into as many parts as it is long. nullopt where items
/// depend on each other, and where nothing has items.
std::optional<ItemForm> itemForm(mlir::Operation *op);

} // namespace hewn::graph

#endif
