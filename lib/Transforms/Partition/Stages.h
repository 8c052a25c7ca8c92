// SPDX-License-Identifier: Apache-2.0
//
// Splits a model into pipeline stages, each on ranks of its own.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_STAGES_H
#define HEWN_LIB_TRANSFORMS_PARTITION_STAGES_H

#include "mlir/IR/Block.h"
#include <string>

namespace hewn::partition {

/// The stage to build: one of `count` stages with `ranks` ranks each, and the rank within all
/// stages that the program is for. A run passes through the stages in `microBatches` micro-batches.
struct Stage {
  int64_t count, number, ranks, rank, microBatches = 1;
};

/// Divides ops into `count` pipeline stages, and returns the last op of each stage except the last
/// stage. `constants` has the bytes of constants up to each op; `crossing` has the bytes of values
/// that are used after each op and would be transferred.
llvm::SmallVector<size_t> divideStages(llvm::ArrayRef<double> constants, llvm::ArrayRef<double> crossing,
                                       int64_t count);

/// Returns why a program cannot be split into stages, or an empty string if it can.
std::string whyNotInStages(mlir::Block &block);

/// Reduces the program to the ops of one stage, with receives from earlier stages and sends to
/// later stages. All ranks get the results of the program. Fails, after an error, if the model
/// cannot be split.
llvm::LogicalResult takeStage(mlir::Block &block, const Stage &stage);

} // namespace hewn::partition

#endif
