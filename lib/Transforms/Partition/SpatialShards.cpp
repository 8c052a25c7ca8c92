// SPDX-License-Identifier: Apache-2.0
//
// Chooses which values ranks shard spatially, with halos.
//
// Spatial sharding starts at contractions with small constants (graph::haloRule). It propagates
// forward to users, and backward to producers that only sharded values use. A backward walk then
// collects which rows each rank needs of each value. If an op cannot produce the rows that some
// rank needs, it is excluded, and the analysis starts again without it.
#include "lib/Transforms/Partition/SpatialShards.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using hewn::graph::HaloRule;
using hewn::graph::HaloShard;
using hewn::graph::Lines;

namespace hewn::partition {

namespace {

/// Returns the minimum cost of a message between ranks in equivalent bytes, the same as for tensor
/// parallelism.
double messageBytes() { return handing(0, 1); }

class BandFinder {
public:
  /// Constructs a search for ops to shard spatially. It considers only ops whose constants have at
  /// most `mostBytes` bytes.
  BandFinder(Block &block, int64_t ranks, double mostBytes)
      : block(block), ranks(ranks), mostBytes(mostBytes), constant(findConstantOps(block)) {
    findOpsOnInputs();
  }

  Bands run() {
    do {
      bands.clear();
      propagateForward();
      propagateBackward();
    } while (!collectNeededLines());
    return std::move(bands);
  }

private:
  /// Collects ops, other than contractions, that depend only on inputs, constants and other ops in
  /// this collection. Ranks may recompute them instead of exchanging their rows.
  void findOpsOnInputs() {
    for (Operation &op : block)
      if (isCandidate(&op) && !isa<graph::ContractOpInterface>(op) && llvm::all_of(op.getOperands(), [&](Value v) {
            return !v.getDefiningOp() || constant.contains(v.getDefiningOp()) || onInputs.contains(v.getDefiningOp());
          }))
        onInputs.insert(&op);
  }

  bool isCandidate(Operation *op) const {
    return !constant.contains(op) && !excluded.contains(op) && op->getNumResults() == 1 && !op->getNumRegions() &&
           isMemoryEffectFree(op) && graph::canTravel(graph::getElementType(op->getResult(0)));
  }

  double constantBytes(Operation *op) const { return partition::constantBytes(op, constant); }

  bool isConstant(Value value) const { return value.getDefiningOp() && constant.contains(value.getDefiningOp()); }

  /// Returns the halo rule for all rows of the result: which dims of the operands correspond to
  /// `dim` of the result.
  std::optional<HaloRule> fullForm(Operation *op, int64_t dim) const {
    std::optional<Lines> all = graph::linesOf(op->getResult(0), dim);
    return all ? graph::haloRule(op, {dim, *all}) : std::nullopt;
  }

  /// Returns true if sharding the result along this dim leaves the constants of a contraction in
  /// full. Otherwise the constants would be sharded too, which is the task of `chooseShardings`.
  bool keepsConstantsUnsharded(Operation *op, const HaloRule &form) const {
    return !isa<graph::ContractOpInterface>(op) ||
           llvm::none_of(llvm::zip(op->getOperands(), form.operands),
                         [&](auto one) { return isConstant(std::get<0>(one)) && std::get<1>(one); });
  }

  void add(Operation *op, int64_t dim, int64_t unit, bool isHanded) {
    int64_t units = graph::linesOf(op->getResult(0), dim)->size() / unit;
    Banded banded{dim, {}, {}, isHanded};
    for (int64_t rank = 0; rank < ranks; ++rank)
      banded.own.push_back({units * rank / ranks * unit, units * (rank + 1) / ranks * unit});
    unitsOf[op] = unit;
    bands.insert({op, std::move(banded)});
  }

