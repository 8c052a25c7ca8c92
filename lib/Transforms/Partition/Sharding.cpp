// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Partition/Sharding.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Remarks.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <deque>
#include <map>
#include <queue>
#include <set>

using namespace mlir;
using hewn::graph::Cut;
using hewn::graph::CutForm;

namespace hewn::partition {

namespace {

/// Smaller constants are not worth a message between ranks: in bytes, and as a share of all constants.
constexpr double kSmallBytes = 4096, kSmallShare = 1e-4;
/// Extents that are known only when run are taken for this.
constexpr int64_t kAssumedExtent = 32;
/// A message costs at least what moving so many bytes does.
constexpr double kMessageBytes = 16384;
/// A choice goes on over so many ops at most: what is between two contractions is a few dozen.
constexpr size_t kMostShared = 256;
/// Where more ops read a constant, none looks at what the others will choose.
constexpr size_t kMostSharing = 4;
/// Blocks in which constants are cut at first: one, or a few things that one product makes side by side.
constexpr int64_t kMostBlocks = 8;

/// A constant, or what is made of one, and a part of it.
using Share = std::tuple<void *, int64_t, int64_t>;

/// A choice that is tried: what it shares beyond what is chosen already, and what that costs.
struct Trial {
  Shardings shared;
  /// Bytes of constants that a rank needs no more, and bytes that go between ranks; both times the ranks, which makes whole numbers of them, and
  /// their sums the same in any order.
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
  Chooser(Block &block, int64_t ranks, const DenseSet<Operation *> &others)
      : block(block), ranks(ranks), others(others) {}

  Shardings run() {
    constant = findConstantOps(block);
    double all = 0;
    for (auto op : block.getOps<graph::ConstantOp>())
      all += bytesOf(op.getResult());
    smallBytes = std::max(kSmallBytes, kSmallShare * all);
    findTwins();
    lookAround();
    std::priority_queue<Waiting> waiting;
    auto wait = [&](size_t order, Operation *op, const Trial &trial) {
      waiting.push({order, op, trial.saved, trial.moved, choices});
    };
    for (auto [order, op] : llvm::enumerate(block))
      if (!constant.contains(&op) && !twins.contains(&op) && !others.contains(&op) &&
          constantBytes(&op) >= smallBytes) {
        if (std::optional<Trial> best = bestFor(&op))
          wait(order, &op, *best);
        else if (isa<graph::ContractOpInterface>(op))
          missed(&op, kPass, "NotShared", "no dim of its constants is a multiple of the ranks that can be cut");
      }
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
      for (auto &[share, root] : sharesOf(*best))
        chosenShares.insert(share);
    }
    for (auto [twin, first] : twins)
      if (auto found = chosen.find(first); found != chosen.end())
        chosen.insert_or_assign(twin, Sharding(found->second));
    return std::move(chosen);
  }

private:
  /// What does the same for another micro-batch as an op before it, and is shared as that is.
  void findTwins() {
    DenseMap<Attribute, Operation *> firsts;
    for (auto [place, op] : llvm::enumerate(block)) {
      places[&op] = place;
      if (Attribute number = op.getAttr(kTwinAttr))
        if (auto [first, isNew] = firsts.try_emplace(number, &op); !isNew)
          twins[&op] = first->second;
    }
  }

  /// Who reads which constants, and behind which values further constants are read.
  void lookAround() {
    for (Operation &op : llvm::reverse(block)) {
      if (constant.contains(&op))
        continue;
      bool leads = constantBytes(&op) >= smallBytes || (isa<graph::ContractOpInterface>(op) && constantBytes(&op) > 0);
      for (Operation *user : op.getUsers()) {
        Operation *reader = block.findAncestorOpInBlock(*user);
        leads |= leadsOn.contains(reader);
      }
      if (leads)
        leadsOn.insert(&op);
    }
    for (Operation &op : block)
      if (!constant.contains(&op) && !twins.contains(&op))
        for (Value operand : op.getOperands())
          if (isConstant(operand) && bytesOf(operand) >= smallBytes)
            sharing[rootOf(operand)].insert(&op);
  }

  /// The constant that moves make the value of, or the value.
  Value rootOf(Value value) {
    while (isa_and_nonnull<graph::MoveOpInterface>(value.getDefiningOp()) && isConstant(value))
      value = value.getDefiningOp()->getOperand(0);
    return value;
  }

