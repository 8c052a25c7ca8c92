// SPDX-License-Identifier: Apache-2.0
//
// Sharding rules of control flow: for branches that yield shards, and loops that carry shards.
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_CONTROLCUTS_H
#define HEWN_DIALECTS_GRAPH_CONTROL_CONTROLCUTS_H

#include "dialects/Graph/Analysis/Sharding.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <memory>

namespace hewn::graph {

/// How an op with regions (ControlOpInterface) computes one shard of each of its results.
struct ControlSharding {
  /// For each value that a sharded loop or branch op or its regions use, defined inside or outside
  /// of the regions: its shard, or nullopt if the full value is needed. Values that are not needed
  /// are not listed.
  llvm::MapVector<mlir::Value, std::optional<DimSharding>> values;
  /// The shard of each result of the op. nullopt means that the result has no uses, and that all
  /// parts compute it in full.
  llvm::SmallVector<std::optional<DimSharding>> results;
  /// The sharding rules of the ops in the regions that compute shards: `forms` of ops without
  /// regions, `inner` of ops that have regions themselves.
  llvm::DenseMap<mlir::Operation *, ShardingRule> forms;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<ControlSharding>> inner;
  /// The ops in the regions that compute their full result, from which each part slices its shard.
  llvm::SmallPtrSet<mlir::Operation *, 4> wholes;
};

/// Returns the sharding rule of a loop or of branches, or null if there is none or if `op` is not
/// control flow. `results` has the requested shard of each result, or nullopt if the result has no
/// uses. The values that decide which region runs and how often, and all values that these are
/// computed from, must be computed in full by every part, so that all parts run the same regions.
std::unique_ptr<ControlSharding>
controlSharding(mlir::Operation *op, llvm::ArrayRef<std::optional<DimSharding>> results, const ShardCount &parts);

/// Emits the loop or branch op that computes part `number` of the results. `valueOf` returns the
/// shard of an outer value, or the full value, as the rule requires. Returns null after an error.
mlir::Operation *makeControlPart(mlir::OpBuilder &b, mlir::Operation *op, const ControlSharding &cut,
                                 const ShardCount &parts, int64_t number,
                                 llvm::function_ref<mlir::Value(mlir::Value)> valueOf);

} // namespace hewn::graph

#endif
