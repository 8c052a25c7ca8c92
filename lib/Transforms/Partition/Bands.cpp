// SPDX-License-Identifier: Apache-2.0
//
// Which values are in bands follows from the ops' kinds (graph::bandForm), from those with constants on, forwards to what reads them and backwards
// to what is made for them alone. Which lines each rank wants of each is asked backwards through the program then; an op that does not make
// the lines that it is asked for by some rank has no bands, and all begins anew without it.
#include "lib/Transforms/Partition/Bands.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using hewn::graph::Band;
using hewn::graph::BandForm;
using hewn::graph::Lines;

namespace hewn::partition {

namespace {

/// A message costs at least what moving so many bytes does, as for the other choices.
double messageBytes() { return handing(0, 1); }

class BandFinder {
public:
  /// Of ops that read constants of at most so many bytes.
  BandFinder(Block &block, int64_t ranks, double mostBytes)
      : block(block), ranks(ranks), mostBytes(mostBytes), constant(findConstantOps(block)) {
    findEarly();
  }

  Bands run() {
    do {
      bands.clear();
      goForward();
      goBackward();
    } while (!askForLines());
    return std::move(bands);
  }

private:
  /// What inputs come through before anything is multiplied.
  void findEarly() {
    for (Operation &op : block)
      if (isCandidate(&op) && !isa<graph::ContractOpInterface>(op) && llvm::all_of(op.getOperands(), [&](Value v) {
            return !v.getDefiningOp() || constant.contains(v.getDefiningOp()) || early.contains(v.getDefiningOp());
          }))
        early.insert(&op);
  }

  bool isCandidate(Operation *op) const {
    return !constant.contains(op) && !excluded.contains(op) && op->getNumResults() == 1 && !op->getNumRegions() &&
           isMemoryEffectFree(op) && graph::canTravel(graph::getElementType(op->getResult(0)));
  }

  double constantBytes(Operation *op) const { return partition::constantBytes(op, constant); }

  bool isConstant(Value value) const { return value.getDefiningOp() && constant.contains(value.getDefiningOp()); }

  /// The form of all lines: which dims of operands become which.
  std::optional<BandForm> wholeForm(Operation *op, int64_t dim) const {
    std::optional<Lines> all = graph::linesOf(op->getResult(0), dim);
    return all ? graph::bandForm(op, {dim, *all}) : std::nullopt;
  }

  /// A contraction has its constants whole; else it would be a cut of them.
  bool keepsConstants(Operation *op, const BandForm &form) const {
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

  void goForward() {
    for (Operation &op : block) {
      bool multiplies = isa<graph::ContractOpInterface>(op);
      if (!isCandidate(&op) || (multiplies && constantBytes(&op) > mostBytes))
        continue;
      if (!follow(&op) && multiplies && constantBytes(&op) > 0)
        begin(&op);
    }
  }

  /// Along the first dim of which each rank has a line: those of an outer one are longer runs of memory.
  void begin(Operation *op) {
    for (int64_t dim = 0; dim < graph::getRank(op->getResult(0)); ++dim) {
      std::optional<BandForm> form = wholeForm(op, dim);
      if (!form || !keepsConstants(op, *form) || graph::linesOf(op->getResult(0), dim)->size() < ranks)
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
        std::optional<BandForm> form = wholeForm(op, dim);
        if (!form || !form->operands[place] || form->operands[place]->dim != has->second.dim ||
            !keepsConstants(op, *form))
          continue;
        int64_t unit = unitOf(op, dim, operand, has->second.dim);
        if (graph::linesOf(op->getResult(0), dim)->size() / unit < ranks)
          continue;
        // What several values are put together to is handed on as one.
        bool isMove = isa<graph::MoveOpInterface>(op);
        add(op, dim, unit, /*isHanded=*/!isMove ||
                               llvm::count_if(form->operands, [](const auto &band) { return band.has_value(); }) > 1);
        return true;
      }
    }
    return false;
  }

  /// So many lines of the result belong together, where those of the operand do: a reshape's are several of one, or one of several.
  int64_t unitOf(Operation *op, int64_t dim, Value operand, int64_t operandDim) {
    int64_t unit = unitsOf.lookup(operand.getDefiningOp());
    int64_t lines = graph::linesOf(op->getResult(0), dim)->size(), from = graph::linesOf(operand, operandDim)->size();
    auto move = dyn_cast<graph::MoveOpInterface>(op);
    if (move && move.getViewKind() == graph::ViewKind::Reshape)
      unit = std::max<int64_t>(1, unit * lines / from);
    else if (lines != from)
      unit = 1;
    return lines % unit == 0 ? unit : 1;
  }

  /// What is made for bands alone, and costs less than handing it on: moves, and what inputs come through.
  void goBackward() {
    for (Operation &op : llvm::reverse(block)) {
      if (bands.contains(&op) || !isCandidate(&op) || op.use_empty() ||
          !(isa<graph::MoveOpInterface>(op) || early.contains(&op)))
        continue;
      std::optional<int64_t> dim = dimOfReaders(op.getResult(0));
      if (dim && wholeForm(&op, *dim) && graph::linesOf(op.getResult(0), *dim)->size() >= ranks)
        add(&op, *dim, 1, /*isHanded=*/false);
    }
  }

