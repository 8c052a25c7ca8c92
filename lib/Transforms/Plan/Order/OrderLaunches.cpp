// SPDX-License-Identifier: Apache-2.0
//
// Puts launches into an order in which less memory is live at once.
//
// Before: both wide values live until the end.         After: one at a time.
//     %0 = plan.launch @widen(%x)                          %0 = plan.launch @widen(%x)
//     %1 = plan.launch @widen(%y)                          %2 = plan.launch @sum(%0)
//     %2 = plan.launch @sum(%0)                            %1 = plan.launch @widen(%y)
//     %3 = plan.launch @sum(%1)                            %3 = plan.launch @sum(%1)
//
// Exporters write ops in an order that suits them; all that counts here is the peak. Neighbouring launches and views are
// ordered anew (OrderSearch.h) where the peak falls; parts, loops, branches and what reads symbols stay where they are, and
// nothing moves across them. With symbols in the sizes the order is sought for middle sizes, and taken where no sample needs
// more than before and one needs less.
//
// It keeps the order as it stands where that is as good, since it is likely the better one for caches; and it never makes
// anything twice.
//
// Where launches may become parts of one kernel whose blocks meet between them (Join/), those that read one value come behind each other
// then, where that needs no more memory: what none of them makes is met for once.
//
//     %1 = plan.launch @q(%0)                              %1 = plan.launch @q(%0)
//     %2 = plan.launch @turn(%1)                           %3 = plan.launch @k(%0)
//     %3 = plan.launch @k(%0)                              %2 = plan.launch @turn(%1)
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Transforms/Plan/Arena/Packing.h"
#include "lib/Transforms/Plan/MemoryPlan.h"
#include "lib/Transforms/Plan/Order/OrderSearch.h"
#include "lib/Transforms/Plan/Passes.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace hewn {
#define GEN_PASS_DEF_ORDERLAUNCHESPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

using Steps = SmallVector<Operation *>;

bool moves(Operation *op) { return isa<LaunchOp, AssembleOp>(op) || graph::isViewKind(op); }

/// Launches and views without anything between them but constants, which go first.
std::vector<Steps> runsOf(mlir::Block &block) {
  std::vector<Steps> runs(1);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<graph::ConstantOp>(op)) {
      if (!runs.back().empty())
        op.moveBefore(runs.back().front());
    } else if (moves(&op)) {
      runs.back().push_back(&op);
    } else if (!runs.back().empty()) {
      runs.emplace_back();
    }
  }
  return runs;
}

class Problem {
public:
  Problem(const Steps &steps, const Sample &sample, const llvm::StringSet<> &symbols)
      : steps(steps), sample(sample), symbols(symbols) {
    for (auto [i, op] : llvm::enumerate(steps))
      index[op] = unsigned(i);
    for (Operation *op : steps)
      add(op);
  }
  OrderProblem problem;

private:
  void add(Operation *op) {
    OrderProblem::Step step;
    SetVector<unsigned> after, reads;
    for (Value operand : op->getOperands()) {
      if (auto before = index.find(operand.getDefiningOp()); before != index.end())
        after.insert(before->second);
      for (Value root : roots(operand))
        if (std::optional<unsigned> buffer = bufferOf(root))
          reads.insert(*buffer);
    }
    if (isa<LaunchOp>(op)) {
      for (OpResult result : op->getResults())
        if (std::optional<unsigned> buffer = bufferOf(result))
          step.makes.push_back(*buffer);
      for (Value taken : overwritableBuffers(op))
        if (std::optional<unsigned> buffer = bufferOf(taken))
          step.overwrites.push_back(*buffer);
      step.reads.assign(reads.begin(), reads.end());
    }
    step.after.assign(after.begin(), after.end());
    problem.steps.push_back(std::move(step));
  }

  /// The buffer's number, where it is a launch's of this block and of a size that is known before a run.
  std::optional<unsigned> bufferOf(Value root) {
    auto result = dyn_cast<OpResult>(root);
    if (!result || !isa<LaunchOp>(result.getOwner()) || result.getOwner()->getBlock() != steps[0]->getBlock())
      return std::nullopt;
    auto [found, isNew] = buffers.try_emplace(root, unsigned(problem.buffers.size()));
    if (isNew) {
      graph::DimExpr bytes = bufferBytes(root);
      OrderProblem::Buffer buffer;
      bool returned = false;
      buffer.stays = isUsedElsewhere(root, returned);
      buffer.given = !index.contains(result.getOwner());
      if (!returned && hasKnownDims(root, symbols))
        buffer.bytes = std::max<int64_t>(0, evaluate(aligned(bytes), sample));
      problem.buffers.push_back(buffer);
    }
    return found->second;
  }

  /// Whether anything but these steps reads the value through any alias. What the program returns is made in the output.
  bool isUsedElsewhere(Value value, bool &returned) {
    bool elsewhere = false;
    for (Operation *user : value.getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        returned |= isa<func::FuncOp>(user->getParentOp());
      elsewhere |= !index.contains(user);
      if (graph::isViewKind(user))
        elsewhere |= isUsedElsewhere(user->getResult(0), returned);
    }
    return elsewhere;
  }

