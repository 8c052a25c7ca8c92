// SPDX-License-Identifier: Apache-2.0
//
// Splits the batch into micro-batches (see MicroBatches.h).
//
//     %0 = graph.matmul %x, %w : 8x64
//     %1 = graph.relu %0
//     // becomes
//     %x0 = graph.slice %x [0, 0] : 4x64
//     %00 = graph.matmul %x0, %w
//     %10 = graph.relu %00
//     %x1 = graph.slice %x [4, 0] : 4x64
//     %01 = graph.matmul %x1, %w
//     %11 = graph.relu %01
//     %1 = graph.concat %10, %11
//
// The analysis works backward from the results. For a part of an op's result, `graph::shardingRule`
// and `graph::controlSharding` give the parts of the operands that the op needs.
//
// - Values that an op needs in full, and that depend on unsplit inputs only, are computed once,
//   before all micro-batches.
// - An op that reads the entire batch to compute a part of its result is an error: the first stage
//   would have to finish all micro-batches before the next stage starts. Exceptions are indexing
//   ops on inputs, such as lookups of masks. Their result is computed in full, and each micro-batch
//   slices its part.
// - Ops that only results without a batch dim need (such as a mean over the batch) run after all
//   micro-batches.
//
// The batch dim of the results is the first dim along which the entire program can be split. Any
// such dim is correct: the results equal those of the full batch.
#include "lib/Transforms/Partition/MicroBatches.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Control/ControlSharding.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Partition/Sharding.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include <map>

using namespace mlir;
using hewn::graph::ControlSharding;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::DimSharding;
using hewn::graph::ShardCount;
using hewn::graph::ShardingRule;

namespace hewn::partition {

namespace {

/// Limit of how many result dims of the program are tried as the batch dim.
constexpr size_t kMaxCandidates = 16;

constexpr StringLiteral kCannotSplit = "cannot be split along the batch, so the model cannot run in micro-batches";

/// Returns true for ops that only check their operands, and end the run with an error if a check
/// fails. A check on parts of a value is equivalent to the check on the full value.
bool isCheck(Operation *op) { return op->getNumResults() == 0 && isa<graph::RuntimeCallOpInterface>(op); }

/// Decides how each op is split into micro-batches, if the batch size is `items`.
class BatchSplit {
public:
  /// An op that cannot be split into micro-batches, and the reason.
  struct Refusal {
    Operation *op;
    std::string why;
  };

  BatchSplit(Block &block, const StagedOps &staged, int64_t count, const DimExpr &items, bool isInnerFactor)
      : parts(DimExpr(count), items.constant() ? DimExpr(0) : items), block(block), staged(staged), items(items),
        isInnerFactor(isInnerFactor) {}

  std::optional<Refusal> decide() {
    if (std::optional<int64_t> size = items.constant(); size && *size % *parts.count.constant() != 0)
      return Refusal{
          block.getParentOp(),
          ("the batch of " + items.str() + " is not divisible into " + parts.count.str() + " micro-batches").str()};
    for (Value result : block.getTerminator()->getOperands())
      if (isStaged(result)) {
        if (std::optional<DimSharding> cut = cutOf(result))
          cuts.try_emplace(result, *cut);
        else
          lasts.insert(result);
      }
    for (Operation *op : llvm::reverse(staged.ops))
      if (Operation *refused = decideOp(op))
        return Refusal{refused, kCannotSplit.str()};
    if (Operation *refused = findReaderOfItems())
      return Refusal{refused, kCannotSplit.str()};
    if (forms.empty() && controls.empty()) // all results are indexing ops on inputs
      return Refusal{staged.ops.back(), kCannotSplit.str()};
    return std::nullopt;
  }

  /// Returns true if splitting the batch pays: micro-batches do at least half of the work on parts
  /// of the inputs.
  bool isProfitable() const {
    double all = 0, divided = 0;
    for (Operation *op : staged.ops) {
      double work = workOf(op);
      all += work;
      divided += isMade(op) ? work : 0;
    }
    return 2 * divided >= all && llvm::any_of(block.getArguments(), [&](Value v) { return cuts.contains(v); });
  }

