// SPDX-License-Identifier: Apache-2.0
//
// Splits the batch of a model into micro-batches, so that its pipeline stages work at the same
// time, each on another micro-batch.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_MICROBATCHES_H
#define HEWN_LIB_TRANSFORMS_PARTITION_MICROBATCHES_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace hewn::partition {

/// The ops of a program in order, with the pipeline stage of each. Ops on constants and sizes,
/// which every stage computes itself, are left out.
struct StagedOps {
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, int64_t> stageOf;
  /// The step of each op: 0 before the micro-batches, then one step per micro-batch, then one for
  /// the program's results. Without micro-batches, all ops have step 0.
  llvm::DenseMap<mlir::Operation *, int64_t> turnOf;
};

/// Replaces each op on the batch by one op per micro-batch (GPipe; Huang et al., 2019), ordered by
/// micro-batch, and concatenates the results. The batch is a dim of the results, or a factor of
/// such a dim: the first along which the entire program can be split. If a symbolic batch size is
/// not divisible by `count`, the last micro-batches repeat the last batch element. Ops that only
/// results without a batch dim need run after all micro-batches. Fails, after an error at the op,
/// if batch elements depend on each other. Also fails if the first dim is a number that `count`
/// does not divide and the program cannot be split along another dim.
llvm::LogicalResult divideBatch(mlir::Block &block, int64_t count, StagedOps &staged);

} // namespace hewn::partition

#endif
