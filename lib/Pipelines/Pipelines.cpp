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

void buildGraphStage(OpPassManager &pm, const PipelineOptions &options) {
  // Strings and sequences are integers that stand for them from here on.
  pm.addPass(createLowerHandlesPass());
  // Equal ops become one, unused ones go.
  pm.addPass(createCSEPass());
  // Ops that are defined by others are written in them.
  pm.addPass(createComposeOpsPass());
  pm.addNestedPass<func::FuncOp>(createEraseUnreadPass());
  pm.addPass(createCSEPass());
  // Weights that come in few bits are seen as such, whatever ops make floats of them.
  if (options.optimize && options.weights && options.evaluate)
    pm.addNestedPass<func::FuncOp>(createRecognizeCodesPass(options.weights, options.evaluate));
  // Contractions become integers as the user wants them to; their weights must be constants for that.
  if (options.quantization) {
    if (options.weights && options.evaluate)
      pm.addNestedPass<func::FuncOp>(
          createFoldConstantsPass(options.weights, options.evaluate, options.maxFoldedOps, KeptCodes::Matrices));
    if (options.exposed)
      pm.addNestedPass<func::FuncOp>(createExposeOperandsPass(options.quantization, options.exposed));
    if (options.quantized)
      pm.addNestedPass<func::FuncOp>(createQuantizeContractionsPass(
          {options.quantization, options.weights, options.quantized, options.shifts, options.trial, options.evidence,
           /*tables=*/options.tensorRanks <= 1, options.precision}));
  }
  // Tables in narrow elements stay so where rows of them are looked up.
  if (options.optimize && options.tensorRanks <= 1)
    pm.addNestedPass<func::FuncOp>(createLookUpNarrowPass());
  // Products of quantized tensors are products of integers.
  if (options.optimize) {
    pm.addNestedPass<func::FuncOp>(createFormIntegerContractionsPass(options.weights));
    pm.addPass(createCSEPass());
  }
  // What a run must check of dims that the types leave open.
  pm.addNestedPass<func::FuncOp>(createRequireDimsPass());
  // What is constant is run now, but for weights that a machine may take as integers.
  if (options.weights && options.evaluate)
    pm.addNestedPass<func::FuncOp>(createFoldConstantsPass(options.weights, options.evaluate, options.maxFoldedOps,
                                                           options.optimize ? KeptCodes::All : KeptCodes::None));
  // One rank's share of a model that several run, and its parts of the constants.
  if (options.tensorRanks > 1 || options.stages > 1) {
    pm.addNestedPass<func::FuncOp>(createPartitionPass(
        {options.tensorRanks, options.stages, options.microBatches, options.orderedSums, options.lines, options.rank},
        options.weights, options.rowCosts));
    // Parts of a batch are of sizes that nobody has looked at.
    if (options.microBatches > 1)
      pm.addNestedPass<func::FuncOp>(createRequireDimsPass());
    pm.addPass(createCSEPass());
    if (options.weights && options.evaluate)
      pm.addNestedPass<func::FuncOp>(createFoldConstantsPass(options.weights, options.evaluate, options.maxFoldedOps,
                                                             options.optimize ? KeptCodes::All : KeptCodes::None));
  }
  // Every access is inside of its tensor, or looked at before.
  pm.addNestedPass<func::FuncOp>(createVerifyAccessesPass());
}

