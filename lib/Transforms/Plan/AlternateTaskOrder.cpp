// SPDX-License-Identifier: Apache-2.0
//
// Alternates the task order of kernels in loop bodies, so that a step starts with the weights that
// the previous step left in cache (see Passes.td).
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Plan/Passes.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_ALTERNATETASKORDERPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

namespace hewn::plan {
namespace {

/// Returns the bytes of the launch's loop-invariant inputs that are not in `seen` yet, so that
/// inputs of several launches count once.
int64_t loopInvariantBytes(LaunchOp launch, Block &body, llvm::DenseSet<Value> &seen) {
  int64_t bytes = 0;
  for (Value input : launch.getInputs()) {
    Region *made = input.getParentRegion();
    bool changes = made == body.getParent() || body.getParent()->isAncestor(made);
    if (!changes && seen.insert(input).second)
      bytes += bufferBytes(input).constant().value_or(0);
  }
  return bytes;
}

/// Returns true for kernels that multiply int8 slices of activations (Ozaki split). Their threads
/// split the activations into slices before the first task. In reversed order, they would have to
/// repeat that for each split-K partial.
bool usesInt8Slices(KernelOp kernel) {
  auto schedule = dyn_cast_or_null<ContractAttr>(kernel.getScheduleAttr());
  return schedule && schedule.getInt8Slices() > 0;
}

struct AlternateTaskOrder : public hewn::impl::AlternateTaskOrderPassBase<AlternateTaskOrder> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    TargetAttr target = targetOf(getOperation());
    if (!target || !supports(getOperation(), KernelFeature::OrderedTasks))
      return;
    getOperation().walk([&](graph::ControlOpInterface loop) {
      if (loop.isLoop())
        decide(loop.getLoopBody(), table, target.getL2Bytes());
    });
  }

  static void decide(Block &body, SymbolTable &table, int64_t cacheBytes) {
    llvm::SmallMapVector<LaunchOp, int64_t, 8> bytes;
    llvm::DenseSet<Value> seen;
    int64_t all = 0;
    for (auto launch : body.getOps<LaunchOp>())
      all += bytes[launch] = loopInvariantBytes(launch, body, seen);
    for (auto [launch, own] : bytes) {
      // The loop-invariant operands of the loop's other launches must leave half of the cache free,
      // so that this launch's weights stay in cache until the next step.
      auto kernel = plan::findGraphKernel(table, launch.getKernel());
      if (own > cacheBytes && all - own < cacheBytes / 2 && kernel && !usesInt8Slices(kernel))
        launch->setAttr(kAlternatesAttr, UnitAttr::get(launch.getContext()));
    }
  }
};

} // namespace
} // namespace hewn::plan