  /// The dim along which all readers want lines; nullopt: some want the whole, or lines along others.
  std::optional<int64_t> dimOfReaders(Value value) const {
    std::optional<int64_t> dim;
    for (OpOperand &use : value.getUses()) {
      auto reader = bands.find(use.getOwner());
      std::optional<BandForm> form =
          reader == bands.end() ? std::nullopt : wholeForm(use.getOwner(), reader->second.dim);
      if (!form || !form->operands[use.getOperandNumber()])
        return std::nullopt;
      int64_t wanted = form->operands[use.getOperandNumber()]->dim;
      if (dim.value_or(wanted) != wanted)
        return std::nullopt;
      dim = wanted;
    }
    return dim;
  }

  /// What each rank wants of each value, readers first; false where an op had to be excluded.
  bool askForLines() {
    for (auto &[op, banded] : bands)
      banded.wanted.assign(size_t(ranks), {});
    for (Operation &op : llvm::reverse(block)) {
      auto found = bands.find(&op);
      if (found == bands.end())
        continue;
      Banded &banded = found->second;
      bool readByBands = llvm::any_of(banded.wanted, [](const Lines &lines) { return !lines.empty(); });
      if (!readByBands && isLonger(&op))
        return exclude(&op);
      if (!banded.isHanded && (isReadWhole(op.getResult(0), banded) || !readByBands))
        for (auto [wanted, own] : llvm::zip(banded.wanted, banded.own))
          wanted = wanted.join(own);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        std::optional<BandForm> form = graph::bandForm(&op, {banded.dim, banded.made()[rank]});
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
    early.erase(op);
    return false;
  }

  /// What is only wanted whole, and has more to gather than what it is made of.
  bool isLonger(Operation *op) const {
    double read = 0;
    for (Value operand : op->getOperands())
      read += bands.contains(operand.getDefiningOp()) ? bytesOf(operand) : 0;
    return !isa<graph::ContractOpInterface>(op) && bytesOf(op->getResult(0)) > read;
  }

  bool isReadWhole(Value value, const Banded &banded) const {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      auto reader = bands.find(use.getOwner());
      if (reader == bands.end())
        return true;
      std::optional<BandForm> form = wholeForm(use.getOwner(), reader->second.dim);
      return !form || !form->operands[use.getOperandNumber()] ||
             form->operands[use.getOperandNumber()]->dim != banded.dim;
    });
  }

  Block &block;
  int64_t ranks;
  double mostBytes;
  DenseSet<Operation *> constant, early, excluded;
  Bands bands;
  DenseMap<Operation *, int64_t> unitsOf;
};

/// The bytes that all ranks together move, and what messages cost.
class Mover {
public:
  Mover(Block &block, int64_t ranks, const Plan &plan)
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
    bool isReadWhole = llvm::any_of(value.getUses(), [&](OpOperand &use) {
      auto reader = plan.bands.find(use.getOwner());
      if (reader == plan.bands.end())
        return true;
      std::optional<BandForm> form = graph::bandForm(use.getOwner(), {reader->second.dim, reader->second.made()[0]});
      const std::optional<Band> &wanted = form->operands[use.getOperandNumber()];
      return !wanted || wanted->dim != banded.dim;
    });
    int64_t most = 0;
    for (const Lines &lines : banded.own)
      most = std::max(most, lines.size());
    return moved + (isReadWhole ? handing(line * double(most * ranks), ranks) : 0);
  }

  double ofSharding(Operation *op, const Sharding &sharding) const {
    Value value = op->getResult(0);
    auto *shared = std::get_if<Shared>(&sharding);
    if (!shared)
      return handing(bytesOf(value), ranks, 2);
    bool isReadWhole = llvm::any_of(value.getUses(), [&](OpOperand &use) {
      auto reader = plan.shardings.find(use.getOwner());
      return reader == plan.shardings.end() ||
             formOf(use.getOwner(), reader->second, ranks).operands[use.getOperandNumber()] != shared->result;
    });
    return isReadWhole ? handing(bytesOf(value), ranks) : 0;
  }

  Block &block;
  int64_t ranks;
  const Plan &plan;
  DenseSet<Operation *> constant;
};

/// The bytes of constants that products read, ascending, as far as all of them together are no more than `percent` of the block's.
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
  // Of equal ones all or none.
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
  double least = Mover(block, ranks, best).bytes();
  // All of them, half of them, and so on: each try is a choice of all else.
  for (size_t many = small.size(); many > 0; many /= 2) {
    Plan plan;
    plan.bands = BandFinder(block, ranks, small[many - 1]).run();
    if (llvm::none_of(plan.bands, [&](const auto &one) { return divided.contains(one.first); }))
      continue; // for which nothing is moved as it is
    plan.shardings = chooseShardings(block, ranks, plan.byLines());
    if (double moved = Mover(block, ranks, plan).bytes(); moved < least) {
      least = moved;
      best = std::move(plan);
    }
  }
  return best;
}

} // namespace hewn::partition
