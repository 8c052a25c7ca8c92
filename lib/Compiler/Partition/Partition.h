// SPDX-License-Identifier: Apache-2.0
//
// Parses the option `--partition`, and adds a case of the model for each rank.
#ifndef HEWN_LIB_COMPILER_PARTITION_PARTITION_H
#define HEWN_LIB_COMPILER_PARTITION_PARTITION_H

#include "lib/Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace hewn {

namespace importer {
struct Cases;
}

/// Numbers of tensor-parallel ranks, pipeline stages and micro-batches of a partition. The ranks of
/// the first stage have the lowest numbers, then those of the second stage, and so on.
struct PartitionShape {
  /// Number of ranks that shard the ops of a stage (tensor parallelism), number of pipeline stages,
  /// and number of micro-batches per batch.
  int64_t tensor = 1, stages = 1, microBatches = 1;
  /// True if an all-reduce adds the values of the ranks in the order of their numbers, so that the
  /// result does not depend on the transport. Kernels then do the additions.
  bool orderedSums = false;
  /// Percentage of the weights that every rank holds in full, because the ops that use them are
  /// sharded spatially instead of by weights. If it is below 0, the compiler chooses the
  /// percentage.
  int64_t lines = -1;
  /// True if the compiler should choose `tensor` and `stages` for a cluster (PartitionPlan.h).
  bool isAuto = false;
  int64_t ranks() const { return tensor * stages; }
  /// Returns a text such as "tensor=2,pipeline=1", "tensor=1,pipeline=2,microbatches=4",
  /// "tensor=4,pipeline=1,sums=ordered" or "tensor=2,pipeline=1,lines=10".
  std::string text() const;
};

/// Limits of the numbers of ranks and of micro-batches that a user may request. They limit the
/// compile time: each rank is compiled separately, and each micro-batch adds ops.
constexpr int64_t kMostRanks = 64, kMostMicroBatches = 64;

/// Parses a partition such as "tensor=2", "pipeline=2", "tensor=2,pipeline=2",
/// "pipeline=2,microbatches=4", "tensor=4,sums=ordered", "tensor=2,lines=10" or "auto". Returns
/// false after an error.
bool readPartition(llvm::StringRef text, PartitionShape &shape, Diagnostics &diagnostics);

/// Returns true if the model has strings, sequences or optional values. Such models cannot be
/// partitioned, because these values are handles of one process, which other ranks cannot read.
bool hasHandles(mlir::ModuleOp module);

/// Replaces each case of the model by one case for each rank. A new symbol, which a context sets to
/// the number of its rank, selects the case. Returns false after an error.
bool addRanks(importer::Cases &cases, int64_t ranks, Diagnostics &diagnostics);

} // namespace hewn

#endif
