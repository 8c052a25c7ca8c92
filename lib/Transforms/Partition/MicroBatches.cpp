// SPDX-License-Identifier: Apache-2.0
//
//     %0 = graph.matmul %x, %w : 8x64         %x0 = graph.slice %x [0, 0] : 4x64       %x1 = graph.slice %x [4, 0] : 4x64
//     %1 = graph.relu %0                  →   %00 = graph.matmul %x0, %w               %01 = graph.matmul %x1, %w
//                                             %10 = graph.relu %00                     %11 = graph.relu %01
//                                             %1 = graph.concat %10, %11
//
// From the results on, an op's part is asked of its kind (`graph::cutForm`, `graph::controlCut`) for how it is made of parts of operands. What an op
// reads as a whole, and what is made of inputs that no micro-batch has a part of, is made once, before all of them. An op that reads all
// items of the batch to make some of them can't be: the first stage would have to be done with all before the next one could begin. But moves of
// inputs alone (masks that are looked up) are nothing to wait for: they are made as a whole, and parts are taken of that. And what results
// without a dim of the batch read of all items (a mean over them) is made when all micro-batches are there.
//
// Nothing says which dim of the results is the batch: it is the first one along which all can be divided. Whichever it is, results are
// those of the whole batch.
#include "lib/Transforms/Partition/MicroBatches.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Control/ControlCuts.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Partition/Sharding.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include <map>

using namespace mlir;
using hewn::graph::ControlCut;
using hewn::graph::Cut;
using hewn::graph::CutForm;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Parts;

namespace hewn::partition {

namespace {

/// Other dims of results are not tried for the batch.
constexpr size_t kMostCandidates = 16;

constexpr StringLiteral kRefusal =
    "can't be divided into parts of the batch, so the model can't be run in micro-batches";

/// Whether the op ends a run where something is wrong with what it reads, and does nothing else: with parts where it is with the whole.
bool isCheck(Operation *op) { return op->getNumResults() == 0 && isa<graph::PartOpInterface>(op); }

/// What is done with each op, where `items` are divided.
class Division {
public:
  /// Why it can't be done.
  struct Refusal {
    Operation *op;
    std::string why;
  };

  Division(Block &block, const StagedOps &staged, int64_t count, const DimExpr &items, bool isBehind)
      : parts(DimExpr(count), items.constant() ? DimExpr(0) : items), block(block), staged(staged), items(items),
        isBehind(isBehind) {}

  std::optional<Refusal> decide() {
    if (std::optional<int64_t> size = items.constant(); size && *size % *parts.count.constant() != 0)
      return Refusal{
          block.getParentOp(),
          ("the batch of " + items.str() + " can't be divided into " + parts.count.str() + " micro-batches").str()};
    for (Value result : block.getTerminator()->getOperands())
      if (isStaged(result)) {
        if (std::optional<Cut> cut = cutOf(result))
          cuts.try_emplace(result, *cut);
        else
          lasts.insert(result);
      }
    for (Operation *op : llvm::reverse(staged.ops))
      if (Operation *refused = ask(op))
        return Refusal{refused, kRefusal.str()};
    if (Operation *refused = findReaderOfItems())
      return Refusal{refused, kRefusal.str()};
    if (forms.empty() && controls.empty()) // moves of inputs alone
      return Refusal{staged.ops.back(), kRefusal.str()};
    return std::nullopt;
  }

  /// Whether micro-batches do at least half of the work, and on parts of inputs.
  bool isWorthIt() const {
    double all = 0, divided = 0;
    for (Operation *op : staged.ops) {
      double work = workOf(op);
      all += work;
      divided += isMade(op) ? work : 0;
    }
    return 2 * divided >= all && llvm::any_of(block.getArguments(), [&](Value v) { return cuts.contains(v); });
  }

  /// Whether results have the items as a factor of a dim, which may stand before or behind the others.
  bool hasFactors() const { return foundFactors; }

  bool isStaged(Value value) const { return value.getDefiningOp() && staged.stageOf.contains(value.getDefiningOp()); }
  /// Whether micro-batches make the op, each its part.
  bool isMade(Operation *op) const { return forms.contains(op) || controls.contains(op); }
  bool isLast(Operation *op) const { return lastOps.contains(op); }