  /// Returns true if the batch is only a factor of a result's dim: the dim is the batch size times
  /// another factor. The batch may be the outer or the inner factor.
  bool hasFactors() const { return foundFactors; }

  bool isStaged(Value value) const { return value.getDefiningOp() && staged.stageOf.contains(value.getDefiningOp()); }
  /// Returns true if each micro-batch computes a part of the op's result.
  bool isMade(Operation *op) const { return forms.contains(op) || controls.contains(op); }
  bool isLast(Operation *op) const { return lastOps.contains(op); }

  ShardCount parts;
  /// How each value is split into micro-batches.
  DenseMap<Value, DimSharding> cuts;
  DenseMap<Operation *, ShardingRule> forms;
  DenseMap<Operation *, std::unique_ptr<ControlSharding>> controls;

private:
  /// Returns how a result of the program is split: along the batch dim, or along a dim with the
  /// batch as a factor.
  std::optional<DimSharding> cutOf(Value result) {
    Dims dims = graph::getDims(result);
    for (auto [d, dim] : llvm::enumerate(dims))
      if (dim == items)
        return DimSharding{int64_t(d), DimExpr(1)};
    for (auto [d, dim] : llvm::enumerate(dims))
      if (std::optional<DimExpr> others = items.constant() ? std::nullopt : dim.divideExactly(items)) {
        foundFactors = true;
        return DimSharding{int64_t(d), isInnerFactor ? *others : DimExpr(1)};
      }
    return std::nullopt;
  }

  /// Decides how an op that only checks its operands is split: each micro-batch checks its own
  /// parts.
  void decideCheck(Operation *op) {
    ShardingRule form;
    bool waits = false;
    for (Value operand : op->getOperands()) {
      auto cut = isStaged(operand) ? cuts.find(operand) : cuts.end();
      form.operands.push_back(cut == cuts.end() ? std::nullopt : std::optional(cut->second));
      waits |= cut == cuts.end() && lasts.contains(operand) && !wholes.contains(operand);
    }
    if (waits)
      deferToEnd(op);
    else if (llvm::any_of(form.operands, [](const std::optional<DimSharding> &cut) { return cut.has_value(); }))
      forms[op] = std::move(form);
    else
      for (Value operand : op->getOperands())
        wholes.try_emplace(operand, op);
  }

