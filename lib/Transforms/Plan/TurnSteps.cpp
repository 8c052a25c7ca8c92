// SPDX-License-Identifier: Apache-2.0
//
// Which launches of a loop's body go over their tasks forwards and backwards by turns.
//
// A recurrence reads the same weights at each step. Where they are larger than the second cache, and each step reads them from the first on, it finds
// none of them there: a cache that keeps what was read last has lost the beginning by the end. If every second step begins at the end, it finds
// as much as the cache holds.
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Transforms/Plan/Passes.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_TURNSTEPSPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

namespace hewn::plan {
namespace {

/// The bytes of what the launch reads and the loop around it does not change, each value counted once in `seen`.
int64_t bytesThatStay(LaunchOp launch, Block &body, llvm::DenseSet<Value> &seen) {
  int64_t bytes = 0;
  for (Value input : launch.getInputs()) {
    Region *made = input.getParentRegion();
    bool changes = made == body.getParent() || body.getParent()->isAncestor(made);
    if (!changes && seen.insert(input).second)
      bytes += bufferBytes(input).constant().value_or(0);
  }
  return bytes;
}

/// A thread prepares sums by limbs before the first of its tasks, which would be done again for each part that is gone over backwards.
bool preparesTasks(KernelOp kernel) {
  auto schedule = dyn_cast_or_null<ContractAttr>(kernel.getScheduleAttr());
  return schedule && schedule.getLimbs() > 0;
}

struct TurnSteps : public hewn::impl::TurnStepsPassBase<TurnSteps> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    TargetAttr target = targetOf(getOperation());
    if (!target || target.getGrid())
      return; // blocks of a grid have no order
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
      all += bytes[launch] = bytesThatStay(launch, body, seen);
    for (auto [launch, own] : bytes) {
      // Of what the others read the cache must have room beside what is found again.
      auto kernel = table.lookup<KernelOp>(launch.getKernel());
      if (own > cacheBytes && all - own < cacheBytes / 2 && kernel && !preparesTasks(kernel))
        launch->setAttr(kTurnsAttr, UnitAttr::get(launch.getContext()));
    }
  }
};

} // namespace
} // namespace hewn::plan
