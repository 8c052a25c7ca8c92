// SPDX-License-Identifier: Apache-2.0
//
// A model over several ranks: what the user says of it, and the cases that it makes.
#ifndef HEWN_LIB_COMPILER_PARTITION_PARTITION_H
#define HEWN_LIB_COMPILER_PARTITION_PARTITION_H

#include "lib/Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace hewn {

struct Compilation;

/// Ranks by number: those of the first stage, then those of the next.
struct PartitionShape {
  /// Among how many ranks contractions are cut, how many stages there are, one after another, and in how many parts a batch goes through them.
  int64_t tensor = 1, stages = 1, microBatches = 1;
  /// Sums over ranks are added up by kernels in the ranks' order, whatever the transport.
  bool orderedSums = false;
  /// Percent of the constants that ranks have whole, to share by lines what reads them; below 0: as is best.
  int64_t lines = -1;
  /// Both are the best for a cluster (PartitionPlan.h).
  bool isAuto = false;
  int64_t ranks() const { return tensor * stages; }
  /// "tensor=2,pipeline=1", "tensor=1,pipeline=2,microbatches=4", "tensor=4,pipeline=1,sums=ordered", "tensor=2,pipeline=1,lines=10".
  std::string text() const;
};

/// Each rank costs a compile, and each micro-batch ops of it.
constexpr int64_t kMostRanks = 64, kMostMicroBatches = 64;

/// Reads "tensor=2", "pipeline=2", "tensor=2,pipeline=2", "pipeline=2,microbatches=4", "tensor=4,sums=ordered",
/// "tensor=2,lines=10", "auto"; false after an error.
bool readPartition(llvm::StringRef text, PartitionShape &shape, Diagnostics &diagnostics);

/// Whether the model has strings, sequences or optional values: places in one process's memory, which no other rank can read.
bool hasHandles(mlir::ModuleOp module);

/// Makes a case of each rank of each of the model's cases: a program for the rank, chosen by a symbol that a context gives its rank.
/// False after an error.
bool addRanks(Compilation &compilation);

} // namespace hewn

#endif