  Parts parts;
  /// How micro-batches have values.
  DenseMap<Value, Cut> cuts;
  DenseMap<Operation *, CutForm> forms;
  DenseMap<Operation *, std::unique_ptr<ControlCut>> controls;

private:
  /// How the program's result is cut: along the dim that is divided, or one of which it is a factor.
  std::optional<Cut> cutOf(Value result) {
    Dims dims = graph::getDims(result);
    for (auto [d, dim] : llvm::enumerate(dims))
      if (dim == items)
        return Cut{int64_t(d), DimExpr(1)};
    for (auto [d, dim] : llvm::enumerate(dims))
      if (std::optional<DimExpr> others = items.constant() ? std::nullopt : dim.divideExactly(items)) {
        foundFactors = true;
        return Cut{int64_t(d), isBehind ? *others : DimExpr(1)};
      }
    return std::nullopt;
  }

  /// A check of what micro-batches have looks at their parts.
  void askCheck(Operation *op) {
    CutForm form;
    bool waits = false;
    for (Value operand : op->getOperands()) {
      auto cut = isStaged(operand) ? cuts.find(operand) : cuts.end();
      form.operands.push_back(cut == cuts.end() ? std::nullopt : std::optional(cut->second));
      waits |= cut == cuts.end() && lasts.contains(operand) && !wholes.contains(operand);
    }
    if (waits)
      takeLast(op);
    else if (llvm::any_of(form.operands, [](const std::optional<Cut> &cut) { return cut.has_value(); }))
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

  void takeLast(Operation *op) {
    lastOps.insert(op);
    forEachRead(op, [&](Value value) { lasts.insert(value); });
  }

  /// How the op makes what its readers want, and what it wants of others for that. The op that can't be divided; null: it is well.
  Operation *ask(Operation *op) {
    if (isCheck(op)) {
      askCheck(op);
      return nullptr;
    }
    auto isIn = [&](const auto &values) {
      return llvm::any_of(op->getResults(), [&](Value one) { return values.contains(one); });
    };
    bool isWhole = isIn(wholes), isCut = isIn(cuts);
    if (isWhole && isCut)
      return readerOf(op);
    if (!isWhole && !isCut && isIn(lasts)) {
      takeLast(op);
      return nullptr;
    }
    if (!isCut) {
      Operation *reader = isWhole ? readerOf(op) : op;
      if (mixing.contains(reader) && !isa<graph::MoveOpInterface, graph::ElementwiseOpInterface>(op))
        return reader;
      forEachRead(op, [&](Value value) { wholes.try_emplace(value, reader); });
      return nullptr;
    }
    if (op->getNumRegions())
      return askControl(op);
    std::optional<CutForm> form;
    if (op->getNumResults() == 1)
      form = graph::cutForm(op, cuts.find(op->getResult(0))->second, parts);
    if (!form && isa<graph::MoveOpInterface>(op)) {
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

  Operation *askControl(Operation *op) {
    SmallVector<std::optional<Cut>> results;
    for (Value result : op->getResults()) {
      auto known = cuts.find(result);
      results.push_back(known == cuts.end() ? std::nullopt : std::optional(known->second));
    }
    std::unique_ptr<ControlCut> control = graph::controlCut(op, results, parts);
    if (!control)
      return op;
    for (auto [result, cut] : llvm::zip(op->getResults(), control->results))
      if (cut)
        cuts.try_emplace(result, *cut);
      else if (lasts.contains(result)) // each part makes the whole, and none of them is it
        return op;
    for (auto &[value, cut] : control->values)
      if (value.getParentBlock() == &block && !want(value, cut, op))
        return op;
    controls[op] = std::move(control);
    return nullptr;
  }

  /// Whether `reader` can have the value so.
  bool want(Value value, const std::optional<Cut> &cut, Operation *reader) {
    if (!cut) {
      wholes.try_emplace(value, reader);
      return true;
    }
    if (!graph::sizeOfPart(graph::getDims(value)[cut->dim], *cut, parts))
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

  /// What is made as a whole before micro-batches are is made of inputs that none of them has a part of; null: all of it is.
  Operation *findReaderOfItems() const {
    DenseSet<Value> ofItems;
    for (Value argument : block.getArguments())
      if (cuts.contains(argument))
        ofItems.insert(argument);
    for (Operation *op : staged.ops) {
      if (isMade(op) || isLast(op) || mixing.contains(readerOf(op)))
        continue;
      if (isCheck(op) && llvm::none_of(op->getOperands(), [&](Value v) { return isStaged(v); }))
        continue; // of inputs and constants
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
  /// Whether items that are a factor of a result's dim are its last one.
  bool isBehind, foundFactors = false;
  /// What is wanted as a whole, with the op that goes over items and wants it.
  DenseMap<Value, Operation *> wholes;
  /// What is made as a whole, and read in parts: moves of inputs, such as of masks.
  DenseSet<Operation *> mixing;
  /// What is only wanted when all micro-batches are there, and who reads it.
  DenseSet<Value> lasts;
  DenseSet<Operation *> lastOps;
};

class Divider {
public:
  Divider(Block &block, int64_t count, StagedOps &staged)
      : block(block), end(block.getTerminator()), count(count), staged(staged) {}

  LogicalResult run() {
    std::optional<Division::Refusal> first;
    for (auto [i, items] : llvm::enumerate(findCandidates()))
      for (bool isBehind : {false, true}) {
        auto tried = std::make_unique<Division>(block, staged, count, items, isBehind);
        std::optional<Division::Refusal> refusal = tried->decide();
        if (!refusal && (i == 0 || tried->isWorthIt())) {
          division = std::move(tried);
          return write();
        }
        if (!first)
          first = refusal;
        if (!tried->hasFactors())
          break;
      }
    if (!first)
      return block.getParentOp()->emitError("no result has a dim, and micro-batches are parts of one");
    return first->op->emitError(first->why);
  }

private:
  /// What may be the batch: dims of the results, the first one before others, and factors of these.
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
      if (candidates.size() < kMostCandidates && !llvm::is_contained(candidates, dim) &&
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
      result.set(together(result.get()));
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

  /// Makes ops at the end of the program, which are a stage's and have their turn.
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
    const CutForm &form = division->forms[op];
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

  LogicalResult writeControlPart(Operation *op, const ControlCut &control, int64_t number, int64_t place) {
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

  /// What reads all items stands behind what makes them.
  void writeLast(Operation *op) {
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(together(operand.get()));
    });
    op->moveBefore(end);
    stage(op, staged.stageOf[op], count + 1);
  }

  using Place = std::tuple<void *, int64_t, std::string>;
  static Place placeOf(Value value, const Cut &cut) {
    return {value.getAsOpaquePointer(), cut.dim, cut.blocks.str().str()};
  }

  Value partOf(Value value, const Cut &cut, int64_t number) {
    if (auto made = parts.find(value); made != parts.end())
      return made->second[size_t(number)];
    Value &part = taken[{placeOf(value, cut), number}];
    if (part)
      return part;
    // Of inputs and of what is made of constants those who read the part make it.
    Operation *maker = value.getDefiningOp();
    if (maker && staged.stageOf.contains(maker))
      return part = make(value.getLoc(), staged.stageOf[maker], number + 1,
                         [&](graph::Composer &c) { return takePart(c, value, cut, number); });
    OpBuilder b(end);
    graph::Composer c(b, value.getLoc());
    part = repeatedPart(c, value, cut);
    return part ? part : part = takePart(c, value, cut, number);
  }

  /// A part of what repeats a value is its own repetition.
  Value repeatedPart(graph::Composer &c, Value value, const Cut &cut) {
    Operation *maker = value.getDefiningOp();
    if (!maker || isa<graph::ConstantOp>(maker))
      return {};
    std::optional<CutForm> form = graph::cutForm(maker, cut, division->parts);
    if (!form || llvm::any_of(form->operands, [](const std::optional<Cut> &one) { return one.has_value(); }))
      return {};
    return graph::makeNamed(c.b, c.loc, maker->getName().getStringRef(), maker->getOperands(), form->attributes);
  }

  /// Of what is there as a whole.
  Value takePart(graph::Composer &c, Value value, const Cut &cut, int64_t number) {
    if (division->parts.items.is(0))
      return graph::makePart(c.b, c.loc, value, cut, count, number);
    Value &filled = even[placeOf(value, cut)];
    if (!filled)
      filled = graph::makeEven(c.b, c.loc, value, cut, division->parts);
    return graph::makePartOfEven(c.b, c.loc, filled, graph::getDims(value), cut, division->parts, number);
  }

  /// The value; one of which micro-batches have made parts is put together.
  Value together(Value value) {
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
  std::unique_ptr<Division> division;
  /// By micro-batch; and what is put together of these.
  DenseMap<Value, SmallVector<Value>> parts;
  DenseMap<Value, Value> wholes;
  /// Of what is there as a whole: with as many items as all micro-batches have, and parts of that.
  std::map<Place, Value> even;
  std::map<std::pair<Place, int64_t>, Value> taken;
};

} // namespace

LogicalResult divideBatch(Block &block, int64_t count, StagedOps &staged) {
  return Divider(block, count, staged).run();
}

} // namespace hewn::partition