  void propagateForward() {
    for (Operation &op : block) {
      bool multiplies = isa<graph::ContractOpInterface>(op);
      if (!isCandidate(&op) || (multiplies && constantBytes(&op) > mostBytes))
        continue;
      if (!follow(&op) && multiplies && constantBytes(&op) > 0)
        begin(&op);
    }
  }

  /// Shards `op` spatially along its first dim that has at least one row per rank. An outer dim is
  /// better than an inner dim, because its rows are longer contiguous ranges.
  void begin(Operation *op) {
    for (int64_t dim = 0; dim < graph::getRank(op->getResult(0)); ++dim) {
      std::optional<HaloRule> form = fullForm(op, dim);
      if (!form || !keepsConstantsUnsharded(op, *form) || graph::linesOf(op->getResult(0), dim)->size() < ranks)
        continue;
      add(op, dim, 1, /*isHanded=*/true);
      return;
    }
  }

  bool follow(Operation *op) {
    for (auto [place, operand] : llvm::enumerate(op->getOperands())) {
      auto has = bands.find(operand.getDefiningOp());
      if (has == bands.end())
        continue;
      for (int64_t dim = 0; dim < graph::getRank(op->getResult(0)); ++dim) {
        std::optional<HaloRule> form = fullForm(op, dim);
        if (!form || !form->operands[place] || form->operands[place]->dim != has->second.dim ||
            !keepsConstantsUnsharded(op, *form))
          continue;
        int64_t unit = unitOf(op, dim, operand, has->second.dim);
        if (graph::linesOf(op->getResult(0), dim)->size() / unit < ranks)
          continue;
        // An indexing op that combines several values, such as a concat, is not recomputed: ranks
        // exchange the rows of its result.
        bool isIndexing = isa<graph::IndexingOpInterface>(op);
        add(op, dim, unit, /*isHanded=*/!isIndexing ||
                               llvm::count_if(form->operands, [](const auto &band) { return band.has_value(); }) > 1);
        return true;
      }
    }
    return false;
  }

  /// Returns the number of adjacent result rows that must be on one rank. It may be larger than 1
  /// after a reshape, which may split one row of the operand into several rows of the result.
  int64_t unitOf(Operation *op, int64_t dim, Value operand, int64_t operandDim) {
    int64_t unit = unitsOf.lookup(operand.getDefiningOp());
    int64_t lines = graph::linesOf(op->getResult(0), dim)->size(), from = graph::linesOf(operand, operandDim)->size();
    auto move = dyn_cast<graph::IndexingOpInterface>(op);
    if (move && move.getViewKind() == graph::ViewKind::Reshape)
      unit = std::max<int64_t>(1, unit * lines / from);
    else if (lines != from)
      unit = 1;
    return lines % unit == 0 ? unit : 1;
  }

  /// Spatially shards ops that only sharded ops use and that are cheaper to recompute on each rank
  /// than to exchange: indexing ops, and ops on inputs.
  void propagateBackward() {
    for (Operation &op : llvm::reverse(block)) {
      if (bands.contains(&op) || !isCandidate(&op) || op.use_empty() ||
          !(isa<graph::IndexingOpInterface>(op) || onInputs.contains(&op)))
        continue;
      std::optional<int64_t> dim = dimOfReaders(op.getResult(0));
      if (dim && fullForm(&op, *dim) && graph::linesOf(op.getResult(0), *dim)->size() >= ranks)
        add(&op, *dim, 1, /*isHanded=*/false);
    }
  }

  /// Returns the dim along which all users need rows of the value. Returns nothing if a user needs
  /// the full value, or rows along another dim.
  std::optional<int64_t> dimOfReaders(Value value) const {
    std::optional<int64_t> dim;
    for (OpOperand &use : value.getUses()) {
      auto reader = bands.find(use.getOwner());
      std::optional<HaloRule> form =
          reader == bands.end() ? std::nullopt : fullForm(use.getOwner(), reader->second.dim);
      if (!form || !form->operands[use.getOperandNumber()])
        return std::nullopt;
      int64_t wanted = form->operands[use.getOperandNumber()]->dim;
      if (dim.value_or(wanted) != wanted)
        return std::nullopt;
      dim = wanted;
    }
    return dim;
  }

