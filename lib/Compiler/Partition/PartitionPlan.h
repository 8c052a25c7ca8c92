// SPDX-License-Identifier: Apache-2.0
//
// Estimates the cost of each partition of a model over a cluster, and chooses the best.
#ifndef HEWN_LIB_COMPILER_PARTITION_PARTITIONPLAN_H
#define HEWN_LIB_COMPILER_PARTITION_PARTITIONPLAN_H

#include "lib/Compiler/Partition/Cluster.h"
#include "lib/Transforms/Partition/Rows.h"
#include "llvm/Support/JSON.h"
#include <vector>

namespace hewn {

class Diagnostics;
struct Request;

/// Cost of a pipeline stage. All of its ranks have equal costs.
struct StageCost {
  int64_t first = 0, ranks = 1;
  /// Number of bytes that a rank of the stage needs for constants, the arena, and inputs and
  /// outputs.
  double weights = 0, arena = 0, values = 0;
  double memory() const { return weights + arena + values; }
  /// Costs of a run of the stage. `computing`, `meeting`: seconds that computation and
  /// communication between ranks take. `moved`, `movedOfAll`: bytes that the first rank, and all
  /// ranks of the stage together, transfer.
  double computing = 0, meeting = 0, moved = 0, movedOfAll = 0;
};

/// Cost of one partition. If the cluster has more devices than the partition has ranks, the
/// partitioned model is replicated as often as the devices allow.
struct SplitCost {
  int64_t tensor = 1, stages = 1, replicas = 1;
  std::vector<StageCost> byStage;
  /// Time of a run in seconds. A run passes through the stages one after another.
  double seconds = 0;
  double runsPerSecond() const { return double(replicas) / seconds; }
  double memory() const;
  double moved() const;
  /// Name of the algorithm of the slowest all-reduce or reduce-scatter of the partition, or an
  /// empty string if there is no such transfer.
  std::string way;
  /// The reason why the partition is not feasible, or empty if the partition is feasible.
  std::string problem;
  std::string name() const;
};

struct PartitionPlan {
  Cluster cluster;
  /// Costs of the partitions, sorted: feasible partitions come first, and the best partition is the
  /// first of all.
  std::vector<SplitCost> splits;
  std::string why;
  /// Names of dynamic dims, and the values that are assumed for them.
  std::vector<std::pair<std::string, int64_t>> assumed;

  std::string text() const;
  /// Returns the plan as JSON (docs/reference/json.md).
  llvm::json::Object json() const;
};

/// Returns the costs of communication between `tensor` tensor-parallel ranks of the cluster.
std::shared_ptr<const partition::RowCosts> rowCosts(const Cluster &cluster, int64_t tensor);

/// Estimates the costs of the partitions that the compile's options allow. Weights are not read.
/// Returns nullopt after an error, which includes the case that no partition is feasible.
std::optional<PartitionPlan> planPartition(const Request &request, Diagnostics &diagnostics);

} // namespace hewn

#endif