  template <typename Use> void forEachRead(Operation *op, Use &&use) const {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == &block)
          use(operand);
    });
  }

  void deferToEnd(Operation *op) {
    lastOps.insert(op);
    forEachRead(op, [&](Value value) { lasts.insert(value); });
  }

  /// Decides how the op computes the parts of its result that its users need, and which parts of
  /// its operands it reads for that. Returns the op that cannot be split, or null.
  Operation *decideOp(Operation *op) {
    if (isCheck(op)) {
      decideCheck(op);
      return nullptr;
    }
    auto isIn = [&](const auto &values) {
      return llvm::any_of(op->getResults(), [&](Value one) { return values.contains(one); });
    };
    bool isWhole = isIn(wholes), isCut = isIn(cuts);
    if (isWhole && isCut)
      return readerOf(op);
    if (!isWhole && !isCut && isIn(lasts)) {
      deferToEnd(op);
      return nullptr;
    }
    if (!isCut) {
      Operation *reader = isWhole ? readerOf(op) : op;
      if (mixing.contains(reader) && !isa<graph::IndexingOpInterface, graph::ElementwiseOpInterface>(op))
        return reader;
      forEachRead(op, [&](Value value) { wholes.try_emplace(value, reader); });
      return nullptr;
    }
    if (op->getNumRegions())
      return decideControl(op);
    std::optional<ShardingRule> form;
    if (op->getNumResults() == 1)
      form = graph::shardingRule(op, cuts.find(op->getResult(0))->second, parts);
    if (!form && isa<graph::IndexingOpInterface>(op)) {
      mixing.insert(op);
      for (Value operand : op->getOperands())
        wholes.try_emplace(operand, op);
      return nullptr;
    }
    if (!form)
      return op;
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form->operands))
      if (!want(operand, cut, op))
        return op;
    forms[op] = std::move(*form);
    return nullptr;
  }

  Operation *decideControl(Operation *op) {
    SmallVector<std::optional<DimSharding>> results;
    for (Value result : op->getResults()) {
      auto known = cuts.find(result);
      results.push_back(known == cuts.end() ? std::nullopt : std::optional(known->second));
    }
    std::unique_ptr<ControlSharding> control = graph::controlSharding(op, results, parts);
    if (!control)
      return op;
    for (auto [result, cut] : llvm::zip(op->getResults(), control->results))
      if (cut)
        cuts.try_emplace(result, *cut);
      // A loop or branch result that is needed only after all micro-batches cannot be supported,
      // because every micro-batch would compute it.
      else if (lasts.contains(result))
        return op;
    for (auto &[value, cut] : control->values)
      if (value.getParentBlock() == &block && !want(value, cut, op))
        return op;
    controls[op] = std::move(control);
    return nullptr;
  }

  /// Records that the op `reader` needs `value` split into the parts `cut`, or in full if `cut` is
  /// empty. Returns false if the value cannot be split into these parts.
  bool want(Value value, const std::optional<DimSharding> &cut, Operation *reader) {
    if (!cut) {
      wholes.try_emplace(value, reader);
      return true;
    }
    if (!graph::shardSize(graph::getDims(value)[cut->dim], *cut, parts))
      return false;
    auto [known, isNew] = cuts.try_emplace(value, *cut);
    return isNew || known->second == *cut || !isStaged(value);
  }

  Operation *readerOf(Operation *op) const {
    for (Value result : op->getResults())
      if (auto found = wholes.find(result); found != wholes.end())
        return found->second;
    return op;
  }

  /// Finds an error: returns an op that needs a value in full before the micro-batches start,
  /// although the value depends on inputs that are split. Returns null if there is none.
  Operation *findReaderOfItems() const {
    DenseSet<Value> ofItems;
    for (Value argument : block.getArguments())
      if (cuts.contains(argument))
        ofItems.insert(argument);
    for (Operation *op : staged.ops) {
      if (isMade(op) || isLast(op) || mixing.contains(readerOf(op)))
        continue;
      if (isCheck(op) && llvm::none_of(op->getOperands(), [&](Value v) { return isStaged(v); }))
        continue; // the check depends on inputs and constants only
      bool reads = false;
      forEachRead(op, [&](Value value) { reads |= ofItems.contains(value); });
      if (reads)
        return readerOf(op);
    }
    return nullptr;
  }

  Block &block;
  const StagedOps &staged;
  DimExpr items;
  /// True if a dim of a result is a multiple of the batch size and the batch is its inner factor.
  bool isInnerFactor, foundFactors = false;
  /// Values that are needed in full, each with the op on the batch that needs it.
  DenseMap<Value, Operation *> wholes;
  /// Indexing ops on inputs, such as lookups of masks. Their results are computed in full, and each
  /// micro-batch reads its part.
  DenseSet<Operation *> mixing;
  /// Values that are needed only after all micro-batches, and the ops that use them.
  DenseSet<Value> lasts;
  DenseSet<Operation *> lastOps;
};

class BatchSplitter {
public:
  BatchSplitter(Block &block, int64_t count, StagedOps &staged)
      : block(block), end(block.getTerminator()), count(count), staged(staged) {}