  /// Collects the rows that each rank needs of each value, from the last op to the first. Returns
  /// false if an op had to be excluded from spatial sharding.
  bool collectNeededLines() {
    for (auto &[op, banded] : bands)
      banded.wanted.assign(size_t(ranks), {});
    for (Operation &op : llvm::reverse(block)) {
      auto found = bands.find(&op);
      if (found == bands.end())
        continue;
      Banded &banded = found->second;
      bool readByBands = llvm::any_of(banded.wanted, [](const Lines &lines) { return !lines.empty(); });
      if (!readByBands && isLargerThanOperands(&op))
        return exclude(&op);
      if (!banded.isHanded && (isReadInFull(op.getResult(0), banded) || !readByBands))
        for (auto [wanted, own] : llvm::zip(banded.wanted, banded.own))
          wanted = wanted.join(own);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        std::optional<HaloRule> form = graph::haloRule(&op, {banded.dim, banded.made()[rank]});
        if (!form)
          return exclude(&op);
        for (auto [operand, band] : llvm::zip(op.getOperands(), form->operands))
          if (auto maker = bands.find(operand.getDefiningOp());
              band && maker != bands.end() && maker->second.dim == band->dim)
            maker->second.wanted[rank] = maker->second.wanted[rank].join(band->lines);
      }
    }
    return true;
  }

  bool exclude(Operation *op) {
    excluded.insert(op);
    onInputs.erase(op);
    return false;
  }

  /// Returns true if the op's result is larger than its spatially sharded operands. If users need
  /// the result only in full, gathering the operands then costs less than gathering the result.
  bool isLargerThanOperands(Operation *op) const {
    double read = 0;
    for (Value operand : op->getOperands())
      read += bands.contains(operand.getDefiningOp()) ? bytesOf(operand) : 0;
    return !isa<graph::ContractOpInterface>(op) && bytesOf(op->getResult(0)) > read;
  }

  bool isReadInFull(Value value, const Banded &banded) const {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      auto reader = bands.find(use.getOwner());
      if (reader == bands.end())
        return true;
      std::optional<HaloRule> form = fullForm(use.getOwner(), reader->second.dim);
      return !form || !form->operands[use.getOperandNumber()] ||
             form->operands[use.getOperandNumber()]->dim != banded.dim;
    });
  }

  Block &block;
  int64_t ranks;
  double mostBytes;
  DenseSet<Operation *> constant, onInputs, excluded;
  Bands bands;
  DenseMap<Operation *, int64_t> unitsOf;
};

/// Computes the bytes that all ranks together transfer with the chosen shardings, including the
/// cost of messages in equivalent bytes.
class CommunicationCost {
public:
  CommunicationCost(Block &block, int64_t ranks, const Plan &plan)
      : block(block), ranks(ranks), plan(plan), constant(findConstantOps(block)) {}

  double bytes() const {
    double moved = 0;
    for (Operation &op : block) {
      auto banded = plan.bands.find(&op);
      auto sharding = plan.shardings.find(&op);
      if (banded != plan.bands.end())
        moved += ofBand(&op, banded->second);
      else if (sharding != plan.shardings.end() && !constant.contains(&op))
        moved += ofSharding(&op, sharding->second);
    }
    return moved;
  }

private:
  double ofBand(Operation *op, const Banded &banded) const {
    Value value = op->getResult(0);
    double moved = 0, line = bytesOf(value) / double(graph::linesOf(value, banded.dim)->size());
    if (banded.isHanded)
      for (auto [from, to] : graph::messagesOf(banded.own, banded.wanted))
        moved += line * double(banded.own[from].meet(banded.wanted[to]).size()) + messageBytes();
    bool isReadInFull = llvm::any_of(value.getUses(), [&](OpOperand &use) {
      auto reader = plan.bands.find(use.getOwner());
      if (reader == plan.bands.end())
        return true;
      std::optional<HaloRule> form = graph::haloRule(use.getOwner(), {reader->second.dim, reader->second.made()[0]});
      const std::optional<HaloShard> &wanted = form->operands[use.getOperandNumber()];
      return !wanted || wanted->dim != banded.dim;
    });
    int64_t most = 0;
    for (const Lines &lines : banded.own)
      most = std::max(most, lines.size());
    return moved + (isReadInFull ? handing(line * double(most * ranks), ranks) : 0);
  }

