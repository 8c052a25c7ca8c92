// SPDX-License-Identifier: Apache-2.0
//
// A model in stages, one after another, each on ranks of its own.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_STAGES_H
#define HEWN_LIB_TRANSFORMS_PARTITION_STAGES_H

#include "mlir/IR/Block.h"
#include <string>

namespace hewn::partition {

/// One of several stages, and how many ranks each has; `rank` is the one that the program is for. In so many micro-batches a run goes through them.
struct Stage {
  int64_t count, number, ranks, rank, microBatches = 1;
};

/// The last op of each stage but the last one, of `count` stages. Of each op: the bytes of constants that are read up to it, and of values that go on
/// behind it.
llvm::SmallVector<size_t> divideStages(llvm::ArrayRef<double> constants, llvm::ArrayRef<double> crossing,
                                       int64_t count);

/// Why a program can't be taken apart in stages, however few; empty: it can.
std::string whyNotInStages(mlir::Block &block);

/// Leaves of the program what the stage does, with what it receives from the ones before and sends to those behind, rank by rank; results of
/// the program go to all. Fails, after an error, where the model can't be taken apart so.
llvm::LogicalResult takeStage(mlir::Block &block, const Stage &stage);

} // namespace hewn::partition

#endif