  LogicalResult run() {
    std::optional<BatchSplit::Refusal> first;
    for (auto [i, items] : llvm::enumerate(findCandidates()))
      for (bool isInnerFactor : {false, true}) {
        auto tried = std::make_unique<BatchSplit>(block, staged, count, items, isInnerFactor);
        std::optional<BatchSplit::Refusal> refusal = tried->decide();
        if (!refusal && (i == 0 || tried->isProfitable())) {
          division = std::move(tried);
          return write();
        }
        if (!first)
          first = refusal;
        if (!tried->hasFactors())
          break;
      }
    if (!first)
      return block.getParentOp()->emitError("no result has dims, so the model cannot run in micro-batches");
    return first->op->emitError(first->why);
  }

private:
  /// Returns the batch sizes to try: the dims of the program's results, in order, and then the
  /// factors of these dims.
  SmallVector<DimExpr> findCandidates() const {
    SmallVector<DimExpr> dims, factors;
    for (Value result : end->getOperands())
      if (Operation *maker = result.getDefiningOp(); maker && staged.stageOf.contains(maker))
        for (const DimExpr &dim : graph::getDims(result)) {
          dims.push_back(dim);
          if (dim.terms().size() == 1)
            for (const DimExpr::AtomRef &factor : dim.terms()[0].factors)
              factors.push_back(DimExpr::factor(factor));
        }
    dims.append(factors);
    SmallVector<DimExpr> candidates;
    for (const DimExpr &dim : dims)
      if (candidates.size() < kMaxCandidates && !llvm::is_contained(candidates, dim) &&
          (candidates.empty() || (!dim.is(0) && !dim.is(1))))
        candidates.push_back(dim);
    return candidates;
  }

  LogicalResult write() {
    SmallVector<Operation *> all = std::move(staged.ops);
    staged.ops.clear();
    for (Operation *op : all)
      if (!division->isMade(op) && !division->isLast(op)) {
        staged.ops.push_back(op);
        staged.turnOf[op] = 0;
      }
    for (int64_t number = 0; number < count; ++number)
      for (auto [place, op] : llvm::enumerate(all))
        if (division->isMade(op) && failed(writePart(op, number, int64_t(place))))
          return failure();
    for (Operation *op : all)
      if (division->isLast(op))
        writeLast(op);
    for (OpOperand &result : end->getOpOperands())
      result.set(concatenated(result.get()));
    for (Operation *op : llvm::reverse(all))
      if (division->isMade(op)) {
        staged.stageOf.erase(op);
        op->erase();
      }
    return success();
  }

  void stage(Operation *op, int64_t stage, int64_t turn) {
    staged.ops.push_back(op);
    staged.stageOf[op] = stage;
    staged.turnOf[op] = turn;
  }

  /// Builds ops at the end of the program and records the pipeline stage and the step (micro-batch)
  /// of each.
  template <typename Make> auto make(Location loc, int64_t ofStage, int64_t turn, Make &&write) {
    OpBuilder b(end);
    Operation *last = end->getPrevNode();
    graph::Composer composer(b, loc);
    auto made = write(composer);
    for (Operation *op = last ? last->getNextNode() : &block.front(); op != end; op = op->getNextNode())
      stage(op, ofStage, turn);
    return made;
  }

