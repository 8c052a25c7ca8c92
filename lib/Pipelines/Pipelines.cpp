// SPDX-License-Identifier: Apache-2.0
#include "lib/Pipelines/Pipelines.h"

#include "lib/Codegen/Passes.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Transforms/Batch/Passes.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Layout/Passes.h"
#include "lib/Transforms/Lower/Passes.h"
#include "lib/Transforms/Partition/Passes.h"
#include "lib/Transforms/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace hewn {

/// Adds the pass that folds constants, unless the options disable it.
static void foldConstants(OpPassManager &pm, const PipelineOptions &options, KeptCodes kept) {
  if (!options.foldConstants)
    return;
  FoldConstantsPassOptions folding;
  folding.maxFoldedOps = options.maxFoldedOps;
  folding.kept = kept;
  pm.addNestedPass<func::FuncOp>(createFoldConstantsPass(folding));
}

void buildGraphStage(OpPassManager &pm, const PipelineOptions &options) {
  // Lower strings, sequences and optional values to integer handles.
  pm.addPass(createLowerHandlesPass());
  // Merge equal ops and erase unused ones.
  pm.addPass(createCSEPass());
  // Decompose composite ops into simpler ops.
  pm.addPass(createDecomposeOpsPass());
  pm.addNestedPass<func::FuncOp>(createEraseDeadOpsPass());
  pm.addPass(createCSEPass());
  // Raise Cast/Sub/Mul chains over integer constants to `graph.dequantize`.
  if (options.optimize && options.foldConstants)
    pm.addNestedPass<func::FuncOp>(createRaiseDequantizePass());
  // Quantize the contractions that the user selected. Fold constants before, because only
  // contractions with constant weights can be quantized.
  if (options.quantization || !options.quantizationText.empty()) {
    foldConstants(pm, options, KeptCodes::Matrices);
    if (options.exposed)
      pm.addNestedPass<func::FuncOp>(createInsertObserversPass(options.quantization, options.exposed));
    QuantizeContractionsPassOptions quantizing;
    quantizing.text = options.quantizationText;
    quantizing.tables = options.tensorRanks <= 1;
    quantizing.precision = options.precision;
    if (options.quantized || !options.quantization)
      pm.addNestedPass<func::FuncOp>(createQuantizeContractionsPass(
          quantizing, {options.quantization, options.quantized, options.shifts, options.trial, options.evidence}));
  }
  // Gather rows of a quantized embedding table first, then dequantize only those rows.
  if (options.optimize && options.tensorRanks <= 1)
    pm.addNestedPass<func::FuncOp>(createGatherBeforeDequantizePass());
  // Compute contractions of two dequantized tensors on their integers.
  if (options.optimize) {
    pm.addNestedPass<func::FuncOp>(createFormIntegerContractionsPass());
    pm.addPass(createCSEPass());
  }
  // Insert run-time guards for the dims that the types leave dynamic.
  pm.addNestedPass<func::FuncOp>(createInsertShapeGuardsPass());
  // Fold constants. Low-bit weights stay integers, since a kernel may read them packed.
  KeptCodes kept = options.optimize ? KeptCodes::All : KeptCodes::None;
  foldConstants(pm, options, kept);
  // Reduce a model that is partitioned over ranks to the program of this rank. Its shards of
  // constants are folded.
  if (options.tensorRanks > 1 || options.stages > 1) {
    pm.addNestedPass<func::FuncOp>(createPartitionPass(
        {options.tensorRanks, options.stages, options.microBatches, options.orderedSums, options.lines},
        options.rowCosts));
    // Insert shape guards again, because micro-batches introduce new sizes.
    if (options.microBatches > 1)
      pm.addNestedPass<func::FuncOp>(createInsertShapeGuardsPass());
    pm.addPass(createCSEPass());
    foldConstants(pm, options, kept);
  }
  // Verify that no op accesses memory out of bounds: by its types, by a shape guard, or by a check
  // at run time.
  pm.addNestedPass<func::FuncOp>(createVerifyInBoundsPass());
}

