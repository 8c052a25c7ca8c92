// SPDX-License-Identifier: Apache-2.0
//
// Summarizes the program of a rank step by step: the work of kernels, and the transfers between
// ranks. Any range of steps can become a pipeline stage.
#ifndef HEWN_LIB_COMPILER_PARTITION_RANKPROGRAM_H
#define HEWN_LIB_COMPILER_PARTITION_RANKPROGRAM_H

#include "dialects/Graph/Collective/Collective.h"
#include "lib/Transforms/Plan/Arena/Packing.h"
#include "lib/Transforms/Plan/Arena/Samples.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace hewn {

struct RankStep {
  /// Work of the step's kernels: multiplications plus additions, bytes of operands and results, the
  /// part of these bytes that belongs to constants, and number of launches.
  double flop = 0, bytes = 0, constants = 0, launches = 0;
  std::string multiplies;
  /// Number of bytes of the constants that this step reads and no earlier step does.
  double newConstants = 0;
  /// All constants that the step reads, each with its index in the program and its size in bytes.
  std::vector<std::pair<size_t, double>> reads;
  /// The transfer between ranks, if the step is one. `sent`: bytes of the transferred tensor.
  /// `moved`, `movedOfAll`: bytes that the first rank, and all ranks together, send or receive for
  /// it.
  std::optional<graph::Transfer::Kind> transfer;
  double sent = 0, moved = 0, movedOfAll = 0;
};

struct RankProgram {
  std::vector<RankStep> steps;
  /// Buffers of the rank's arena. Their lifetimes are ranges of steps.
  std::vector<plan::ArenaBlock> blocks;
  /// A value that is passed between steps of the program: its size in bytes, the step that produces
  /// it, and the steps that read it, in ascending order.
  struct Value {
    double bytes;
    size_t from;
    std::vector<size_t> readers = {};
    /// Returns the numbers of the pipeline stages that read the value, each number once. `stageOf`
    /// returns the stage of a step.
    std::vector<int64_t> readersBy(llvm::function_ref<int64_t(size_t)> stageOf) const;
  };
  /// The values that a step produces and another step reads.
  std::vector<Value> values;
  /// `inputs`: number of bytes of all inputs of the program. `results`: its results, each with the
  /// step that produces it.
  double inputs = 0;
  std::vector<Value> results;

  /// Return the arguments for partition::divideStages: for each step, the bytes of constants that
  /// the steps up to it read, and the bytes of values that cross the boundary after it.
  std::vector<double> constantsUpTo() const;
  std::vector<double> crossing() const;
  /// Returns the number of bytes of constants that steps `first` to `last` read. A constant may be
  /// read by several stages.
  double weightBytes(size_t first, size_t last) const;
  /// Returns the arena size in bytes of a stage that consists of steps `first` to `last`.
  double arenaBytes(size_t first, size_t last) const;
};

/// Summarizes a plan-stage module. `sample` has the values that are assumed for dynamic dims.
RankProgram readRankProgram(mlir::ModuleOp module, const plan::Sample &sample);

} // namespace hewn

#endif
