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
using hewn::graph::DimSharding;
using hewn::graph::ShardingRule;

namespace hewn::partition {

namespace {

/// Constants that are smaller than these limits (bytes, and fraction of the bytes of all constants)
/// are not sharded, because sharding them saves less than a message costs.
constexpr double kSmallBytes = 4096, kSmallShare = 1e-4;
/// Size that cost estimates assume for dynamic dims.
constexpr int64_t kAssumedExtent = 32;
/// Minimum cost of a message between ranks, in equivalent bytes.
constexpr double kMessageBytes = 16384;
/// Limit of the ops that one sharding propagates to. Usual models have a few dozen ops between two
/// contractions.
constexpr size_t kMaxShared = 256;
/// If more ops than this read a constant, the cost of sharding the constant for one of these ops
/// does not consider the others.
constexpr size_t kMaxSharing = 4;
/// Largest number of blocks into which a constant's dim is divided before each block is sharded
/// over the ranks: usually one, or a few if one GEMM computes several fused projections.
constexpr int64_t kMaxBlocks = 8;

/// Identifies a shard of a constant, or of a value computed from a constant: value, dim, number of
/// blocks.
using Share = std::tuple<void *, int64_t, int64_t>;

/// A sharding that is tried: the ops that it adds to the ones chosen before, and its cost.
struct TrialSharding {
  Shardings shared;
  /// Bytes of constants that a rank no longer stores, and bytes that ranks transfer. Both are
  /// multiplied by the number of ranks, so that they are integers and their sums do not depend on
  /// the order of additions.
  double saved = 0, moved = 0;
  /// Returns true if this trial transfers fewer bytes per saved byte than another trial with these
  /// numbers.
  bool isBetterThan(double otherSaved, double otherMoved) const { return moved * otherSaved < otherMoved * saved; }
};

/// An op whose sharding is not decided yet. Its best trial was computed when `choices` shardings
/// had been chosen.
struct Waiting {
  size_t order;
  Operation *op;
  double saved, moved;
  size_t choices;
  bool isBetterThan(const TrialSharding &trial) const { return moved * trial.saved < trial.moved * saved; }
  /// Order of the heap of undecided ops: the op with the better trial is on top; ties go to the
  /// earlier op.
  bool operator<(const Waiting &other) const {
    double mine = moved * other.saved, theirs = other.moved * saved;
    return mine != theirs ? mine > theirs : order > other.order;
  }
};

class ShardingChooser {
public:
  ShardingChooser(Block &block, int64_t ranks, const DenseSet<Operation *> &others)
      : block(block), ranks(ranks), others(others) {}

