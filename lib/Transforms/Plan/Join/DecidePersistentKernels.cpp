// SPDX-License-Identifier: Apache-2.0
//
// Decides which adjacent launches become phases of one persistent kernel (see Passes.td).
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Plan/Join/PersistentCost.h"
#include "lib/Transforms/Plan/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>
#include <set>

namespace hewn {
#define GEN_PASS_DEF_DECIDEPERSISTENTKERNELSPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

/// Speedup that the cost model must predict for a persistent kernel. It makes up for costs that the
/// model lacks: code size (a persistent kernel contains copies of its phases) and registers (every
/// phase gets those of the largest one).
constexpr double kRequiredSpeedup = 1.2;

/// Returns the number of arguments of a persistent kernel that runs these ops: the values that it
/// takes from outside, and the values that it returns.
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

struct DecidePersistentKernels : public hewn::impl::DecidePersistentKernelsPassBase<DecidePersistentKernels> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttr);
    if (!program || program.isDeclaration() || !target || !ScheduleModel::of(program).formsPersistentKernels(target))
      return;
    gpu = cast<GpuAttr>(target);
    join(program.getBody().front());
  }

private:
  GpuAttr gpu;
  int64_t next = 0;

  /// Returns the candidate resource configurations of persistent kernels that run these ops: every
  /// combination of the thread counts, register counts and shared memory sizes that the ops need.
  std::vector<KernelNeeds> candidateNeeds(ArrayRef<DeviceWork> ops) {
    // Register counts and shared memory sizes are rounded up to these steps, to limit the
    // combinations.
    constexpr int64_t registerStep = 32, sharedStep = 8 << 10;
    std::set<int64_t> threads, registers, shared;
    for (const DeviceWork &op : ops)
      if (op.needs().threads > 0) {
        threads.insert(op.needs().threads);
        registers.insert(std::min(int64_t(llvm::alignTo(op.needs().registers, registerStep)),
                                  gpu.getLimits().getMaxThreadRegisters()));
        shared.insert(int64_t(llvm::alignTo(op.needs().sharedBytes, sharedStep)));
      }
    std::vector<KernelNeeds> all = {{}}; // the first configuration is for ops that launch nothing
    for (int64_t t : threads)
      for (int64_t r : registers)
        for (int64_t s : shared)
          if (KernelNeeds needs{t, r, s}; blocksAtOnce(needs, gpu) > 0)
            all.push_back(needs);
    return all;
  }

  /// Decides which ops of a block form persistent kernels. Returns, for each op, the number of its
  /// kernel's resource configuration, or -1 if the op is launched on its own. Minimizes the total
  /// time by dynamic programming. Adjacent ops with equal configuration form one kernel.
  std::vector<int> choose(ArrayRef<Operation *> ops) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    std::vector<DeviceWork> works;
    for (Operation *op : ops)
      works.emplace_back(op, gpu);
    std::vector<KernelNeeds> kinds = candidateNeeds(works);
    // State of the dynamic program: for each configuration of the current op, the least time up to
    // this op, and the configuration of the op before it. The last entry is for an op that is
    // launched on its own.
    size_t alone = kinds.size();
    std::vector<double> least(kinds.size() + 1, infinite);
    least[alone] = 0;
    std::vector<std::vector<int>> from(ops.size());
    for (auto [i, work] : llvm::enumerate(works)) {
      bool canJoin = whyNotJoined(ops[i]).empty();
      size_t best = size_t(std::min_element(least.begin(), least.end()) - least.begin());
      if (least[alone] <= least[best])
        best = alone;
      std::vector<double> next(kinds.size() + 1, infinite);
      from[i].assign(kinds.size() + 1, int(best));
      next[alone] = least[best] + work.launched();
      for (auto [kind, needs] : llvm::enumerate(kinds)) {
        if (!canJoin || needs.with(work.needs()) != needs)
          continue;
        double begun = least[best] + beginning(gpu);
        if (least[kind] <= begun)
          from[i][kind] = int(kind);
        next[kind] = std::min(least[kind], begun) + kRequiredSpeedup * work.joined(needs);
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
        if (countArguments(run) <= size_t(gpu.getLimits().getMaxArguments()))
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
      launches += DeviceWork(op, gpu).launches();
    if (launches < 2)
      return;
    bool begun = false;
    for (Operation *op : run) {
      begun |= !isEdge(op);
      if (begun)
        op->setAttr(kPersistentAttr, Builder(op->getContext()).getI64IntegerAttr(next));
    }
    ++next;
  }
};

} // namespace