void buildKernelsStage(OpPassManager &pm, const PipelineOptions &options) {
  if (options.optimize) {
    // Keep low-bit weights packed where the cost model prefers it: their scales are applied after
    // accumulation, or the kernel dequantizes them. Fold all other low-bit weights to float.
    SinkWeightScalesPassOptions scales;
    scales.precision = options.precision;
    pm.addNestedPass<func::FuncOp>(createSinkWeightScalesPass(scales));
    PackLowBitWeightsPassOptions packing;
    packing.precision = options.precision;
    pm.addNestedPass<func::FuncOp>(createPackLowBitWeightsPass(packing));
    pm.addPass(createCSEPass());
    foldConstants(pm, options, KeptCodes::None);
    // Merge GEMVs that use the same weights into one GEMM.
    pm.addNestedPass<func::FuncOp>(createMergeGemvsPass());
    // Sink reshapes below elementwise ops, so that these fuse into the contraction's epilogue.
    pm.addNestedPass<func::FuncOp>(createSinkReshapesPass());
    // Loop over batch elements where the tensors of the full batch exceed the caches.
    pm.addNestedPass<func::FuncOp>(createTileBatchPass());
    // Compute float32 contractions in bfloat16 where the target is faster at it, and convert
    // integer operands to types that the target's instructions multiply. Constant weights are
    // converted at compile time.
    LowerMatmulPrecisionPassOptions lowering;
    lowering.precision = options.precision;
    pm.addNestedPass<func::FuncOp>(createLowerMatmulPrecisionPass(lowering));
    LegalizeMatmulTypesPassOptions legalize;
    legalize.largestTile = plan::largestWinogradTile(options.precision);
    pm.addNestedPass<func::FuncOp>(createLegalizeMatmulTypesPass(legalize));
    // Lower 1x1 convolutions that stay NCHW to a matmul vectorized along the pixels. Sink reshapes
    // again, so that elementwise ops fuse into the epilogues of these new matmuls.
    pm.addNestedPass<func::FuncOp>(createPointwiseConvToMatmulPass());
    pm.addNestedPass<func::FuncOp>(createExpandChannelMultiplierPass());
    pm.addNestedPass<func::FuncOp>(createSinkReshapesPass());
    pm.addPass(createCSEPass());
    foldConstants(pm, options, KeptCodes::None);
    // Rewrite matrix-vector products whose matrix is contiguous along K as multiply + reduce.
    pm.addNestedPass<func::FuncOp>(createMatvecToReductionPass());
    // Erase dead ops before layouts are assigned. The CSE pass visits an op before its users, so it
    // erases an unused op, but not the op's operands, which become unused only then.
    pm.addNestedPass<func::FuncOp>(createEraseDeadOpsPass());
    // Choose the layout of each tensor, and pack constants into their layout.
    AssignLayoutsPassOptions layouts;
    layouts.largestTile = plan::largestWinogradTile(options.precision);
    pm.addNestedPass<func::FuncOp>(createAssignLayoutsPass(layouts));
    pm.addNestedPass<func::FuncOp>(createPackConstantsPass());
    pm.addPass(createCSEPass());
  }
  // Decide which ops form a kernel; FormFusionGroups applies the decision.
  DecideFusionPassOptions fusion;
  fusion.fuse = options.optimize;
  pm.addNestedPass<func::FuncOp>(createDecideFusionPass(fusion));
  if (options.optimize) {
    // Sink dequantize and extend ops into the fusion groups of their users. Replace the division of
    // a quantize op by a multiplication where the results are equal.
    pm.addNestedPass<func::FuncOp>(createSinkDequantizePass());
    if (options.foldConstants)
      pm.addNestedPass<func::FuncOp>(createFoldToLookupTablePass());
    pm.addNestedPass<func::FuncOp>(createQuantizeByReciprocalPass());
  }
  pm.addNestedPass<func::FuncOp>(createFormFusionGroupsPass());
  pm.addPass(createOutlineKernelsPass());
  if (options.optimize) {
    // Choose the tiles of GPU contractions. Where the schedule splits K, a second kernel sums the
    // partials.
    pm.addNestedPass<plan::KernelOp>(createSelectGpuTilesPass());
    pm.addPass(createSplitKPass());
    // Mark weights of recurrences that GPU blocks may keep in shared memory over all time steps.
    pm.addPass(createMarkResidentWeightsPass());
  }
  // Allocate concat operands as subviews of the result; the concat becomes a no-op.
  if (options.optimize) {
    pm.addPass(createConcatInPlacePass());
    // Choose the schedule of each kernel, and add the scratch memory that the schedules need.
    codegen::AssignSchedulesPassOptions schedules;
    schedules.tuning = options.tuning;
    pm.addNestedPass<plan::KernelOp>(codegen::createAssignSchedulesPass(schedules));
    pm.addPass(createInsertScratchPass());
  }
  // Alternate the task order of kernels in loop bodies, so that a step starts with the data that
  // the previous one left in cache.
  if (options.optimize)
    pm.addPass(createAlternateTaskOrderPass());
  // Mark launches whose result may overwrite the buffer of an input.
  pm.addPass(createMarkInPlacePass());
  pm.addPass(createVerifyKernelsPass());
}

void buildLoopsStage(OpPassManager &stage, const PipelineOptions &options) {
  OpPassManager &pm = stage.nest<plan::KernelOp>();
  if (!options.optimize) {
    // Lower kernels at -O0, the reference that tests compare with: one loop nest per op, with math
    // functions from libm.
    pm.addPass(createLowerKernelsNaivePass());
    pm.addPass(createConvertLinalgToLoopsPass());
    codegen::ExpandMathPassOptions math;
    math.libm = true;
    pm.addPass(codegen::createExpandMathPass(math));
    pm.addPass(codegen::createExpandFloat8Pass());
    return;
  }
  // Generate the loops of each kernel according to its schedule.
  pm.addPass(codegen::createLowerKernelsPass());
  // Expand exp, tanh and similar math functions in kernels to vector arithmetic.
  pm.addPass(codegen::createExpandMathPass());
  // Emulate float8 by integer arithmetic.
  pm.addPass(codegen::createExpandFloat8Pass());
}

