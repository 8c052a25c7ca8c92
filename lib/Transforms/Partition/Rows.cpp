// SPDX-License-Identifier: Apache-2.0
//
// Chooses which ops the ranks shard by rows (see Rows.h). The rows of a value are its slices along
// its first dim with more than one element. The rows of one rank are contiguous in memory, so they
// are reduced, read and gathered without copies.
#include "lib/Transforms/Partition/Rows.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Remarks.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using hewn::graph::DimSharding;
using hewn::graph::ShardingRule;

namespace hewn::partition {

namespace {

/// Cost of reading or writing a byte in a rank's own memory, relative to transferring a byte
/// between ranks.
constexpr double kOwnByte = 0.125;

class RowChooser {
public:
  RowChooser(Block &block, int64_t ranks, const RowCosts &costs, const DenseSet<Operation *> &others,
             Shardings &shardings)
      : block(block), ranks(ranks), costs(costs), others(others), shardings(shardings),
        constant(findConstantOps(block)) {}

  void run() {
    findCandidates();
    dropSingle();
    dropUnprofitable();
    for (auto &[op, candidate] : candidates)
      if (!candidate.isCut)
        continue;
      else if (candidate.isSum)
        std::get<Summed>(shardings.find(op)->second).part = candidate.rows;
      else
        shardings.try_emplace(op, Shared{candidate.rows});
  }

private:
  /// An op after a sum over ranks that a rank can compute for its own rows only.
  struct Candidate {
    DimSharding rows;
    bool isSum, isCut;
    /// The sharding rule by rows, for ops other than sums over ranks.
    ShardingRule form;
  };

  static bool isRows(const graph::Dims &dims, const DimSharding &cut) {
    return cut.blocks.is(1) &&
           llvm::all_of(ArrayRef(dims).take_front(cut.dim), [](const graph::DimExpr &dim) { return dim.is(1); });
  }

  /// Returns the sharding of a value by rows, or nothing if its number of rows is not divisible by
  /// the number of ranks.
  std::optional<DimSharding> rowsOf(Value value) const {
    graph::Dims dims = graph::getDims(value);
    const auto *first = llvm::find_if(dims, [](const graph::DimExpr &dim) { return !dim.is(1); });
    DimSharding cut{first - dims.begin(), 1};
    return graph::isShardable(dims, cut, ranks) ? std::optional(cut) : std::nullopt;
  }

  std::optional<DimSharding> partsOf(Value value) const {
    auto found = candidates.find(value.getDefiningOp());
    return found == candidates.end() ? std::nullopt : std::optional(found->second.rows);
  }

  /// Collects the candidates for sharding by rows: sums over ranks, and ops that can process a
  /// rank's rows of such a sum. Contractions are excluded, because their sharding is already
  /// chosen.
  void findCandidates() {
    for (Operation &op : block) {
      auto known = shardings.find(&op);
      if (known != shardings.end()) {
        if (std::holds_alternative<Summed>(known->second) && !constant.contains(&op))
          if (std::optional<DimSharding> rows = rowsOf(op.getResult(0)))
            candidates.insert({&op, {*rows, /*isSum=*/true, /*isCut=*/true, {}}});
        continue;
      }
      if (constant.contains(&op) || others.contains(&op) || op.getNumResults() != 1 || op.getNumRegions() ||
          !isMemoryEffectFree(&op) || isa<graph::ContractOpInterface>(op) ||
          !graph::canTravel(graph::getElementType(op.getResult(0))))
        continue;
      if (std::optional<Candidate> candidate = propagate(&op))
        candidates.insert({&op, *candidate});
    }
  }

  std::optional<Candidate> propagate(Operation *op) const {
    for (auto [place, operand] : llvm::enumerate(op->getOperands()))
      if (std::optional<DimSharding> cut = partsOf(operand))
        for (const DimSharding &rows : graph::shardingsThrough(op, unsigned(place), *cut, ranks)) {
          std::optional<ShardingRule> form = graph::shardingRule(op, rows, graph::DimExpr(ranks));
          if (form && isRows(graph::getDims(op->getResult(0)), rows) && canTake(op, *form))
            return Candidate{rows, /*isSum=*/false, /*isCut=*/true, *form};
        }
    // no operand is sharded by rows, or the op needs more of an operand than the rank's rows
    return std::nullopt;
  }

  /// Returns true if a rank can compute its rows of the op's result from what it has: its own rows
  /// of operands that are sharded by rows, and rows of the other operands, which it has in full.
  bool canTake(Operation *op, const ShardingRule &form) const {
    return llvm::all_of(llvm::zip(op->getOperands(), form.operands), [&](auto one) {
      auto &[operand, wanted] = one;
      std::optional<DimSharding> has = partsOf(operand);
      if (has)
        return wanted == has;
      return !wanted ||
             (isRows(graph::getDims(operand), *wanted) && graph::isShardable(graph::getDims(operand), *wanted, ranks));
    });
  }

