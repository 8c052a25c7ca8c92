// SPDX-License-Identifier: Apache-2.0
//
// Splits a model into pipeline stages. A stage is a contiguous range of ops in program order.
// Stages have about equal bytes of constants or, with micro-batches, equal work. Each boundary is
// placed near the balanced position, where the fewest bytes cross it. Values that depend on
// constants and sizes only are not transferred; each stage computes those that it needs. A rank of
// a stage sends to the ranks with the same index in later stages.
//
// All ranks communicate in one order: by micro-batch, then by the op that produces the transferred
// value; the program's results come last. A rank therefore waits only for ranks that reach the same
// message earlier, so there is no deadlock. A message is transferred when the receiver reaches it,
// so a stage can work on one micro-batch while the previous stage works on the next one.
#include "lib/Transforms/Partition/Stages.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Partition/MicroBatches.h"
#include "lib/Transforms/Partition/Sharding.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hewn::partition {

namespace {

/// Largest distance of a stage boundary from the balanced position, as a fraction of the total cost
/// of all stages.
constexpr double kSlack = 0.02;

constexpr StringLiteral kDataDependentSizes =
    "has data-dependent sizes, and such a model cannot be split into pipeline stages";

/// Returns true if the op defines symbols. The program then cannot be split into stages, because
/// other stages would need the symbols' values.
bool definesSizes(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        if (isa<graph::ReadSymbolOp>(inner))
          return WalkResult::interrupt();
        auto part = dyn_cast<graph::RuntimeCallOpInterface>(inner);
        return part && !part.getDefinedSymbols().empty() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

class Stages {
public:
  Stages(Block &block, const Stage &stage) : block(block), own(stage) {}

  LogicalResult run() {
    constant = findConstantOps(block, /*andSizes=*/true);
    for (Operation &op : block.without_terminator())
      if (!constant.contains(&op))
        ops.push_back(&op);
    if (failed(check()))
      return failure();
    assignStages();
    if (own.microBatches > 1 && failed(divideBatch(block, own.microBatches, staged)))
      return failure();
    if (failed(transferValues()) || failed(broadcastResults()))
      return failure();
    for (Operation *op : llvm::reverse(ops))
      if (stageOf[op] != own.number)
        op->erase();
    return success();
  }

private:
  LogicalResult check() {
    if (int64_t(ops.size()) < own.count)
      return block.getParentOp()->emitError("the model has too few ops for ") << own.count << " stages";
    for (Operation &op : block)
      if (definesSizes(&op))
        return op.emitError(kDataDependentSizes);
    return success();
  }

  /// Returns the operands of the op, and of ops in its regions, that are defined in its block.
  static SetVector<Value> readBy(Operation *op) {
    SetVector<Value> read;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == op->getBlock())
          read.insert(operand);
    });
    return read;
  }

  /// Returns the bytes of constants that `value` depends on and that are not in `seen`.
  static double newBytes(Value value, DenseSet<Value> &seen) {
    double bytes = 0;
    SmallVector<Value> pending = {value};
    while (!pending.empty()) {
      Value next = pending.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      Operation *maker = next.getDefiningOp();
      if (isa<graph::ConstantOp>(maker))
        bytes += bytesOf(next);
      else
        llvm::append_range(pending, maker->getOperands());
    }
    return bytes;
  }

  void assignStages() {
    // For each op, two numbers: the cost of all ops up to it (bytes of constants or, if stages work
    // at the same time, work), and the bytes of values that would cross a stage boundary after it.
    SmallVector<double> shares, crossing(ops.size());
    DenseMap<Operation *, size_t> place;
    DenseSet<Value> seen;
    DenseMap<Value, size_t> last;
    double total = 0;
    for (auto [i, op] : llvm::enumerate(ops)) {
      place[op] = i;
      for (Value value : readBy(op)) {
        Operation *maker = value.getDefiningOp();
        if (!maker)
          continue;
        if (!constant.contains(maker))
          last[value] = i;
        else if (own.microBatches == 1)
          total += newBytes(value, seen);
      }
      if (own.microBatches > 1)
        total += workOf(op);
      shares.push_back(total);
    }
    for (auto &[value, end] : last)
      for (size_t i = place[value.getDefiningOp()]; i < end; ++i)
        crossing[i] += bytesOf(value);
    SmallVector<size_t> ends = divideStages(shares, crossing, own.count);
    for (auto [i, op] : llvm::enumerate(ops))
      stageOf[op] = llvm::lower_bound(ends, i) - ends.begin();
  }

  /// Returns the rank of another stage that has the same index within its stage as this rank.
  int64_t rankIn(int64_t stage) const { return stage * own.ranks + own.rank % own.ranks; }

  Value receive(OpBuilder &b, Value value, int64_t stage) {
    return graph::makeReceive(b, value.getLoc(), graph::getDims(value), graph::getElementType(value), rankIn(stage));
  }

  /// Inserts the transfers of a pipeline stage: receives before the stage's first op of a step, and
  /// sends after the op that produces a value. With micro-batches, sends come after all ops of the
  /// step: a send waits until the receiving stage has finished the previous micro-batch.
  LogicalResult transferValues() {
    auto *first = ops.begin();
    OpBuilder sender(block.getParentOp()->getContext());
    int64_t turn = 0;
    for (Operation *op : ops) {
      first = std::find_if(first, ops.end(), [&](Operation *one) {
        return stageOf[one] == own.number && turnOf.lookup(one) >= turnOf.lookup(op);
      });
      OpBuilder receiver(first == ops.end() ? block.getTerminator() : *first);
      int64_t from = stageOf[op];
      if (turnOf.lookup(op) == 0)
        sender.setInsertionPointAfter(op);
      else if (from == own.number && std::exchange(turn, turnOf.lookup(op)) != turnOf.lookup(op))
        sender.setInsertionPointAfter(lastOf(turn));
      for (Value value : op->getResults()) {
        SetVector<int64_t> readers;
        for (Operation *user : value.getUsers())
          if (Operation *reader = block.findAncestorOpInBlock(*user); !reader->hasTrait<OpTrait::IsTerminator>())
            readers.insert(stageOf[reader]);
        SmallVector<int64_t> stages = readers.takeVector();
        bool goesOn = llvm::any_of(stages, [&](int64_t to) { return to != from; });
        if (goesOn && !graph::canTravel(graph::getElementType(value)))
          return op->emitError("produces a type that stages cannot transfer: ") << graph::getElementType(value);
        llvm::sort(stages);
        for (int64_t to : stages)
          if (to != from && from == own.number)
            graph::makeSend(sender, value.getLoc(), value, rankIn(to));
        if (from != own.number && llvm::is_contained(stages, own.number))
          received[value] = receive(receiver, value, from);
      }
    }
    for (Operation *op : ops)
      if (stageOf[op] == own.number)
        op->walk([&](Operation *inner) {
          for (OpOperand &operand : inner->getOpOperands())
            if (auto value = received.find(operand.get()); value != received.end())
              operand.set(value->second);
        });
    return success();
  }

  /// Returns the last op of this pipeline stage in the given step (micro-batch).
  Operation *lastOf(int64_t turn) {
    return *llvm::find_if(llvm::reverse(ops),
                          [&](Operation *op) { return stageOf[op] == own.number && turnOf[op] == turn; });
  }

  /// Sends the results of the program to all ranks.
  LogicalResult broadcastResults() {
    Operation *end = block.getTerminator();
    OpBuilder b(end);
    DenseMap<Value, Value> had;
    for (OpOperand &result : end->getOpOperands()) {
      Value value = result.get();
      Operation *maker = value.getDefiningOp();
      if (!maker || !stageOf.contains(maker))
        continue;
      int64_t from = stageOf[maker];
      if (!graph::canTravel(graph::getElementType(value)))
        return maker->emitError("produces a type that stages cannot transfer: ") << graph::getElementType(value);
      if (from != own.number && !had.contains(value))
        had[value] = receive(b, value, from);
      if (from == own.number && had.try_emplace(value, value).second)
        for (int64_t to = 0; to < own.count; ++to)
          if (to != from)
            graph::makeSend(b, value.getLoc(), value, rankIn(to));
      result.set(had[value]);
    }
    return success();
  }

  Block &block;
  Stage own;
  /// Ops that compute on constants and sizes only. They belong to no stage: each stage computes
  /// those that it needs.
  DenseSet<Operation *> constant;
  StagedOps staged;
  SmallVector<Operation *> &ops = staged.ops;
  DenseMap<Operation *, int64_t> &stageOf = staged.stageOf, &turnOf = staged.turnOf;
  DenseMap<Value, Value> received;
};

} // namespace

SmallVector<size_t> divideStages(ArrayRef<double> constants, ArrayRef<double> crossing, int64_t count) {
  SmallVector<size_t> ends;
  const double total = constants.back();
  for (int64_t s = 1; s < count; ++s) {
    double wanted = total * double(s) / double(count);
    size_t from = ends.empty() ? 0 : ends.back() + 1, best = from;
    // The end of a stage leaves at least one op for each later stage.
    size_t until = constants.size() - size_t(count - s);
    auto off = [&](size_t i) { return std::max(0.0, std::abs(constants[i] - wanted) - kSlack * total); };
    for (size_t i = from; i < until; ++i)
      if (std::pair(off(i), crossing[i]) < std::pair(off(best), crossing[best]))
        best = i;
    ends.push_back(best);
  }
  return ends;
}

std::string whyNotInStages(Block &block) {
  return llvm::any_of(block, [](Operation &op) { return definesSizes(&op); }) ? kDataDependentSizes.str() : "";
}

LogicalResult takeStage(Block &block, const Stage &stage) { return Stages(block, stage).run(); }

} // namespace hewn::partition