  Shardings run() {
    constant = findConstantOps(block);
    double all = 0;
    for (auto op : block.getOps<graph::ConstantOp>())
      all += bytesOf(op.getResult());
    smallBytes = std::max(kSmallBytes, kSmallShare * all);
    findTwins();
    collectConstantReaders();
    std::priority_queue<Waiting> waiting;
    auto wait = [&](size_t order, Operation *op, const TrialSharding &trial) {
      waiting.push({order, op, trial.saved, trial.moved, choices});
    };
    for (auto [order, op] : llvm::enumerate(block))
      if (!constant.contains(&op) && !twins.contains(&op) && !others.contains(&op) &&
          constantBytes(&op) >= smallBytes) {
        if (std::optional<TrialSharding> best = bestFor(&op))
          wait(order, &op, *best);
        else if (isa<graph::ContractOpInterface>(op))
          missed(&op, kPass, "NotShared",
                 "constants not sharded: none of their shardable dims is a multiple of the number of ranks");
      }
    // Take the best trial of the queue until the queue is empty. Each choice can change the cost of
    // other trials; a trial that has become worse since it was queued is queued again.
    while (!waiting.empty()) {
      Waiting next = waiting.top();
      waiting.pop();
      std::optional<TrialSharding> best = chosen.contains(next.op) ? std::nullopt : bestFor(next.op);
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
  /// Finds ops that are copies of an earlier op for another micro-batch. They get the same sharding
  /// as the earlier op.
  void findTwins() {
    DenseMap<Attribute, Operation *> firsts;
    for (auto [place, op] : llvm::enumerate(block)) {
      places[&op] = place;
      if (Attribute number = op.getAttr(kTwinAttr))
        if (auto [first, isNew] = firsts.try_emplace(number, &op); !isNew)
          twins[&op] = first->second;
    }
  }

  /// Collects the ops that read each constant, and the ops whose results reach ops with further
  /// constants.
  void collectConstantReaders() {
    for (Operation &op : llvm::reverse(block)) {
      if (constant.contains(&op))
        continue;
      bool leads = constantBytes(&op) >= smallBytes || (isa<graph::ContractOpInterface>(op) && constantBytes(&op) > 0);
      for (Operation *user : op.getUsers()) {
        Operation *reader = block.findAncestorOpInBlock(*user);
        leads |= leadsToConstants.contains(reader);
      }
      if (leads)
        leadsToConstants.insert(&op);
    }
    for (Operation &op : block)
      if (!constant.contains(&op) && !twins.contains(&op))
        for (Value operand : op.getOperands())
          if (isConstant(operand) && bytesOf(operand) >= smallBytes)
            sharing[rootOf(operand)].insert(&op);
  }

  /// Returns the constant from which `value` is computed by indexing ops only. If other ops on
  /// constants take part, returns the result of the last one of those.
  Value rootOf(Value value) {
    while (isa_and_nonnull<graph::IndexingOpInterface>(value.getDefiningOp()) && isConstant(value))
      value = value.getDefiningOp()->getOperand(0);
    return value;
  }

  /// Returns the shard of the constant from which indexing ops compute the value. Looks through
  /// indexing ops as far as a shard of their result is a shard of their operand.
  Share shareOf(Value value, DimSharding cut) {
    while (isa_and_nonnull<graph::IndexingOpInterface>(value.getDefiningOp()) && isConstant(value)) {
      std::optional<ShardingRule> form = graph::shardingRule(value.getDefiningOp(), cut, graph::DimExpr(ranks));
      if (!form || !form->operands[0])
        break;
      cut = *form->operands[0];
      value = value.getDefiningOp()->getOperand(0);
    }
    return {value.getAsOpaquePointer(), cut.dim, *cut.blocks.constant()};
  }

  /// Returns the shards of constants that a trial sharding uses, each with the operand that reads
  /// it. The shards are in program order of the ops that read them, so that all ranks make the same
  /// choice.
  llvm::MapVector<Share, Value, std::map<Share, unsigned>> sharesOf(const TrialSharding &trial) {
    SmallVector<std::pair<Operation *, const Sharding *>> ops;
    for (auto &[op, sharding] : trial.shared)
      if (!constant.contains(op))
        ops.push_back({op, &sharding});
    llvm::sort(ops, [&](const auto &a, const auto &b) { return places.at(a.first) < places.at(b.first); });
    llvm::MapVector<Share, Value, std::map<Share, unsigned>> shares;
    for (auto &[op, sharding] : ops) {
      ShardingRule form = formOf(op, *sharding, ranks);
      for (auto [operand, cut] : llvm::zip(op->getOperands(), form.operands))
        if (cut && isConstant(operand))
          shares.insert({shareOf(operand, *cut), operand});
    }
    return shares;
  }

  bool isConstant(Value value) { return value.getDefiningOp() && constant.contains(value.getDefiningOp()); }

  double constantBytes(Operation *op) const { return partition::constantBytes(op, constant); }

  /// Returns the best trial sharding whose propagation starts at the op.
  std::optional<TrialSharding> bestFor(Operation *op) {
    std::optional<TrialSharding> best;
    forEachTrial(op, TrialSharding(), [&](TrialSharding &&trial) {
      addExpectedCosts(trial);
      if (trial.saved > 0 && (!best || trial.isBetterThan(best->saved, best->moved)))
        best = std::move(trial);
    });
    return best;
  }

  /// Tries every sharding of the op: calls `use` with a trial that extends `before` by this
  /// sharding, and with the cost of the trial.
  void forEachTrial(Operation *op, const TrialSharding &before, llvm::function_ref<void(TrialSharding &&)> use) {
    auto considerThis = [&](const Sharding &sharding, bool goesOn) {
      TrialSharding trial{before.shared};
      if (!decide(op, sharding, trial))
        return;
      if (goesOn)
        propagate(op, trial);
      computeCost(trial);
      use(std::move(trial));
    };
    // A trial either propagates shards of the result to the users, or gathers the result.
    auto consider = [&](const Sharding &sharding) {
      considerThis(sharding, true);
      if (std::holds_alternative<Shared>(sharding))
        considerThis(sharding, false);
    };
    if (op->getNumResults() == 1)
      for (int64_t dim = 0; dim < graph::getRank(op->getResult(0)); ++dim)
        for (int64_t blocks = 1; blocks <= kMaxBlocks; ++blocks)
          consider(Shared{{dim, blocks}});
    for (OpOperand &operand : op->getOpOperands())
      if (isConstant(operand.get()))
        for (int64_t dim = 0; dim < graph::getRank(operand.get()); ++dim)
          consider(Summed{operand.getOperandNumber(), {dim, 1}});
  }

  /// Returns true if, with its sharding in the trial, the op reads only a shard of a constant.
  bool cutsConstant(Operation *op, const TrialSharding &trial) {
    ShardingRule form = formOf(op, trial.shared.find(op)->second, ranks);
    return llvm::any_of(llvm::zip(op->getOperands(), form.operands),
                        [&](auto one) { return isConstant(std::get<0>(one)) && std::get<1>(one); });
  }

  /// Adds expected costs and savings to the trial for other ops that read the same constants. Such
  /// an op can use the same shards, or other shards. If it can use neither, a rank needs the full
  /// constant in addition to its shard.
  void addExpectedCosts(TrialSharding &trial) {
    llvm::SetVector<Operation *> readers;
    for (auto &[share, operand] : sharesOf(trial))
      if (auto found = sharing.find(rootOf(operand)); found != sharing.end() && found->second.size() <= kMaxSharing)
        for (Operation *other : found->second)
          if (!find(other, trial))
            readers.insert(other);
    TrialSharding ahead = trial;
    for (Operation *other : readers) {
      std::optional<TrialSharding> best;
      forEachTrial(other, ahead, [&](TrialSharding &&next) {
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

  const Sharding *find(Operation *op, const TrialSharding &trial) {
    auto known = chosen.find(op);
    if (known != chosen.end())
      return &known->second;
    auto tried = trial.shared.find(op);
    return tried != trial.shared.end() ? &tried->second : nullptr;
  }

  /// Returns how ranks shard the value, or nothing if each rank has the full value.
  std::optional<DimSharding> cutOf(Value value, const TrialSharding &trial) {
    const Sharding *sharding = value.getDefiningOp() ? find(value.getDefiningOp(), trial) : nullptr;
    auto *shared = sharding ? std::get_if<Shared>(sharding) : nullptr;
    return shared ? std::optional(shared->result) : std::nullopt;
  }

  /// Adds an op with its sharding to the trial, and the producers that must provide its operands as
  /// shards. Returns false if the op cannot have this sharding.
  bool decide(Operation *op, const Sharding &sharding, TrialSharding &trial) {
    if (const Sharding *known = find(op, trial)) {
      auto *a = std::get_if<Shared>(known), *b = std::get_if<Shared>(&sharding);
      return a && b && a->result == b->result;
    }
    // The op's result may have to be gathered or summed over ranks, so its type must be one that
    // ranks can transfer.
    Type type = op->getNumResults() == 1 ? graph::getElementType(op->getResult(0)) : Type();
    bool travels =
        type && (std::holds_alternative<Shared>(sharding) ? graph::canTravel(type) : graph::canBeAdded(type));
    if (op->getBlock() != &block || others.contains(op) || !travels)
      return false;
    std::optional<ShardingRule> form;
    if (auto *shared = std::get_if<Shared>(&sharding)) {
      if (op->getNumResults() != 1 || !graph::isShardable(graph::getDims(op->getResult(0)), shared->result, ranks))
        return false;
      form = graph::shardingRule(op, shared->result, graph::DimExpr(ranks));
    } else {
      form = graph::sumForm(op, std::get<Summed>(sharding).operand, std::get<Summed>(sharding).cut);
    }
    if (!form)
      return false;
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form->operands))
      if (cut && !graph::isShardable(graph::getDims(operand), *cut, ranks))
        return false;
    trial.shared.try_emplace(op, sharding);
    // If the operand's producer has no other users, it computes only the shard, if it can.
    // Otherwise each rank computes the full operand and slices it.
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form->operands)) {
      Operation *maker = operand.getDefiningOp();
      if (cut && maker && !isa<graph::ConstantOp>(maker) && (operand.hasOneUse() || constant.contains(maker)))
        decide(maker, Shared{*cut}, trial);
    }
    return true;
  }

  /// Returns the sharding with which a user processes shards of its operand, or nothing if it needs
  /// the full value.
  std::optional<Sharding> propagatedSharding(OpOperand &use, const DimSharding &cut, const TrialSharding &trial) {
    Operation *reader = use.getOwner();
    unsigned operand = use.getOperandNumber();
    if (reader->getBlock() != &block || others.contains(reader) || reader->getNumResults() != 1)
      return std::nullopt;
    if (const Sharding *known = find(reader, trial)) {
      ShardingRule form = formOf(reader, *known, ranks);
      return form.operands[operand] == cut ? std::optional(*known) : std::nullopt;
    }
    if (graph::sumForm(reader, operand, cut))
      return Summed{operand, cut};
    SmallVector<DimSharding> through = graph::shardingsThrough(reader, operand, cut, ranks);
    return through.empty() ? std::nullopt : std::optional<Sharding>(Shared{through.front()});
  }

  /// Propagates the sharding of the op `first` to all ops that read shards of its result, and on to
  /// their users. If one user needs a value in full, the value is gathered for all of its users.
  void propagate(Operation *first, TrialSharding &trial) {
    pending.push_back(first);
    while (!pending.empty()) {
      if (trial.shared.size() > kMaxShared) {
        pending.clear();
        return;
      }
      Operation *op = pending.front();
      pending.pop_front();
      std::optional<DimSharding> cut = cutOf(op->getResult(0), trial);
      if (!cut)
        continue;
      SmallVector<std::pair<Operation *, Sharding>> readers;
      bool all = true;
      for (OpOperand &use : op->getResult(0).getUses()) {
        std::optional<Sharding> next = propagatedSharding(use, *cut, trial);
        all &= next.has_value();
        if (next)
          readers.push_back({use.getOwner(), *next});
      }
      for (auto &[reader, sharding] : readers)
        if (all && !find(reader, trial) && decide(reader, sharding, trial) && std::holds_alternative<Shared>(sharding))
          pending.push_back(reader);
    }
  }

  void computeCost(TrialSharding &trial) {
    trial.saved = trial.moved = 0;
    DenseSet<Value> gathered, roots;
    for (auto &[share, operand] : sharesOf(trial)) {
      trial.saved += roots.insert(rootOf(operand)).second ? bytesOf(operand) * double(ranks) : 0;
      trial.saved -= chosenShares.contains(share) ? 0 : bytesOf(operand);
    }
    for (auto &[op, sharding] : trial.shared) {
      if (constant.contains(op))
        continue;
      ShardingRule form = formOf(op, sharding, ranks);
      for (auto [operand, cut] : llvm::zip(op->getOperands(), form.operands)) {
        std::optional<DimSharding> has = cutOf(operand, trial);
        if (has && has != cut && !isConstant(operand) && gathered.insert(operand).second)
          trial.moved += gatherCost(operand);
      }
      if (std::holds_alternative<Summed>(sharding)) {
        trial.moved += handing(bytesOf(op->getResult(0)), ranks, 2);
        continue;
      }
      std::optional<DimSharding> own = cutOf(op->getResult(0), trial);
      bool readWhole = llvm::any_of(op->getResult(0).getUses(), [&](OpOperand &use) {
        const Sharding *reader = find(use.getOwner(), trial);
        return !reader || formOf(use.getOwner(), *reader, ranks).operands[use.getOperandNumber()] != own;
      });
      if (readWhole && gathered.insert(op->getResult(0)).second)
        trial.moved += gatherCost(op->getResult(0));
    }
  }

  /// Returns the cost of gathering the value on all ranks. An all-gather transfers half the bytes
  /// of an all-reduce. But the gathered value is the same on all ranks, so sharding the constants
  /// of later ops costs another all-reduce. If later ops have constants, the cost is therefore
  /// doubled.
  double gatherCost(Value value) {
    bool leads = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return leadsToConstants.contains(block.findAncestorOpInBlock(*user));
    });
    return handing(bytesOf(value), ranks, leads ? 2 : 1);
  }