  bool isCut(Operation *op) const {
    auto found = candidates.find(op);
    return found != candidates.end() && found->second.isCut;
  }

  /// Returns the cost of the value over all ranks: its transfers between ranks, plus its reads and
  /// writes in memory if it is the first operand or the last result of a sequence of fused ops.
  double costOf(Value value) const {
    double bytes = bytesOf(value), cost = 0;
    auto own = candidates.find(value.getDefiningOp());
    bool isOwn = own != candidates.end(), isSum = isOwn && own->second.isSum, hasParts = isOwn && own->second.isCut;
    bool readWhole = false, readParts = false, readByOthers = false;
    for (OpOperand &use : value.getUses()) {
      auto reader = candidates.find(use.getOwner());
      if (reader == candidates.end() || reader->second.isSum) {
        readByOthers = true;
        continue;
      }
      bool takesParts = reader->second.isCut && reader->second.form.operands[use.getOperandNumber()];
      (takesParts ? readParts : readWhole) = true;
    }
    if (isSum)
      cost += hasParts ? costs.scatter(bytes) : costs.sum(bytes);
    if (hasParts && (readWhole || readByOthers))
      cost += costs.gather(bytes);
    double parts = costs.ownByte * bytes, whole = parts * double(ranks);
    if ((isSum || !isOwn) && (readWhole || readParts))
      cost += readWhole ? whole : parts;
    if (isOwn && !isSum && readByOthers)
      cost += hasParts ? parts : whole;
    return cost;
  }

  /// Returns the values whose transfer and memory costs depend on whether the op is sharded by
  /// rows.
  llvm::SetVector<Value> valuesOf(Operation *op) const {
    llvm::SetVector<Value> values;
    values.insert(op->getResult(0));
    if (!candidates.find(op)->second.isSum)
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || !constant.contains(operand.getDefiningOp()))
          values.insert(operand);
    return values;
  }

  double costOf(const llvm::SetVector<Value> &values) const {
    double cost = 0;
    for (Value value : values)
      cost += costOf(value);
    return cost;
  }

  /// Drops candidates for which sharding by rows costs more than computing all rows on each rank,
  /// each candidate considered alone. This occurs if the result is larger than the operands, or if
  /// users need the result in full as well.
  void dropSingle() {
    for (auto &[op, candidate] : llvm::reverse(candidates)) {
      llvm::SetVector<Value> values = valuesOf(op);
      double before = costOf(values);
      candidate.isCut = false;
      candidate.isCut = costOf(values) >= before;
    }
  }

  /// Decides jointly whether to shard candidates that pass rows to each other. If such a set costs
  /// more than it saves, drops all of it.
  void dropUnprofitable() {
    llvm::EquivalenceClasses<Operation *> together;
    for (auto &[op, candidate] : candidates) {
      together.insert(op);
      if (!candidate.isSum)
        for (Value operand : op->getOperands())
          if (isCut(operand.getDefiningOp()) && candidate.isCut)
            together.unionSets(op, operand.getDefiningOp());
    }
    llvm::MapVector<Operation *, SmallVector<Operation *>> groups;
    for (auto &[op, candidate] : candidates)
      groups[together.getLeaderValue(op)].push_back(op);
    for (auto &[leader, ops] : groups) {
      llvm::SetVector<Value> values;
      for (Operation *op : ops)
        values.insert_range(valuesOf(op));
      double byRows = costOf(values);
      SmallVector<Operation *> cut = llvm::filter_to_vector(ops, [&](Operation *op) { return isCut(op); });
      for (Operation *op : cut)
        candidates.find(op)->second.isCut = false;
      if (costOf(values) <= byRows) {
        if (!cut.empty())
          missed(cut.front(), kPass, "RowsNotShared",
                 "rows not sharded: one more message costs as much as computing the following ops for all rows on "
                 "every rank");
        continue;
      }
      for (Operation *op : cut)
        candidates.find(op)->second.isCut = true;
    }
  }

  Block &block;
  int64_t ranks;
  const RowCosts &costs;
  const DenseSet<Operation *> &others;
  Shardings &shardings;
  DenseSet<Operation *> constant;
  /// The ops that may be sharded by rows, in program order.
  llvm::MapVector<Operation *, Candidate> candidates;
};

} // namespace

RowCosts plainRowCosts(int64_t ranks) {
  auto times = [=](double often) { return [=](double bytes) { return handing(bytes, ranks, often); }; };
  return {times(2), times(1), times(1), kOwnByte};
}

void shareRows(Block &block, int64_t ranks, const RowCosts &costs, const DenseSet<Operation *> &others,
               Shardings &shardings) {
  RowChooser(block, ranks, costs, others, shardings).run();
}

} // namespace hewn::partition
