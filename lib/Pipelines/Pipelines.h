// SPDX-License-Identifier: Apache-2.0
//
// The stages of a compile, as pipelines.
#ifndef HEWN_LIB_PIPELINES_PIPELINES_H
#define HEWN_LIB_PIPELINES_PIPELINES_H

#include "lib/Schedule/Tuning.h"
#include "lib/Support/Limits.h"
#include "lib/Support/Precision.h"
#include "lib/Support/WeightTable.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "lib/Transforms/Simplify/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace hewn {

namespace partition {
struct RowCosts;
}

struct PipelineOptions {
  /// Off: every op is a kernel of its own, in the model's layout.
  bool optimize = true;
  /// How exact products of float32 must be, where others are faster.
  Precision precision = Precision::Highest;
  /// Constants' bytes. Null: what needs them is left out.
  WeightTable *weights = nullptr;
  /// Whether another module of the same compile reads them too, or will.
  bool sharesWeights = false;
  /// Runs what is constant; null: it stays.
  ConstantEvaluator evaluate;
  /// What is to become integers; null: nothing.
  const quantize::Quantization *quantization = nullptr;
  /// Where given, that is done, and what became of each contraction is told here.
  std::vector<QuantizedSite> *quantized = nullptr;
  /// Where given, what that shifts is told by results of the program, which goes on with floats.
  std::vector<ExposedShift> *shifts = nullptr;
  /// Where given, they are computed both ways, and an input more says how far each is which.
  QuantizeTrial *trial = nullptr;
  /// What runs showed of operands; null: nothing.
  const quantize::EvidenceOf *evidence = nullptr;
  /// Where given, the operands that are to become integers are results of the program too.
  std::vector<ExposedOperand> *exposed = nullptr;
  /// Schedules that were measured, and the machine that code is made for, as they name it; null: the models decide alone.
  const plan::Tuning *tuning = nullptr;
  std::string machine;
  /// Of a model that is split over ranks: among how many contractions are cut, in how many stages, through which a batch goes in how many parts, and for
  /// which rank the program is.
  int64_t tensorRanks = 1, stages = 1, microBatches = 1, rank = 0;
  bool orderedSums = false;
  /// Percent of the constants' bytes that such ranks have whole, to share by lines what reads them; below 0: as is best.
  int64_t lines = -1;
  /// What it takes to hand bytes among the former; null: nothing is known of their links.
  std::shared_ptr<const partition::RowCosts> rowCosts;
  /// How many operations on elements folding may take, beside some for each element of the constants.
  int64_t maxFoldedOps = Limits().folding;
};

/// An imported graph, simplified.
void buildGraphStage(mlir::OpPassManager &pm, const PipelineOptions &options);
/// The graph as kernels and a program that launches them.
void buildKernelsStage(mlir::OpPassManager &pm, const PipelineOptions &options);
/// Kernels as functions of loops.
void buildLoopsStage(mlir::OpPassManager &pm, const PipelineOptions &options);
/// The program with a place for every value.
void buildPlanStage(mlir::OpPassManager &pm, const PipelineOptions &options);
/// What the plan says of launches that become one kernel, done: the last step before code is made.
void buildJointStage(mlir::OpPassManager &pm);

/// Each stage as --hewn-<name>-stage, with the driver's options and their defaults. `weights` outlives all pipelines: of what a text
/// names it has no bytes, but what these stages pack goes there. Nothing is evaluated.
void registerPipelines(WeightTable &weights);

} // namespace hewn

#endif
