// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Partition/Sharding.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Remarks.h"

#include "llvm/ADT/SetVector.h"
#include <deque>
#include <queue>

using namespace mlir;
using hewn::graph::Cut;
using hewn::graph::CutForm;

namespace hewn::partition {

namespace {

constexpr StringRef kPass = "hewn-partition";
/// Smaller constants are not worth a message between ranks: in bytes, and as a share of all constants.
constexpr double kSmallBytes = 4096, kSmallShare = 1e-4;
/// Extents that are known only when run are taken for this.
constexpr int64_t kAssumedExtent = 32;
/// A message costs at least what moving so many bytes does.
constexpr double kMessageBytes = 16384;
/// A choice goes on over so many ops at most: what is between two contractions is a few dozen.
constexpr size_t kMostShared = 256;
/// Blocks in which constants are cut at first: one, or a few things that one product makes side by side.
constexpr int64_t kMostBlocks = 8;

/// A choice that is tried: what it shares beyond what is chosen already, and what that costs.
struct Trial {
  Shardings shared;
  /// Bytes of constants that a rank needs no more, and bytes that go between ranks.
  double saved = 0, moved = 0;
  /// Whether it moves fewer bytes for each one saved.
  bool isBetterThan(double otherSaved, double otherMoved) const { return moved * otherSaved < otherMoved * saved; }
};

/// An op that waits to be chosen for: what the best trial for it was when so many choices had been made.
struct Waiting {
  size_t order;
  Operation *op;
  double saved, moved;
  size_t choices;
  bool isBetterThan(const Trial &trial) const { return moved * trial.saved < trial.moved * saved; }
  /// Of a heap: the better one, of equals the earlier one, is on top.
  bool operator<(const Waiting &other) const {
    double mine = moved * other.saved, theirs = other.moved * saved;
    return mine != theirs ? mine > theirs : order > other.order;
  }
};

class Chooser {
public:
  Chooser(Block &block, int64_t ranks) : block(block), ranks(ranks) {}

  Shardings run() {
    for (Operation &op : block)
      if (isMadeOfConstants(&op))
        constant.insert(&op);
    double all = 0;
    for (auto op : block.getOps<graph::ConstantOp>())
      all += bytesOf(op.getResult());
    std::priority_queue<Waiting> waiting;
    auto wait = [&](size_t order, Operation *op, const Trial &trial) {
      waiting.push({order, op, trial.saved, trial.moved, choices});
    };
    for (auto [order, op] : llvm::enumerate(block))
      if (!constant.contains(&op) && constantBytes(&op) >= std::max(kSmallBytes, kSmallShare * all))
        if (std::optional<Trial> best = bestFor(&op))
          wait(order, &op, *best);
        else if (isa<graph::ContractOpInterface>(op))
          missed(&op, kPass, "NotShared", "no dim of its constants is a multiple of the ranks that can be cut");
    // What was chosen since may have made a choice better or worse; those that have become worse wait again.
    while (!waiting.empty()) {
      Waiting next = waiting.top();
      waiting.pop();
      std::optional<Trial> best = chosen.contains(next.op) ? std::nullopt : bestFor(next.op);
      if (!best)
        continue;
      if (next.choices != choices && !waiting.empty() && waiting.top().isBetterThan(*best)) {
        wait(next.order, next.op, *best);
        continue;
      }
      ++choices;
      for (auto &[shared, sharding] : best->shared)
        chosen.try_emplace(shared, sharding);
    }
    return std::move(chosen);
  }

private:
  bool isMadeOfConstants(Operation *op) {
    if (isa<graph::ConstantOp>(op))
      return true;
    return op->getNumOperands() && !op->getNumRegions() && isMemoryEffectFree(op) &&
           llvm::all_of(op->getOperands(), [&](Value v) { return isConstant(v); });
  }
  bool isConstant(Value value) { return value.getDefiningOp() && constant.contains(value.getDefiningOp()); }

  double constantBytes(Operation *op) {
    double most = 0;
    for (Value operand : op->getOperands())
      if (isConstant(operand))
        most = std::max(most, bytesOf(operand));
    return most;
  }

