// SPDX-License-Identifier: Apache-2.0
//
// Says which neighbouring launches become one kernel.
//
// The problem: a launch costs a grid some thousand cycles from the end of one kernel to the beginning of the next, more than the
// work of a step of a recurrence, of decoding, or of a small net. Where all blocks of a kernel run at once they can wait for each
// other instead, in about half of that.
//
//     %0 = plan.launch @a(%x)          %0 = plan.launch @a(%x) {plan.joint = 0}
//     %1 = plan.launch @b(%0)     →    %1 = plan.launch @b(%0) {plan.joint = 0}
//
// Whole scans are joined, or what is inside of them; a scan's states then move from step to step without a copy (Handover.h). A
// kernel whose work is large runs better by itself, with as many blocks as it wants: the model of JointCost.h weighs the two, and
// what is joined is the best way to cut each block of the program. What stays: branches and loops whose trips are known only when
// run, parts of the host, what allocates, kernels with groups of all threads. lib/Codegen/Grid/Joint makes the kernels.
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Transforms/Plan/Join/JointCost.h"
#include "lib/Transforms/Plan/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace hewn {
#define GEN_PASS_DEF_JOINLAUNCHESPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

/// A kernel's arguments have 4 KB on every machine, eight bytes each; some stay for symbols.
constexpr size_t kMostArguments = 440;

/// Values that a kernel of these ops has from outside or gives there.
size_t countArguments(ArrayRef<Operation *> run) {
  llvm::SmallPtrSet<Operation *, 32> inside;
  llvm::SmallPtrSet<void *, 32> values;
  for (Operation *op : run)
    op->walk([&](Operation *inner) { inside.insert(inner); });
  for (Operation *op : run) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *maker = operand.getDefiningOp(); !maker || !inside.contains(maker))
          values.insert(operand.getAsOpaquePointer());
    });
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        values.insert(result.getAsOpaquePointer());
  }
  return values.size();
}

struct JoinLaunches : public hewn::impl::JoinLaunchesPassBase<JoinLaunches> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttr);
    grid = target ? target.getGrid() : GridAttr();
    if (program && !program.isDeclaration() && grid && grid.getMeetingCycles() > 0)
      join(program.getBody().front());
  }

private:
  GridAttr grid;
  int64_t next = 0;

  /// For each op of the block, whether it is joined where all take least time together.
  std::vector<bool> choose(ArrayRef<Operation *> ops) {
    // The least time up to an op that is launched by itself, and up to one that is joined; from which of the two it came.
    double alone = 0, joined = std::numeric_limits<double>::infinity();
    std::vector<std::pair<bool, bool>> from;
    for (Operation *op : ops) {
      JointCost cost = costOf(op, grid);
      double begun = alone + beginning(grid);
      double nextAlone = std::min(alone, joined) + cost.launched;
      double nextJoined =
          whyNotJoined(op).empty() ? std::min(begun, joined) + cost.joined : std::numeric_limits<double>::infinity();
      from.push_back({joined < alone, joined <= begun});
      alone = nextAlone;
      joined = nextJoined;
    }
    std::vector<bool> chosen(ops.size());
    bool state = joined < alone;
    for (size_t i = ops.size(); i-- > 0;) {
      chosen[i] = state;
      state = state ? from[i].second : from[i].first;
    }
    return chosen;
  }

  void join(Block &block) {
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      if (!isa<graph::ConstantOp, func::ReturnOp, graph::YieldOp>(op))
        ops.push_back(&op);
    std::vector<bool> chosen = choose(ops);
    SmallVector<Operation *> run;
    auto finish = [&] {
      mark(run);
      run.clear();
    };
    for (auto [op, isJoined] : llvm::zip(ops, chosen)) {
      if (isJoined) {
        run.push_back(op);
        if (countArguments(run) <= kMostArguments)
          continue;
        run.pop_back();
        finish();
        run.push_back(op);
        continue;
      }
      finish();
      for (Region &region : op->getRegions())
        join(region.front());
    }
    finish();
  }

  void mark(SmallVector<Operation *> run) {
    auto isEdge = [](Operation *op) { return graph::isViewKind(op); };
    while (!run.empty() && isEdge(run.back()))
      run.pop_back();
    double launches = 0;
    for (Operation *op : run)
      launches += costOf(op, grid).launches;
    if (launches < 2)
      return;
    bool begun = false;
    for (Operation *op : run) {
      begun |= !isEdge(op);
      if (begun)
        op->setAttr(kJointAttr, Builder(op->getContext()).getI64IntegerAttr(next));
    }
    ++next;
  }
};

} // namespace
