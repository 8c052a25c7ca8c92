// SPDX-License-Identifier: Apache-2.0
//
// A value's rows are those of its first dim with more than one element: a rank's part of it lies in memory as one run, and is summed, read and
// gathered where it is.
#include "lib/Transforms/Partition/Rows.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Remarks.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using hewn::graph::Cut;
using hewn::graph::CutForm;

namespace hewn::partition {

namespace {

/// A byte that a rank reads or writes in its own memory costs as much as this part of one between ranks.
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
    keepWhatPays();
    for (auto &[op, candidate] : candidates)
      if (!candidate.isCut)
        continue;
      else if (candidate.isSum)
        std::get<Summed>(shardings.find(op)->second).part = candidate.rows;
      else
        shardings.try_emplace(op, Shared{candidate.rows});
  }

private:
  /// An op that could be done for a rank's rows alone.
  struct Candidate {
    Cut rows;
    bool isSum, isCut;
    /// Of an op that is no sum: how it makes rows.
    CutForm form;
  };

  static bool isRows(const graph::Dims &dims, const Cut &cut) {
    return cut.blocks.is(1) &&
           llvm::all_of(ArrayRef(dims).take_front(cut.dim), [](const graph::DimExpr &dim) { return dim.is(1); });
  }

  /// The cut by rows; nullopt where ranks do not divide them.
  std::optional<Cut> rowsOf(Value value) const {
    graph::Dims dims = graph::getDims(value);
    const auto *first = llvm::find_if(dims, [](const graph::DimExpr &dim) { return !dim.is(1); });
    Cut cut{first - dims.begin(), 1};
    return graph::isCuttable(dims, cut, ranks) ? std::optional(cut) : std::nullopt;
  }

  std::optional<Cut> partsOf(Value value) const {
    auto found = candidates.find(value.getDefiningOp());
    return found == candidates.end() ? std::nullopt : std::optional(found->second.rows);
  }

  /// Sums, and all that can go on with their rows. Products have been chosen for by what they read.
  void findCandidates() {
    for (Operation &op : block) {
      auto known = shardings.find(&op);
      if (known != shardings.end()) {
        if (std::holds_alternative<Summed>(known->second) && !constant.contains(&op))
          if (std::optional<Cut> rows = rowsOf(op.getResult(0)))
            candidates.insert({&op, {*rows, /*isSum=*/true, /*isCut=*/true, {}}});
        continue;
      }
      if (constant.contains(&op) || others.contains(&op) || op.getNumResults() != 1 || op.getNumRegions() ||
          !isMemoryEffectFree(&op) || isa<graph::ContractOpInterface>(op) ||
          !graph::canTravel(graph::getElementType(op.getResult(0))))
        continue;
      if (std::optional<Candidate> candidate = goOn(&op))
        candidates.insert({&op, *candidate});
    }
  }

  std::optional<Candidate> goOn(Operation *op) const {
    for (auto [place, operand] : llvm::enumerate(op->getOperands()))
      if (std::optional<Cut> cut = partsOf(operand))
        for (const Cut &rows : graph::cutsThrough(op, unsigned(place), *cut, ranks)) {
          std::optional<CutForm> form = graph::cutForm(op, rows, graph::DimExpr(ranks));
          if (form && isRows(graph::getDims(op->getResult(0)), rows) && canTake(op, *form))
            return Candidate{rows, /*isSum=*/false, /*isCut=*/true, *form};
        }
    return std::nullopt; // it reads no parts, or wants more of them than a rank has
  }

  /// Of what ranks have parts these are wanted, of others rows.
  bool canTake(Operation *op, const CutForm &form) const {
    return llvm::all_of(llvm::zip(op->getOperands(), form.operands), [&](auto one) {
      auto &[operand, wanted] = one;
      std::optional<Cut> has = partsOf(operand);
      if (has)
        return wanted == has;
      return !wanted ||
             (isRows(graph::getDims(operand), *wanted) && graph::isCuttable(graph::getDims(operand), *wanted, ranks));
    });
  }

  bool isCut(Operation *op) const {
    auto found = candidates.find(op);
    return found != candidates.end() && found->second.isCut;
  }

  /// What the value costs, by all ranks together: to hand it on, and to read and write it where ops that are done together begin and end.
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

  /// The values whose costs the op's choice is in.
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

  /// Where one op would better be done for all rows, it is: one whose result is longer than what it reads, or is wanted whole with that.
  void dropSingle() {
    for (auto &[op, candidate] : llvm::reverse(candidates)) {
      llvm::SetVector<Value> values = valuesOf(op);
      double before = costOf(values);
      candidate.isCut = false;
      candidate.isCut = costOf(values) >= before;
    }
  }

  /// Ops that hand each other rows are chosen together.
  void keepWhatPays() {
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
                 "a message more costs as much as doing what follows for all rows");
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
  /// In the order of the program.
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