  /// Of all ways to begin with the op the best one.
  std::optional<Trial> bestFor(Operation *op) {
    std::optional<Trial> best;
    auto considerThis = [&](const Sharding &sharding, bool goesOn) {
      Trial trial;
      if (!decide(op, sharding, trial))
        return;
      if (goesOn)
        spread(op, trial);
      price(trial);
      if (trial.saved > 0 && (!best || trial.isBetterThan(best->saved, best->moved)))
        best = std::move(trial);
    };
    // What follows goes on with parts, or has the whole.
    auto consider = [&](const Sharding &sharding) {
      considerThis(sharding, true);
      if (std::holds_alternative<Shared>(sharding))
        considerThis(sharding, false);
    };
    if (op->getNumResults() == 1)
      for (int64_t dim = 0; dim < graph::getRank(op->getResult(0)); ++dim)
        for (int64_t blocks = 1; blocks <= kMostBlocks; ++blocks)
          consider(Shared{{dim, blocks}});
    for (OpOperand &operand : op->getOpOperands())
      if (isConstant(operand.get()))
        for (int64_t dim = 0; dim < graph::getRank(operand.get()); ++dim)
          consider(Summed{operand.getOperandNumber(), {dim, 1}});
    return best;
  }

  const Sharding *find(Operation *op, const Trial &trial) {
    auto known = chosen.find(op);
    if (known != chosen.end())
      return &known->second;
    auto tried = trial.shared.find(op);
    return tried != trial.shared.end() ? &tried->second : nullptr;
  }

  /// The cut in which ranks have the value; nullopt: each has the whole.
  std::optional<Cut> cutOf(Value value, const Trial &trial) {
    const Sharding *sharding = value.getDefiningOp() ? find(value.getDefiningOp(), trial) : nullptr;
    auto *shared = sharding ? std::get_if<Shared>(sharding) : nullptr;
    return shared ? std::optional(shared->result) : std::nullopt;
  }