  LogicalResult writePart(Operation *op, int64_t number, int64_t place) {
    if (auto control = division->controls.find(op); control != division->controls.end())
      return writeControlPart(op, *control->second, number, place);
    const ShardingRule &form = division->forms[op];
    SmallVector<Value> operands;
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form.operands))
      operands.push_back(cut ? partOf(operand, *cut, number) : operand);
    if (isCheck(op)) {
      Operation *made = OpBuilder(end).clone(*op);
      made->setOperands(operands);
      stage(made, staged.stageOf[op], number + 1);
      return success();
    }
    Value made = make(op->getLoc(), staged.stageOf[op], number + 1, [&](graph::Composer &c) {
      return graph::makeNamed(c.b, c.loc, op->getName().getStringRef(), operands, form.attributes);
    });
    if (!made)
      return failure();
    made.getDefiningOp()->setAttr(kTwinAttr, OpBuilder(end).getI64IntegerAttr(place));
    parts[op->getResult(0)].push_back(made);
    return success();
  }

  LogicalResult writeControlPart(Operation *op, const ControlSharding &control, int64_t number, int64_t place) {
    IRMapping values;
    for (auto [value, cut] : control.values)
      if (value.getParentBlock() == &block)
        values.map(value, cut ? partOf(value, *cut, number) : value);
    Operation *made = make(op->getLoc(), staged.stageOf[op], number + 1, [&](graph::Composer &c) {
      return graph::makeControlPart(c.b, op, control, division->parts, number,
                                    [&](Value value) { return values.lookup(value); });
    });
    if (!made)
      return failure();
    made->setAttr(kTwinAttr, OpBuilder(end).getI64IntegerAttr(place));
    for (auto [result, part, cut] : llvm::zip(op->getResults(), made->getResults(), control.results))
      if (cut)
        parts[result].push_back(part);
    return success();
  }

  /// Places an op that reads the entire batch after the ops that produce its operands.
  void writeLast(Operation *op) {
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(concatenated(operand.get()));
    });
    op->moveBefore(end);
    stage(op, staged.stageOf[op], count + 1);
  }

  using Place = std::tuple<void *, int64_t, std::string>;
  static Place placeOf(Value value, const DimSharding &cut) {
    return {value.getAsOpaquePointer(), cut.dim, cut.blocks.str().str()};
  }

  Value partOf(Value value, const DimSharding &cut, int64_t number) {
    if (auto made = parts.find(value); made != parts.end())
      return made->second[size_t(number)];
    Value &part = taken[{placeOf(value, cut), number}];
    if (part)
      return part;
    // Each user slices inputs, and values computed from constants, itself. No op has to produce
    // their parts.
    Operation *maker = value.getDefiningOp();
    if (maker && staged.stageOf.contains(maker))
      return part = make(value.getLoc(), staged.stageOf[maker], number + 1,
                         [&](graph::Composer &c) { return takePart(c, value, cut, number); });
    OpBuilder b(end);
    graph::Composer c(b, value.getLoc());
    part = repeatedPart(c, value, cut);
    return part ? part : part = takePart(c, value, cut, number);
  }

  /// If a value is broadcast along the batch, returns its part for a micro-batch: the same
  /// broadcast to a smaller size. Returns null for other values.
  Value repeatedPart(graph::Composer &c, Value value, const DimSharding &cut) {
    Operation *maker = value.getDefiningOp();
    if (!maker || isa<graph::ConstantOp>(maker))
      return {};
    std::optional<ShardingRule> form = graph::shardingRule(maker, cut, division->parts);
    if (!form || llvm::any_of(form->operands, [](const std::optional<DimSharding> &one) { return one.has_value(); }))
      return {};
    return graph::makeNamed(c.b, c.loc, maker->getName().getStringRef(), maker->getOperands(), form->attributes);
  }

  /// Returns the part of a value that a micro-batch needs, as a slice of the value computed in
  /// full.
  Value takePart(graph::Composer &c, Value value, const DimSharding &cut, int64_t number) {
    if (division->parts.items.is(0))
      return graph::makePart(c.b, c.loc, value, cut, count, number);
    Value &filled = even[placeOf(value, cut)];
    if (!filled)
      filled = graph::makeEven(c.b, c.loc, value, cut, division->parts);
    return graph::makePartOfEven(c.b, c.loc, filled, graph::getDims(value), cut, division->parts, number);
  }

  /// Returns a value for the full batch. If micro-batches compute it, concatenates their parts.
  Value concatenated(Value value) {
    auto made = parts.find(value);
    if (made == parts.end())
      return value;
    Value &whole = wholes[value];
    if (!whole)
      whole = make(value.getLoc(), staged.stageOf[value.getDefiningOp()], count + 1, [&](graph::Composer &c) {
        return graph::makeWhole(c.b, c.loc, made->second, graph::getDims(value), division->cuts.find(value)->second,
                                division->parts);
      });
    return whole;
  }

  Block &block;
  Operation *end;
  int64_t count;
  StagedOps &staged;
  std::unique_ptr<BatchSplit> division;
  /// The parts of each value, one per micro-batch, and the concatenation of the parts.
  DenseMap<Value, SmallVector<Value>> parts;
  DenseMap<Value, Value> wholes;
  /// Full values that are extended along the batch to a multiple of the number of micro-batches,
  /// and the slices of these extended values.
  std::map<Place, Value> even;
  std::map<std::pair<Place, int64_t>, Value> taken;
};

} // namespace

LogicalResult divideBatch(Block &block, int64_t count, StagedOps &staged) {
  return BatchSplitter(block, count, staged).run();
}

} // namespace hewn::partition