  /// What a rank has of a constant that is cut so: the part of what moves make the value of, as far as they let parts through.
  Share shareOf(Value value, Cut cut) {
    while (isa_and_nonnull<graph::MoveOpInterface>(value.getDefiningOp()) && isConstant(value)) {
      std::optional<CutForm> form = graph::cutForm(value.getDefiningOp(), cut, graph::DimExpr(ranks));
      if (!form || !form->operands[0])
        break;
      cut = *form->operands[0];
      value = value.getDefiningOp()->getOperand(0);
    }
    return {value.getAsOpaquePointer(), cut.dim, *cut.blocks.constant()};
  }

  /// The parts of constants that a trial has, each with the constant that is read, in the order of the ops that read them: all ranks choose alike.
  llvm::MapVector<Share, Value, std::map<Share, unsigned>> sharesOf(const Trial &trial) {
    SmallVector<std::pair<Operation *, const Sharding *>> ops;
    for (auto &[op, sharding] : trial.shared)
      if (!constant.contains(op))
        ops.push_back({op, &sharding});
    llvm::sort(ops, [&](const auto &a, const auto &b) { return places.at(a.first) < places.at(b.first); });
    llvm::MapVector<Share, Value, std::map<Share, unsigned>> shares;
    for (auto &[op, sharding] : ops) {
      CutForm form = formOf(op, *sharding, ranks);
      for (auto [operand, cut] : llvm::zip(op->getOperands(), form.operands))
        if (cut && isConstant(operand))
          shares.insert({shareOf(operand, *cut), operand});
    }
    return shares;
  }

  bool isConstant(Value value) { return value.getDefiningOp() && constant.contains(value.getDefiningOp()); }

  double constantBytes(Operation *op) const { return partition::constantBytes(op, constant); }

  /// Of all ways to begin with the op the best one.
  std::optional<Trial> bestFor(Operation *op) {
    std::optional<Trial> best;
    forEachTrial(op, Trial(), [&](Trial &&trial) {
      lookAhead(trial);
      if (trial.saved > 0 && (!best || trial.isBetterThan(best->saved, best->moved)))
        best = std::move(trial);
    });
    return best;
  }

