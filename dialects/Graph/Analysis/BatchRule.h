// SPDX-License-Identifier: Apache-2.0
//
// Batch rules: whether and how an op can process the batch elements (indices of dim 0) one by one.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_ITEMS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_ITEMS_H

#include "dialects/Graph/Analysis/Shapes.h"

namespace hewn::graph {

/// How an op computes its result for one batch element.
struct BatchRule {
  /// For each operand of the op: true if a result batch element only depends on the operand's batch
  /// element with the same index, false if it depends on the full operand.
  llvm::SmallVector<bool> byItem;
  /// The attributes of an op that computes a single batch element, that is, whose result has a
  /// first dim of 1.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
};

/// Returns the batch rule of an op with one result. It is the op's sharding rule (Sharding.h) for
/// dim 0, with one part for each index. Returns nullopt if the batch elements depend on each other,
/// or if no operand has a batch dim.
std::optional<BatchRule> batchRule(mlir::Operation *op);

} // namespace hewn::graph

#endif
