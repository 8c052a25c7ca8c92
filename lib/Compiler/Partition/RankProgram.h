// SPDX-License-Identifier: Apache-2.0
//
// What a rank's program does, step by step, as its plan has it: kernels and what it hands to other ranks. Any run of steps can be a stage.
#ifndef HEWN_LIB_COMPILER_PARTITION_RANKPROGRAM_H
#define HEWN_LIB_COMPILER_PARTITION_RANKPROGRAM_H

#include "dialects/Graph/Collective/Collective.h"
#include "lib/Transforms/Plan/Arena/Packing.h"
#include "lib/Transforms/Plan/Arena/Samples.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace hewn {

struct RankStep {
  /// Of kernels: multiplications and additions, and bytes of which `constants` are read of constants.
  double flop = 0, bytes = 0, constants = 0, launches = 0;
  std::string multiplies;
  /// Bytes of constants that no step before reads.
  double newConstants = 0;
  /// All constants that it reads: which of the program's, and bytes.
  std::vector<std::pair<size_t, double>> reads;
  /// Where it is for ranks to meet: its bytes, and how many the first rank, and all together, move.
  std::optional<graph::Transfer::Kind> transfer;
  double sent = 0, moved = 0, movedOfAll = 0;
};

struct RankProgram {
  std::vector<RankStep> steps;
  /// Bytes that lie in the arena from step to step.
  std::vector<plan::ArenaBlock> blocks;
  /// A value: bytes, the step that makes it, and those that read it, in order.
  struct Value {
    double bytes;
    size_t from;
    std::vector<size_t> readers = {};
    /// The stages that read it, each once, by a function from steps to stages.
    std::vector<int64_t> readersBy(llvm::function_ref<int64_t(size_t)> stageOf) const;
  };
  /// Those that other steps read.
  std::vector<Value> values;
  /// Bytes of the program's inputs, and of each of its results with the step that makes it.
  double inputs = 0;
  std::vector<Value> results;

  /// What is needed to take stages out of it: see divideStages.
  std::vector<double> constantsUpTo() const;
  std::vector<double> crossing() const;
  /// The constants of such a stage: another one may have some of them as well.
  double weightBytes(size_t first, size_t last) const;
  /// The arena of a stage that has the steps from `first` to `last`.
  double arenaBytes(size_t first, size_t last) const;
};

/// Of a module of the plan stage, at these sizes of its open dims.
RankProgram readRankProgram(mlir::ModuleOp module, const plan::Sample &sample);

} // namespace hewn

#endif