  const Steps &steps;
  const Sample &sample;
  const llvm::StringSet<> &symbols;
  llvm::DenseMap<Operation *, unsigned> index;
  llvm::DenseMap<Value, unsigned> buffers;
};

/// How far a launch moves at most: what is far away is likely to be live for long then.
constexpr size_t kNear = 8;

/// Whether both read what a launch has made.
bool readTheSame(Operation *a, Operation *b) {
  llvm::SmallPtrSet<Value, 8> read;
  for (Value operand : a->getOperands())
    for (Value root : roots(operand))
      if (isa_and_nonnull<LaunchOp>(root.getDefiningOp()))
        read.insert(root);
  return llvm::any_of(b->getOperands(), [&](Value operand) {
    return llvm::any_of(roots(operand), [&](Value root) { return read.contains(root); });
  });
}

/// The step and those views from `first` on that it reads; nothing where it reads what a launch from there on makes.
Steps withViews(const Steps &steps, size_t first, size_t at) {
  llvm::SmallPtrSet<Operation *, 4> needed = {steps[at]};
  Steps moved = {steps[at]};
  bool readsMade = false;
  for (size_t i = at; i-- > first;) {
    bool isRead = llvm::any_of(steps[i]->getUsers(), [&](Operation *user) { return needed.contains(user); });
    readsMade |= isRead && !graph::isViewKind(steps[i]);
    if (isRead) {
      needed.insert(steps[i]);
      moved.insert(moved.begin(), steps[i]);
    }
  }
  return readsMade ? Steps() : moved;
}

/// Each launch behind the last one before it, of those nearby, that reads the same value.
Steps gathered(Steps steps) {
  for (size_t at = 1; at < steps.size(); ++at) {
    if (!isa<LaunchOp>(steps[at]))
      continue;
    size_t before = at;
    while (before > 0 && at - before < kNear &&
           !(isa<LaunchOp>(steps[before - 1]) && readTheSame(steps[before - 1], steps[at])))
      --before;
    if (before == 0 || before == at || at - before >= kNear)
      continue;
    Steps moved = withViews(steps, before, at);
    if (moved.empty())
      continue;
    llvm::erase_if(steps, [&](Operation *op) { return llvm::is_contained(moved, op); });
    steps.insert(steps.begin() + before, moved.begin(), moved.end());
  }
  return steps;
}

void apply(const Steps &steps) {
  for (auto [before, op] : llvm::zip(steps, ArrayRef(steps).drop_front()))
    op->moveAfter(before);
}

struct OrderLaunches : public hewn::impl::OrderLaunchesPassBase<OrderLaunches> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    if (!program || program.isDeclaration())
      return;
    std::vector<Sample> samples = samplesOf(program);
    llvm::StringSet<> symbols = inputSymbols(program);
    // All symbols alike: the middle one of those.
    const Sample &middle = samples[std::min<size_t>(3, samples.size() - 1)];
    std::vector<int64_t> before; // what the order as it stands needs, once some other one was found
    SmallVector<mlir::Block *> blocks;
    program.getBody().walk([&](mlir::Block *block) { blocks.push_back(block); });
    for (mlir::Block *block : blocks)
      for (Steps &steps : runsOf(*block)) {
        if (steps.size() < 3)
          continue;
        std::optional<std::vector<unsigned>> order = findOrder(Problem(steps, middle, symbols).problem);
        if (!order)
          continue;
        if (before.empty())
          before = liveBytes(program, samples);
        tryOrder(program, steps, llvm::map_to_vector(*order, [&](unsigned i) { return steps[i]; }), samples, before,
                 /*mustGain=*/true);
      }
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttr);
    if (!target || !target.getGrid() || target.getGrid().getCosts().getGridBarrierCycles() == 0)
      return;
    for (mlir::Block *block : blocks)
      for (const Steps &steps : runsOf(*block)) {
        Steps better = gathered(steps);
        if (better == steps)
          continue;
        if (before.empty())
          before = liveBytes(program, samples);
        tryOrder(program, steps, better, samples, before, /*mustGain=*/false);
      }
  }

private:
  /// The other order, if no sample needs more than `before` by it, and one less if it must gain.
  static void tryOrder(func::FuncOp program, const Steps &steps, const Steps &better, ArrayRef<Sample> samples,
                       std::vector<int64_t> &before, bool mustGain) {
    Operation *first = steps.front();
    if (better.front() != first)
      better.front()->moveBefore(first);
    apply(better);
    std::vector<int64_t> now = liveBytes(program, samples);
    bool needsNoMore = llvm::all_of(llvm::zip(now, before), [](auto p) { return std::get<0>(p) <= std::get<1>(p); });
    if (needsNoMore && (!mustGain || now != before)) {
      before = std::move(now);
      return;
    }
    if (better.front() != first)
      first->moveBefore(better.front());
    apply(steps);
  }
};

} // namespace