  Block &block;
  int64_t ranks;
  const DenseSet<Operation *> &others;
  DenseSet<Operation *> constant;
  /// Constants with fewer bytes are not sharded.
  double smallBytes = 0;
  /// Ops that matter for the cost of gathering a value: those that read constants of at least
  /// `smallBytes`, contractions with any constant, and ops from whose results one of these is
  /// reachable.
  DenseSet<Operation *> leadsToConstants;
  /// For each constant, the ops that read it, directly or through indexing ops.
  DenseMap<Value, llvm::SetVector<Operation *>> sharing;
  /// Two maps: the position of each op in the program; and, for each op that repeats an earlier op
  /// for another micro-batch, the earlier op.
  DenseMap<Operation *, size_t> places;
  llvm::MapVector<Operation *, Operation *> twins;
  Shardings chosen;
  /// The shards of constants that the chosen shardings use.
  std::set<Share> chosenShares;
  /// Number of shardings chosen so far.
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

ShardingRule formOf(Operation *op, const Sharding &sharding, int64_t ranks) {
  if (auto *shared = std::get_if<Shared>(&sharding))
    return *graph::shardingRule(op, shared->result, graph::DimExpr(ranks));
  const Summed &summed = std::get<Summed>(sharding);
  return *graph::sumForm(op, summed.operand, summed.cut);
}

Shardings chooseShardings(Block &block, int64_t ranks, const DenseSet<Operation *> &others) {
  return ShardingChooser(block, ranks, others).run();
}

} // namespace hewn::partition
