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
// kernel whose work is large runs better by itself, with as many blocks as it wants: the model of JointCost.h weighs the two. All
// parts of a kernel get the registers, threads and shared memory that the largest wants (Occupancy.h), so that parts of different
// kinds may be better in kernels of their own. What is joined is the best way to cut each block of the program. What stays: branches
// and loops whose trips are known only when run, parts of the host, what allocates, kernels with groups of all threads.
// lib/Codegen/Grid/Joint makes the kernels.
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Plan/Join/JointCost.h"
#include "lib/Transforms/Plan/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>
#include <set>

namespace hewn {
#define GEN_PASS_DEF_JOINLAUNCHESPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

/// Joint kernels have copies of their parts, which are long where these multiply matrices, and registers as the largest part wants them: by
/// the model they must take so much less.
constexpr double kWorthIt = 1.2;

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
    if (program && !program.isDeclaration() && grid && grid.getCosts().getGridBarrierCycles() > 0)
      join(program.getBody().front());
  }

private:
  GridAttr grid;
  int64_t next = 0;

  /// What joint kernels of these ops may be given: of each thing an amount that one of them wants.
  std::vector<KernelNeeds> possibleNeeds(ArrayRef<DeviceWork> ops) {
    // Estimates that differ by less are one amount.
    constexpr int64_t registerStep = 32, sharedStep = 8 << 10;
    std::set<int64_t> threads, registers, shared;
    for (const DeviceWork &op : ops)
      if (op.needs().threads > 0) {
        threads.insert(op.needs().threads);
        registers.insert(std::min(int64_t(llvm::alignTo(op.needs().registers, registerStep)),
                                  grid.getLimits().getMaxThreadRegisters()));
        shared.insert(int64_t(llvm::alignTo(op.needs().sharedBytes, sharedStep)));
      }
    std::vector<KernelNeeds> all = {{}}; // for what launches nothing
    for (int64_t t : threads)
      for (int64_t r : registers)
        for (int64_t s : shared)
          if (KernelNeeds needs{t, r, s}; blocksAtOnce(needs, grid) > 0)
            all.push_back(needs);
    return all;
  }

  /// For each op of the block, in which kind of joint kernel it is where all take least time together, -1: in none. Neighbours of one
  /// kind are one kernel.
  std::vector<int> choose(ArrayRef<Operation *> ops) {
    constexpr double never = std::numeric_limits<double>::infinity();
    std::vector<DeviceWork> works;
    for (Operation *op : ops)
      works.emplace_back(op, grid);
    std::vector<KernelNeeds> kinds = possibleNeeds(works);
    // The least time up to an op that is launched by itself (kind -1, the last one), and up to one that is a part; which came before.
    size_t alone = kinds.size();
    std::vector<double> least(kinds.size() + 1, never);
    least[alone] = 0;
    std::vector<std::vector<int>> from(ops.size());
    for (auto [i, work] : llvm::enumerate(works)) {
      bool canJoin = whyNotJoined(ops[i]).empty();
      size_t best = size_t(std::min_element(least.begin(), least.end()) - least.begin());
      if (least[alone] <= least[best])
        best = alone;
      std::vector<double> next(kinds.size() + 1, never);
      from[i].assign(kinds.size() + 1, int(best));
      next[alone] = least[best] + work.launched();
      for (auto [kind, needs] : llvm::enumerate(kinds)) {
        if (!canJoin || needs.with(work.needs()) != needs)
          continue;
        double begun = least[best] + beginning(grid);
        if (least[kind] <= begun)
          from[i][kind] = int(kind);
        next[kind] = std::min(least[kind], begun) + kWorthIt * work.joined(needs);
      }
      least = std::move(next);
    }
    std::vector<int> chosen(ops.size());
    size_t state = size_t(std::min_element(least.begin(), least.end()) - least.begin());
    if (!least.empty() && least[alone] <= least[state])
      state = alone;
    for (size_t i = ops.size(); i-- > 0;) {
      chosen[i] = state == alone ? -1 : int(state);
      state = size_t(from[i][state]);
    }
    return chosen;
  }

  void join(Block &block) {
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      if (!isa<graph::ConstantOp, func::ReturnOp, graph::YieldOp>(op))
        ops.push_back(&op);
    std::vector<int> chosen = choose(ops);
    for (Operation *op : ops)
      if (auto launch = dyn_cast<LaunchOp>(op))
        if (StringRef why = whyNotJoined(launch); !why.empty())
          missed(launch, getArgument(), "NotJoined", why);
    SmallVector<Operation *> run;
    auto finish = [&] {
      mark(run);
      run.clear();
    };
    int last = -1;
    for (auto [op, kind] : llvm::zip(ops, chosen)) {
      if (kind != std::exchange(last, kind))
        finish();
      if (kind >= 0) {
        run.push_back(op);
        if (countArguments(run) <= size_t(grid.getLimits().getMaxArguments()))
          continue;
        run.pop_back();
        finish();
        run.push_back(op);
        continue;
      }
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
      launches += DeviceWork(op, grid).launches();
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
