// SPDX-License-Identifier: Apache-2.0
//
// A batch in micro-batches, so that the stages of a model work at the same time, each on one of them.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_MICROBATCHES_H
#define HEWN_LIB_TRANSFORMS_PARTITION_MICROBATCHES_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace hewn::partition {

/// The ops of a program but those that each stage makes itself, in order, with their stages.
struct StagedOps {
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, int64_t> stageOf;
  /// What is done one after another: 0 what is there for all micro-batches, then each of them, then the program's results. Without
  /// micro-batches all is 0.
  llvm::DenseMap<mlir::Operation *, int64_t> turnOf;
};

/// Puts, for each op that goes over the items of a batch, one for each of `count` micro-batches in its place (GPipe: Huang et al., 2019), a
/// micro-batch behind the other; results are put together again. The batch is a dim of the results, or a factor of one: the first along which all
/// of the program can be divided. Where it is a symbol that `count` may not divide, the last micro-batches have its last item again. What only
/// results without that dim read is made when all micro-batches are there. Fails, after an error at the op, where items depend on each
/// other, or where the first dim is a number that `count` does not divide and no other one will do.
llvm::LogicalResult divideBatch(mlir::Block &block, int64_t count, StagedOps &staged);

} // namespace hewn::partition

#endif