  /// All ways to go on from `before` with the op, with what they cost.
  void forEachTrial(Operation *op, const Trial &before, llvm::function_ref<void(Trial &&)> use) {
    auto considerThis = [&](const Sharding &sharding, bool goesOn) {
      Trial trial{before.shared};
      if (!decide(op, sharding, trial))
        return;
      if (goesOn)
        spread(op, trial);
      price(trial);
      use(std::move(trial));
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
  }

  /// Whether a rank has a part of a constant that the op reads.
  bool cutsConstant(Operation *op, const Trial &trial) {
    CutForm form = formOf(op, trial.shared.find(op)->second, ranks);
    return llvm::any_of(llvm::zip(op->getOperands(), form.operands),
                        [&](auto one) { return isConstant(std::get<0>(one)) && std::get<1>(one); });
  }

  /// Adds what others of those who read a trial's constants will move and save when they choose next: the same parts, or parts of
  /// their own. Where one can do neither, a rank has the whole beside its part.
  void lookAhead(Trial &trial) {
    llvm::SetVector<Operation *> readers;
    for (auto &[share, operand] : sharesOf(trial))
      if (auto found = sharing.find(rootOf(operand)); found != sharing.end() && found->second.size() <= kMostSharing)
        for (Operation *other : found->second)
          if (!find(other, trial))
            readers.insert(other);
    Trial ahead = trial;
    for (Operation *other : readers) {
      std::optional<Trial> best;
      forEachTrial(other, ahead, [&](Trial &&next) {
        if (next.saved > 0 && cutsConstant(other, next) && (!best || next.isBetterThan(best->saved, best->moved)))
          best = std::move(next);
      });
      if (best)
        ahead = std::move(*best);
      else
        ahead.saved -= constantBytes(other);
    }
    trial.saved = ahead.saved;
    trial.moved = ahead.moved;
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
    if (op->getBlock() != &block || others.contains(op) || !travels)
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
    if (reader->getBlock() != &block || others.contains(reader) || reader->getNumResults() != 1)
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
    trial.saved = trial.moved = 0;
    DenseSet<Value> gathered, roots;
    for (auto &[share, operand] : sharesOf(trial)) {
      trial.saved += roots.insert(rootOf(operand)).second ? bytesOf(operand) * double(ranks) : 0;
      trial.saved -= chosenShares.contains(share) ? 0 : bytesOf(operand);
    }
    for (auto &[op, sharding] : trial.shared) {
      if (constant.contains(op))
        continue;
      CutForm form = formOf(op, sharding, ranks);
      for (auto [operand, cut] : llvm::zip(op->getOperands(), form.operands)) {
        std::optional<Cut> has = cutOf(operand, trial);
        if (has && has != cut && !isConstant(operand) && gathered.insert(operand).second)
          trial.moved += gatherCost(operand);
      }
      if (std::holds_alternative<Summed>(sharding)) {
        trial.moved += handing(bytesOf(op->getResult(0)), ranks, 2);
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

  /// Half the bytes of a sum go to gather as much, but what is gathered is whole again: who divides the next constants, if there are any, pays
  /// once more.
  double gatherCost(Value value) {
    bool leads = llvm::any_of(value.getUsers(),
                              [&](Operation *user) { return leadsOn.contains(block.findAncestorOpInBlock(*user)); });
    return handing(bytesOf(value), ranks, leads ? 2 : 1);
  }

  Block &block;
  int64_t ranks;
  const DenseSet<Operation *> &others;
  DenseSet<Operation *> constant;
  /// Constants from so many bytes on are looked at.
  double smallBytes = 0;
  /// Ops that read such constants, or multiply by any, or behind which one does.
  DenseSet<Operation *> leadsOn;
  /// Who reads a constant, by itself or what moves make of it.
  DenseMap<Value, llvm::SetVector<Operation *>> sharing;
  /// The places of ops in the program, and what does as one before does.
  DenseMap<Operation *, size_t> places;
  llvm::MapVector<Operation *, Operation *> twins;
  Shardings chosen;
  /// The parts of constants that these have.
  std::set<Share> chosenShares;
  /// How many choices have been made.
  size_t choices = 0;
  std::deque<Operation *> pending;
};

} // namespace

DenseSet<Operation *> findConstantOps(Block &block, bool andSizes) {
  DenseSet<Operation *> found;
  for (Operation &op : block) {
    bool isMade = (op.getNumOperands() || andSizes) && !op.getNumRegions() && isMemoryEffectFree(&op) &&
                  !op.hasTrait<OpTrait::IsTerminator>() &&
                  llvm::all_of(op.getOperands(), [&](Value v) { return found.contains(v.getDefiningOp()); });
    if (isMade || isa<graph::ConstantOp>(op))
      found.insert(&op);
  }
  return found;
}

double bytesOf(Value value) {
  double bytes = double(graph::elementBytes(value));
  for (const graph::DimExpr &dim : graph::getDims(value))
    bytes *= double(dim.constant().value_or(kAssumedExtent));
  return bytes;
}

double workOf(Operation *op) {
  double work = 0;
  op->walk([&](Operation *inner) {
    auto add = [&](Value value) {
      work += isa<RankedTensorType>(value.getType()) ? bytesOf(value) / double(graph::elementBytes(value)) : 0;
    };
    llvm::for_each(inner->getOperands(), add);
    llvm::for_each(inner->getResults(), add);
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(inner)) {
      double products = 1;
      for (const graph::DimExpr &dim : contraction.getIterationDims(graph::getDims))
        products *= double(dim.constant().value_or(kAssumedExtent));
      work += products;
    }
  });
  return work;
}

double handing(double bytes, int64_t ranks, double times) {
  return times * bytes * double(ranks - 1) + kMessageBytes * double(ranks);
}

double constantBytes(Operation *op, const DenseSet<Operation *> &constant) {
  double most = 0;
  for (Value operand : op->getOperands())
    if (operand.getDefiningOp() && constant.contains(operand.getDefiningOp()))
      most = std::max(most, bytesOf(operand));
  return most;
}

CutForm formOf(Operation *op, const Sharding &sharding, int64_t ranks) {
  if (auto *shared = std::get_if<Shared>(&sharding))
    return *graph::cutForm(op, shared->result, graph::DimExpr(ranks));
  const Summed &summed = std::get<Summed>(sharding);
  return *graph::sumForm(op, summed.operand, summed.cut);
}

Shardings chooseShardings(Block &block, int64_t ranks, const DenseSet<Operation *> &others) {
  return Chooser(block, ranks, others).run();
}

} // namespace hewn::partition
