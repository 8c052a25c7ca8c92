// SPDX-License-Identifier: Apache-2.0
// The stages of a compile as pass pipelines.
#ifndef HEWN_LIB_PIPELINES_PIPELINES_H
#define HEWN_LIB_PIPELINES_PIPELINES_H

#include "lib/Support/Limits.h"
#include "lib/Support/Precision.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "lib/Transforms/Simplify/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace hewn {

namespace partition {
struct RowCosts;
}

struct PipelineOptions {
  /// True if ops are fused into kernels. If false, each op is a kernel of its own, and values keep
  /// the model's layout.
  bool optimize = true;
  /// The lowest precision allowed for float32 contractions. A precision lower than float32 is used
  /// only where it is faster.
  Precision precision = Precision::Highest;
  /// True if constant subgraphs are evaluated at compile time. The context must have an evaluator
  /// (graph::evaluatorOf); without one they are not folded either.
  bool foldConstants = true;
  /// The contractions to quantize, and how to quantize each, as the name of a preset, a file or its
  /// text. If empty, and if `quantization` is null, none is quantized.
  std::string quantizationText;
  /// The quantization of a step of a quantizing compile, instead of `quantizationText`.
  const quantize::Quantization *quantization = nullptr;
  /// If set, contractions are quantized, and the outcome for each candidate is appended here.
  std::vector<QuantizedCandidate> *quantized = nullptr;
  /// If set, the program returns, as additional results, the values that measure the bias of each
  /// quantized contraction, and computes with the float results.
  std::vector<ExposedShift> *shifts = nullptr;
  /// If set, the program computes quantization candidates both in float and in integers, and an
  /// added input selects the result.
  QuantizeTrial *trial = nullptr;
  /// Calibration statistics of operands, or null if there are none.
  const quantize::EvidenceOf *evidence = nullptr;
  /// If set, the program returns the operands to be quantized as additional results, for
  /// calibration.
  std::vector<ExposedOperand> *exposed = nullptr;
  /// Schedules that `hewn tune` has measured, as the text of a tuning file or its path. If empty,
  /// cost models alone choose the schedules.
  std::string tuning;
  /// For a model that is partitioned over ranks: number of ranks that share each contraction, of
  /// pipeline stages, and of micro-batches per batch.
  int64_t tensorRanks = 1, stages = 1, microBatches = 1;
  bool orderedSums = false;
  /// Percentage of the bytes of constants that stay unsharded, because the ops that read them are
  /// sharded spatially, by rows of the feature map. If negative, the cost model decides.
  int64_t lines = -1;
  /// The cost of communication between the ranks of one stage. If null, default costs are assumed.
  std::shared_ptr<const partition::RowCosts> rowCosts;
  /// Number of elementwise operations that constant folding may execute, in addition to a number
  /// per element of the constants.
  int64_t maxFoldedOps = Limits().folding;
};

/// Simplifies an imported graph and checks that its accesses are in bounds.
void buildGraphStage(mlir::OpPassManager &pm, const PipelineOptions &options);
/// Fuses the ops of the graph into kernels. The remaining program launches them.
void buildKernelsStage(mlir::OpPassManager &pm, const PipelineOptions &options);
/// Lowers kernels to functions of loops.
void buildLoopsStage(mlir::OpPassManager &pm, const PipelineOptions &options);
/// Orders the launches and assigns every value a buffer.
void buildPlanStage(mlir::OpPassManager &pm, const PipelineOptions &options);
/// Forms the persistent kernels that the plan stage decided on. This is the last stage before code
/// generation.
void buildPersistentKernelStage(mlir::OpPassManager &pm);

/// Registers the dialects of all ops that the stages create. A context must load them before stages
/// run in parallel, because loading a dialect is not thread-safe.
void registerStageDialects(mlir::DialectRegistry &registry);

/// Registers each stage as --hewn-<name>-stage, with the driver's options and defaults, as far as
/// they are plain values.
void registerPipelines();

} // namespace hewn

#endif
