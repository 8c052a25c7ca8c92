// SPDX-License-Identifier: Apache-2.0
//
// Stages are runs of ops as they stand in the program, each with about as many bytes of constants; with micro-batches, as much work. Where one
// ends is chosen near there: where the fewest bytes go on. What is made of constants and sizes alone goes nowhere: each stage that reads
// it makes it. Each rank of a stage hands on to the rank of the next ones that has its place.
//
// Ranks meet in one order, that of the ops which make what is handed on, one micro-batch behind the other, then that of the program's results:
// whoever waits does so for one who comes to it first, so that none waits for ever. A message is handed over when its receiver comes to it,
// so that a stage works on a micro-batch while the one before it does on the next.
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

/// How far a stage's end may be from where its share of the constants ends, as a part of all of them.
constexpr double kSlack = 0.02;

constexpr StringLiteral kTellsSizes =
    "has sizes that only a run tells, and such a model can't be taken apart in stages";

/// What one stage tells by symbols, others would have to be told.
bool tellsSizes(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        if (isa<graph::ReadSymbolOp>(inner))
          return WalkResult::interrupt();
        auto part = dyn_cast<graph::PartOpInterface>(inner);
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
    divide();
    if (own.microBatches > 1 && failed(divideBatch(block, own.microBatches, staged)))
      return failure();
    if (failed(handOver()) || failed(handOut()))
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
      if (tellsSizes(&op))
        return op.emitError(kTellsSizes);
    return success();
  }

  /// The values from elsewhere in the block that the op reads, those that are in it too.
  static SetVector<Value> readBy(Operation *op) {
    SetVector<Value> read;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == op->getBlock())
          read.insert(operand);
    });
    return read;
  }

  /// The bytes of the constants behind a value that none before has read.
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

  void divide() {
    // Of what stages have about as much, up to each op: bytes of constants that are read, or, where stages work at the same time, work. And
    // bytes of values that go on behind it.
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

  /// The rank of another stage that has the place of this one.
  int64_t rankIn(int64_t stage) const { return stage * own.ranks + own.rank % own.ranks; }

  Value receive(OpBuilder &b, Value value, int64_t stage) {
    return graph::makeReceive(b, value.getLoc(), graph::getDims(value), graph::getElementType(value), rankIn(stage));
  }

  /// Receives in front of the stage's first op of a turn. Sends behind what makes a value; of micro-batches behind all of their turn, since who
  /// sends waits for the receiver, which comes to a micro-batch when it is done with the one before.
  LogicalResult handOver() {
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
          return op->emitError("makes elements that stages can't hand on: ") << graph::getElementType(value);
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

  /// The stage's last op of a turn.
  Operation *lastOf(int64_t turn) {
    return *llvm::find_if(llvm::reverse(ops),
                          [&](Operation *op) { return stageOf[op] == own.number && turnOf[op] == turn; });
  }

  /// All ranks have all results.
  LogicalResult handOut() {
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
        return maker->emitError("makes elements that stages can't hand on: ") << graph::getElementType(value);
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
  /// What is made of constants and sizes alone: each stage has those that it reads.
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
    size_t until = constants.size() - size_t(count - s); // one op a stage at least
    auto off = [&](size_t i) { return std::max(0.0, std::abs(constants[i] - wanted) - kSlack * total); };
    for (size_t i = from; i < until; ++i)
      if (std::pair(off(i), crossing[i]) < std::pair(off(best), crossing[best]))
        best = i;
    ends.push_back(best);
  }
  return ends;
}

std::string whyNotInStages(Block &block) {
  return llvm::any_of(block, [](Operation &op) { return tellsSizes(&op); }) ? kTellsSizes.str() : "";
}

LogicalResult takeStage(Block &block, const Stage &stage) { return Stages(block, stage).run(); }

} // namespace hewn::partition