void buildKernelsStage(OpPassManager &pm, const PipelineOptions &options) {
  if (options.optimize) {
    // Weights in few bits stay so where this machine gains from it: scales are taken behind the sums, or weights are decoded. The others are floats
    // from here on.
    ScaleBehindSumsPassOptions scales;
    scales.precision = options.precision;
    pm.addNestedPass<func::FuncOp>(createScaleBehindSumsPass(scales, options.weights));
    FormCodesPassOptions codes;
    codes.precision = options.precision;
    pm.addNestedPass<func::FuncOp>(createFormCodesPass(codes, options.weights));
    pm.addPass(createCSEPass());
    if (options.weights && options.evaluate)
      pm.addNestedPass<func::FuncOp>(createFoldConstantsPass(options.weights, options.evaluate, options.maxFoldedOps));
    // Rows that are multiplied one after another by the same weights are multiplied at once.
    pm.addNestedPass<func::FuncOp>(createJoinRowsPass());
    // What is done with a contraction's result is done in its shape.
    pm.addNestedPass<func::FuncOp>(createSinkReshapesPass());
    // One item of a batch after another, where all of them would not fit the caches.
    pm.addNestedPass<func::FuncOp>(createLoopBatchesPass());
    // Products in bfloat16 where the machine is faster at them, of integers as the machine has them; weights are rounded and
    // widened now.
    NarrowContractionsPassOptions narrow;
    narrow.precision = options.precision;
    pm.addNestedPass<func::FuncOp>(createNarrowContractionsPass(narrow, options.weights));
    WidenContractionsPassOptions widen;
    widen.largestTile = plan::largestWinogradTile(options.precision);
    pm.addNestedPass<func::FuncOp>(createWidenContractionsPass(widen, options.weights));
    // Pictures that nothing wants with their channels last are multiplied as they are, and what is done with the products is in their shape.
    pm.addNestedPass<func::FuncOp>(createFormPixelProductsPass());
    pm.addNestedPass<func::FuncOp>(createRepeatChannelsPass());
    pm.addNestedPass<func::FuncOp>(createSinkReshapesPass());
    pm.addPass(createCSEPass());
    if (options.weights && options.evaluate)
      pm.addNestedPass<func::FuncOp>(createFoldConstantsPass(options.weights, options.evaluate, options.maxFoldedOps));
    // A matrix that is read once, along its sum, is no product of tiles.
    pm.addNestedPass<func::FuncOp>(createReduceDotsPass());
    // Nothing is laid out for ops that nobody reads: those before an unread one that CSE, which walks forward, has taken away.
    pm.addNestedPass<func::FuncOp>(createEraseUnreadPass());
    // Orders of dims in memory, and constants packed to them.
    AssignLayoutsPassOptions layouts;
    layouts.largestTile = plan::largestWinogradTile(options.precision);
    pm.addNestedPass<func::FuncOp>(createAssignLayoutsPass(layouts));
    pm.addNestedPass<func::FuncOp>(createPackConstantsPass(options.weights, options.sharesWeights));
    pm.addPass(createCSEPass());
  }
  // Which ops become one kernel: decided, then done.
  DecideGroupsPassOptions groups;
  groups.fuse = options.optimize;
  pm.addNestedPass<func::FuncOp>(createDecideGroupsPass(groups));
  if (options.optimize) {
    // What makes wide elements of narrow ones is in the groups that read it, and no number that becomes an integer is divided.
    pm.addNestedPass<func::FuncOp>(createWidenAtReadersPass());
    if (options.evaluate)
      pm.addNestedPass<func::FuncOp>(createTabulateCodesPass(options.evaluate));
    pm.addNestedPass<func::FuncOp>(createQuantizeByReciprocalPass());
  }
  pm.addNestedPass<func::FuncOp>(createFormGroupsPass());
  pm.addPass(createOutlineKernelsPass());
  if (options.optimize) {
    // How a grid multiplies matrices: decided, then what of it needs a kernel more.
    pm.addPass(createChooseTilesPass());
    pm.addPass(createSplitKPass());
    // Weights of a recurrence that blocks may keep over its steps.
    pm.addPass(createKeepConstantsPass());
  }
  // What is only put one after another is made where it belongs.
  if (options.optimize) {
    pm.addPass(createPlaceSubviewsPass());
    // How each kernel is computed, and the memory that it needs for that.
    pm.addPass(codegen::createDecideKernelsPass(options.tuning, options.machine));
  }
  // Which launches find in the cache what the step before them read last.
  if (options.optimize)
    pm.addPass(createTurnStepsPass());
  // Which launches may write over an input.
  pm.addPass(createMarkInPlacePass());
  pm.addPass(createVerifyKernelsPass());
}

void buildLoopsStage(OpPassManager &pm, const PipelineOptions &options) {
  if (!options.optimize) {
    // The oracle: a loop nest an op, and the C library's functions.
    pm.addPass(createLowerKernelsNaivePass());
    pm.addPass(createConvertLinalgToLoopsPass());
    codegen::ExpandMathPassOptions math;
    math.libm = true;
    pm.addPass(codegen::createExpandMathPass(math));
    pm.addPass(codegen::createExpandFloat8Pass());
    return;
  }
  // Each kernel by the engine that has the best form for it.
  pm.addPass(codegen::createLowerKernelsPass());
  // exp, tanh and kin as vector arithmetic of our own.
  pm.addPass(codegen::createExpandMathPass());
  // float8 as integer arithmetic.
  pm.addPass(codegen::createExpandFloat8Pass());
}

void buildPlanStage(OpPassManager &pm, const PipelineOptions &options) {
  // An order in which less is live at once.
  pm.addPass(createOrderLaunchesPass());
  // Where kernels run on a device with memory of its own: what crosses between it and the host.
  pm.addPass(createInsertCopiesPass());
  // A place for every value.
  pm.addPass(createPlanMemoryPass());
  pm.addPass(createVerifyPlanPass());
  // Which launches cost more than what they launch.
  pm.addPass(createJoinLaunchesPass());
}

void buildJointStage(OpPassManager &pm) {
  // Those become one kernel, whose blocks wait for each other.
  pm.addPass(codegen::createFormJointsPass());
}

namespace {

/// What the driver takes from its flags, with the flags' defaults.
struct StageOptions : PassPipelineOptions<StageOptions> {
  Option<bool> optimize{*this, "optimize",
                        llvm::cl::desc("Off: every op is a kernel of its own, in the model's layout"),
                        llvm::cl::init(PipelineOptions().optimize)};
  Option<Precision> precision{*this, "precision", llvm::cl::desc("How exact products of float32 must be"),
                              llvm::cl::init(PipelineOptions().precision), precisionValues()};
};

} // namespace

void registerPipelines(WeightTable &weights) {
  auto add = [&](StringRef name, StringRef summary, void (*build)(OpPassManager &, const PipelineOptions &)) {
    PassPipelineRegistration<StageOptions>(name, summary,
                                           [&weights, build](OpPassManager &pm, const StageOptions &given) {
                                             PipelineOptions options;
                                             options.optimize = given.optimize;
                                             options.precision = given.precision;
                                             options.weights = &weights;
                                             build(pm, options);
                                           });
  };
  add("hewn-graph-stage", "An imported graph, simplified", buildGraphStage);
  add("hewn-kernels-stage", "The graph as kernels and a program", buildKernelsStage);
  add("hewn-loops-stage", "Kernels as functions of loops", buildLoopsStage);
  add("hewn-plan-stage", "The program with a place for every value", buildPlanStage);
}

} // namespace hewn
