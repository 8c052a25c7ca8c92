// SPDX-License-Identifier: Apache-2.0
//
// Reorders launches to reduce peak memory, and barriers in persistent kernels (see Passes.td).
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Schedule/ScheduleModel.h"
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

bool isMovable(Operation *op) { return isa<LaunchOp, AssembleOp>(op) || graph::isViewKind(op); }

/// Returns the longest sequences of launches and views without any other op between them. A
/// constant inside of a sequence is no obstacle: it is moved to before the sequence.
std::vector<Steps> sequencesOf(mlir::Block &block) {
  std::vector<Steps> sequences(1);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<graph::ConstantOp>(op)) {
      if (!sequences.back().empty())
        op.moveBefore(sequences.back().front());
    } else if (isMovable(&op)) {
      sequences.back().push_back(&op);
    } else if (!sequences.back().empty()) {
      sequences.emplace_back();
    }
  }
  return sequences;
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

  /// Returns the number that the order search uses for the buffer of `root`. Returns nothing if no
  /// launch of this block produces the buffer.
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

  /// Returns true if an op outside of the reordered sequence uses the value, directly or through
  /// views. Sets `returned` if the program returns the value; its buffer is then an output and not
  /// in the arena.
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

/// Limit of the number of positions by which a launch is brought forward to another launch that
/// reads the same value. A larger distance would probably extend lifetimes.
constexpr size_t kMaxDistance = 8;

/// Returns true if both ops read a result of the same launch.
bool shareOperand(Operation *a, Operation *b) {
  llvm::SmallPtrSet<Value, 8> read;
  for (Value operand : a->getOperands())
    for (Value root : roots(operand))
      if (isa_and_nonnull<LaunchOp>(root.getDefiningOp()))
        read.insert(root);
  return llvm::any_of(b->getOperands(), [&](Value operand) {
    return llvm::any_of(roots(operand), [&](Value root) { return read.contains(root); });
  });
}

/// Returns the ops to bring forward to position `first`: step `at` and, before it, the views from
/// position `first` on that it reads. Returns an empty list if step `at` needs the result of a
/// launch from `first` on, because it cannot run earlier then.
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

/// Brings each launch forward to directly after the nearest earlier launch that reads the same
/// value.
Steps gatherUsers(Steps steps) {
  for (size_t at = 1; at < steps.size(); ++at) {
    if (!isa<LaunchOp>(steps[at]))
      continue;
    size_t before = at;
    while (before > 0 && at - before < kMaxDistance &&
           !(isa<LaunchOp>(steps[before - 1]) && shareOperand(steps[before - 1], steps[at])))
      --before;
    if (before == 0 || before == at || at - before >= kMaxDistance)
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
    // The search for an order uses one sample of medium sizes, in which all symbols are equal.
    const Sample &middle = samples[std::min<size_t>(3, samples.size() - 1)];
    // peaks of live bytes in the current order; computed when first needed
    std::vector<int64_t> before;
    SmallVector<mlir::Block *> blocks;
    program.getBody().walk([&](mlir::Block *block) { blocks.push_back(block); });
    for (mlir::Block *block : blocks)
      for (Steps &steps : sequencesOf(*block)) {
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
    if (!target || !ScheduleModel::of(getOperation()).formsPersistentKernels(target))
      return;
    for (mlir::Block *block : blocks)
      for (const Steps &steps : sequencesOf(*block)) {
        Steps better = gatherUsers(steps);
        if (better == steps)
          continue;
        if (before.empty())
          before = liveBytes(program, samples);
        tryOrder(program, steps, better, samples, before, /*mustGain=*/false);
      }
  }

private:
  /// Applies the order `better` to the ops `steps` if no sample of sizes needs more memory than
  /// `before`. With `mustGain`, at least one sample must also need less.
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