  /// Takes an op into the trial, with what must make its operands so; false where it can't be shared so.
  bool decide(Operation *op, const Sharding &sharding, Trial &trial) {
    if (const Sharding *known = find(op, trial)) {
      auto *a = std::get_if<Shared>(known), *b = std::get_if<Shared>(&sharding);
      return a && b && a->result == b->result;
    }
    // What is shared may have to be gathered or added up.
    Type type = op->getNumResults() == 1 ? graph::getElementType(op->getResult(0)) : Type();
    bool travels =
        type && (std::holds_alternative<Shared>(sharding) ? graph::canTravel(type) : graph::canBeAdded(type));
    if (op->getBlock() != &block || !travels)
      return false;
    std::optional<CutForm> form;
    if (auto *shared = std::get_if<Shared>(&sharding)) {
      if (op->getNumResults() != 1 || !graph::isCuttable(graph::getDims(op->getResult(0)), shared->result, ranks))
        return false;
      form = graph::cutForm(op, shared->result, graph::DimExpr(ranks));
    } else {
      form = graph::sumForm(op, std::get<Summed>(sharding).operand, std::get<Summed>(sharding).cut);
    }
    if (!form)
      return false;
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form->operands))
      if (cut && !graph::isCuttable(graph::getDims(operand), *cut, ranks))
        return false;
    trial.shared.try_emplace(op, sharding);
    // What makes an operand for this op alone makes a part of it, too, where it can; else ranks take theirs of the whole.
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form->operands)) {
      Operation *maker = operand.getDefiningOp();
      if (cut && maker && !isa<graph::ConstantOp>(maker) && (operand.hasOneUse() || constant.contains(maker)))
        decide(maker, Shared{*cut}, trial);
    }
    return true;
  }

  /// How a reader goes on with parts; nullopt: it wants the whole.
  std::optional<Sharding> goOn(OpOperand &use, const Cut &cut, const Trial &trial) {
    Operation *reader = use.getOwner();
    unsigned operand = use.getOperandNumber();
    if (reader->getBlock() != &block || reader->getNumResults() != 1)
      return std::nullopt;
    if (const Sharding *known = find(reader, trial)) {
      CutForm form = formOf(reader, *known, ranks);
      return form.operands[operand] == cut ? std::optional(*known) : std::nullopt;
    }
    if (graph::sumForm(reader, operand, cut))
      return Summed{operand, cut};
    SmallVector<Cut> through = graph::cutsThrough(reader, operand, cut, ranks);
    return through.empty() ? std::nullopt : std::optional<Sharding>(Shared{through.front()});
  }

  /// Goes on from an op to all that reads parts of what is shared. A value that one reader wants whole is whole for all.
  void spread(Operation *first, Trial &trial) {
    pending.push_back(first);
    while (!pending.empty()) {
      if (trial.shared.size() > kMostShared) {
        pending.clear();
        return;
      }
      Operation *op = pending.front();
      pending.pop_front();
      std::optional<Cut> cut = cutOf(op->getResult(0), trial);
      if (!cut)
        continue;
      SmallVector<std::pair<Operation *, Sharding>> readers;
      bool all = true;
      for (OpOperand &use : op->getResult(0).getUses()) {
        std::optional<Sharding> next = goOn(use, *cut, trial);
        all &= next.has_value();
        if (next)
          readers.push_back({use.getOwner(), *next});
      }
      for (auto &[reader, sharding] : readers)
        if (all && !find(reader, trial) && decide(reader, sharding, trial) && std::holds_alternative<Shared>(sharding))
          pending.push_back(reader);
    }
  }

  void price(Trial &trial) {
    double others = double(ranks - 1) / double(ranks);
    DenseSet<Value> gathered, cutConstants;
    for (auto &[op, sharding] : trial.shared) {
      CutForm form = formOf(op, sharding, ranks);
      for (auto [operand, cut] : llvm::zip(op->getOperands(), form.operands)) {
        std::optional<Cut> has = cutOf(operand, trial);
        if (cut && isConstant(operand) && !constant.contains(op) && cutConstants.insert(operand).second)
          trial.saved += bytesOf(operand) * others;
        if (has && has != cut && gathered.insert(operand).second)
          trial.moved += gatherCost(operand);
      }
      if (std::holds_alternative<Summed>(sharding)) {
        trial.moved += 2 * bytesOf(op->getResult(0)) * others + kMessageBytes;
        continue;
      }
      std::optional<Cut> own = cutOf(op->getResult(0), trial);
      bool readWhole = llvm::any_of(op->getResult(0).getUses(), [&](OpOperand &use) {
        const Sharding *reader = find(use.getOwner(), trial);
        return !reader || formOf(use.getOwner(), *reader, ranks).operands[use.getOperandNumber()] != own;
      });
      if (readWhole && gathered.insert(op->getResult(0)).second)
        trial.moved += gatherCost(op->getResult(0));
    }
  }

  /// Half the bytes of a sum go to gather as much, but what is gathered is whole again: who divides the next constants pays once more.
  double gatherCost(Value value) { return 2 * bytesOf(value) * double(ranks - 1) / double(ranks) + kMessageBytes; }

  Block &block;
  int64_t ranks;
  DenseSet<Operation *> constant;
  Shardings chosen;
  /// How many choices have been made.
  size_t choices = 0;
  std::deque<Operation *> pending;
};

} // namespace

double bytesOf(Value value) {
  double bytes = double(graph::elementBytes(value));
  for (const graph::DimExpr &dim : graph::getDims(value))
    bytes *= double(dim.constant().value_or(kAssumedExtent));
  return bytes;
}

CutForm formOf(Operation *op, const Sharding &sharding, int64_t ranks) {
  if (auto *shared = std::get_if<Shared>(&sharding))
    return *graph::cutForm(op, shared->result, graph::DimExpr(ranks));
  const Summed &summed = std::get<Summed>(sharding);
  return *graph::sumForm(op, summed.operand, summed.cut);
}

Shardings chooseShardings(Block &block, int64_t ranks) { return Chooser(block, ranks).run(); }

} // namespace hewn::partition