void buildPlanStage(OpPassManager &pm, const PipelineOptions &options) {
  // Reorder launches to lower the peak of live memory.
  pm.addPass(createOrderLaunchesPass());
  // Insert copies between host and device memory.
  pm.addPass(createInsertTransfersPass());
  // Assign every value a buffer.
  pm.addPass(createPlanMemoryPass());
  pm.addPass(createVerifyPlanPass());
  // Decide which launches become phases of persistent kernels, because a launch costs more than the
  // work that it starts.
  pm.addPass(createDecidePersistentKernelsPass());
}

void buildPersistentKernelStage(OpPassManager &pm) {
  // Merge the launches that were chosen as phases into persistent kernels with grid-wide barriers.
  pm.addPass(codegen::createFormPersistentKernelsPass());
}

void registerStageDialects(DialectRegistry &registry) {
  for (bool optimize : {false, true}) {
    PipelineOptions options;
    options.optimize = optimize;
    OpPassManager pm(ModuleOp::getOperationName(), OpPassManager::Nesting::Implicit);
    for (auto build : {buildGraphStage, buildKernelsStage, buildLoopsStage, buildPlanStage})
      build(pm, options);
    buildPersistentKernelStage(pm);
    pm.getDependentDialects(registry);
  }
}

namespace {

/// The values of PipelineOptions that a pipeline text can have.
struct StageOptions : PassPipelineOptions<StageOptions> {
  Option<bool> optimize{*this, "optimize",
                        llvm::cl::desc("Fuse ops and choose layouts; if false, each op is its own kernel"),
                        llvm::cl::init(PipelineOptions().optimize)};
  Option<Precision> precision{*this, "precision", llvm::cl::desc("Precision of float32 matmuls and convolutions"),
                              llvm::cl::init(PipelineOptions().precision), precisionValues()};
  Option<bool> foldConstants{*this, "fold-constants", llvm::cl::desc("Evaluate constant subgraphs at compile time"),
                             llvm::cl::init(PipelineOptions().foldConstants)};
  Option<int64_t> maxFoldedOps{*this, "max-folded-ops",
                               llvm::cl::desc("Element operations that constant folding may execute, in addition to a "
                                              "number per element of the constants"),
                               llvm::cl::init(PipelineOptions().maxFoldedOps)};
  Option<std::string> quantization{*this, "quantization",
                                   llvm::cl::desc("A preset (int8, int4), a quantization file or its text")};
  Option<std::string> tuning{*this, "tuning", llvm::cl::desc("Measured schedules: a file or its text")};
  Option<int64_t> tensorRanks{*this, "tensor", llvm::cl::desc("Number of ranks that share each contraction"),
                              llvm::cl::init(PipelineOptions().tensorRanks)};
  Option<int64_t> stages{*this, "stages", llvm::cl::desc("Number of pipeline stages of the ranks"),
                         llvm::cl::init(PipelineOptions().stages)};
  Option<int64_t> microBatches{*this, "micro-batches", llvm::cl::desc("Number of micro-batches per batch"),
                               llvm::cl::init(PipelineOptions().microBatches)};
  Option<bool> orderedSums{*this, "ordered-sums", llvm::cl::desc("Sum over ranks in rank order (deterministic)"),
                           llvm::cl::init(PipelineOptions().orderedSums)};
  Option<int64_t> lines{*this, "lines",
                        llvm::cl::desc("Percentage of the bytes of constants whose ops are sharded by rows of the "
                                       "feature map; below 0: chosen by cost"),
                        llvm::cl::init(PipelineOptions().lines)};
};

PipelineOptions valuesOf(const StageOptions &given) {
  PipelineOptions options;
  options.optimize = given.optimize;
  options.precision = given.precision;
  options.foldConstants = given.foldConstants;
  options.maxFoldedOps = given.maxFoldedOps;
  options.quantizationText = given.quantization;
  options.tuning = given.tuning;
  options.tensorRanks = given.tensorRanks;
  options.stages = given.stages;
  options.microBatches = given.microBatches;
  options.orderedSums = given.orderedSums;
  options.lines = given.lines;
  return options;
}

} // namespace

void registerPipelines() {
  auto add = [&](StringRef name, StringRef summary, void (*build)(OpPassManager &, const PipelineOptions &)) {
    PassPipelineRegistration<StageOptions>(
        name, summary, [build](OpPassManager &pm, const StageOptions &given) { build(pm, valuesOf(given)); });
  };
  add("hewn-graph-stage", "Simplify and check an imported graph", buildGraphStage);
  add("hewn-kernels-stage", "Fuse the graph into kernels and choose their schedules", buildKernelsStage);
  add("hewn-loops-stage", "Lower kernels to loops", buildLoopsStage);
  add("hewn-plan-stage", "Order launches and assign every value a buffer", buildPlanStage);
}

} // namespace hewn