  double ofSharding(Operation *op, const Sharding &sharding) const {
    Value value = op->getResult(0);
    auto *shared = std::get_if<Shared>(&sharding);
    if (!shared)
      return handing(bytesOf(value), ranks, 2);
    bool isReadInFull = llvm::any_of(value.getUses(), [&](OpOperand &use) {
      auto reader = plan.shardings.find(use.getOwner());
      return reader == plan.shardings.end() ||
             formOf(use.getOwner(), reader->second, ranks).operands[use.getOperandNumber()] != shared->result;
    });
    return isReadInFull ? handing(bytesOf(value), ranks) : 0;
  }

  Block &block;
  int64_t ranks;
  const Plan &plan;
  DenseSet<Operation *> constant;
};

/// Returns the bytes of the largest constant of each contraction, in ascending order, as long as
/// their sum is at most `percent` of the bytes of the block's constants.
SmallVector<double> smallConstants(Block &block, int64_t percent) {
  DenseSet<Operation *> constant = findConstantOps(block);
  double all = 0;
  for (auto op : block.getOps<graph::ConstantOp>())
    all += bytesOf(op.getResult());
  SmallVector<double> found;
  for (Operation &op : block)
    if (isa<graph::ContractOpInterface>(op) && !constant.contains(&op)) {
      if (double most = constantBytes(&op, constant); most > 0)
        found.push_back(most);
    }
  llvm::sort(found);
  double sum = 0;
  size_t many = 0;
  while (many < found.size() && (sum += found[many]) <= all * double(percent) / 100)
    ++many;
  // Limit spatial sharding to constants of a size such that all constants of equal size are
  // included, or none of them.
  while (many > 0 && many < found.size() && found[many] == found[many - 1])
    --many;
  found.truncate(many);
  return found;
}

} // namespace

DenseSet<Operation *> Plan::byLines() const {
  DenseSet<Operation *> ops;
  for (auto &[op, banded] : bands)
    ops.insert(op);
  return ops;
}

Plan choosePlan(Block &block, int64_t ranks, int64_t percent) {
  SmallVector<double> small = smallConstants(block, percent < 0 ? kUsualLines : percent);
  Plan best;
  if (percent >= 0) {
    if (!small.empty())
      best.bands = BandFinder(block, ranks, small.back()).run();
    best.shardings = chooseShardings(block, ranks, best.byLines());
    return best;
  }
  best.shardings = chooseShardings(block, ranks, {});
  const Shardings divided = best.shardings;
  double least = CommunicationCost(block, ranks, best).bytes();
  // Try spatial sharding of the ops with all small constants, then of half of these ops, and so on.
  // Each attempt chooses the shardings of all other ops again.
  for (size_t many = small.size(); many > 0; many /= 2) {
    Plan plan;
    plan.bands = BandFinder(block, ranks, small[many - 1]).run();
    if (llvm::none_of(plan.bands, [&](const auto &one) { return divided.contains(one.first); }))
      continue; // these ops need no communication without spatial sharding
    plan.shardings = chooseShardings(block, ranks, plan.byLines());
    if (double moved = CommunicationCost(block, ranks, plan).bytes(); moved < least) {
      least = moved;
      best = std::move(plan);
    }
  }
  return best;
}

} // namespace hewn::partition
