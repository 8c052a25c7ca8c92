// SPDX-License-Identifier: Apache-2.0
//
// How a model would be split over a cluster: what each way takes by the model of kernels and links, and which is best.
#ifndef HEWN_LIB_COMPILER_PARTITION_PARTITIONPLAN_H
#define HEWN_LIB_COMPILER_PARTITION_PARTITIONPLAN_H

#include "lib/Compiler/Partition/Cluster.h"
#include "lib/Transforms/Partition/Rows.h"
#include "llvm/Support/JSON.h"
#include <vector>

namespace hewn {

struct Compilation;

/// The ranks of one stage, which do alike.
struct StageCost {
  int64_t first = 0, ranks = 1;
  /// Bytes of a rank: constants, arena, inputs and outputs.
  double weights = 0, arena = 0, values = 0;
  double memory() const { return weights + arena + values; }
  /// Seconds of a run in which it computes, and in which it meets others; bytes that it moves in a run.
  double computing = 0, meeting = 0, moved = 0, movedOfAll = 0;
};

/// One way to split the model, as often as the cluster has room for it.
struct SplitCost {
  int64_t tensor = 1, stages = 1, replicas = 1;
  std::vector<StageCost> byStage;
  /// Of a run, which goes through the stages one after another.
  double seconds = 0;
  double runsPerSecond() const { return double(replicas) / seconds; }
  double memory() const;
  double moved() const;
  /// How sums go that take the most time; empty where there are none.
  std::string way;
  /// Why it can't be chosen; empty where it can.
  std::string problem;
  std::string name() const;
};

struct PartitionPlan {
  Cluster cluster;
  /// Those that can be chosen first, the best of them before all.
  std::vector<SplitCost> splits;
  std::string why;
  /// Open dims, and what they were taken for.
  std::vector<std::pair<std::string, int64_t>> assumed;

  std::string text() const;
  /// docs/reference/json.md.
  llvm::json::Object json() const;
};

/// What it takes to hand bytes among so many ranks of the cluster that share layers.
std::shared_ptr<const partition::RowCosts> rowCosts(const Cluster &cluster, int64_t tensor);

/// Tries the splits of the compile's options, whose weights are not looked at. nullopt after an error, where none can be chosen too.
std::optional<PartitionPlan> planPartition(Compilation &compilation);

} // namespace hewn

#endif
