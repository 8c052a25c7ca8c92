// SPDX-License-Identifier: Apache-2.0
//
//     %0 = graph.matmul %x, %w : 8x64         %x0 = graph.slice %x [0, 0] : 4x64       %x1 = graph.slice %x [4, 0] : 4x64
//     %1 = graph.relu %0                  →   %00 = graph.matmul %x0, %w               %01 = graph.matmul %x1, %w
//                                             %10 = graph.relu %00                     %11 = graph.relu %01
//                                             %1 = graph.concat %10, %11
//
// From the results on, an op's part is asked of its kind (`graph::cutForm`) for how it is made of parts of operands. What an op reads as a
// whole, and what is made of inputs that no micro-batch has a part of, is made once, before all of them. An op that reads all
// items of the batch to make some of them can't be: the first stage would have to be done with all before the next one could begin. But moves of
// inputs alone (masks that are looked up) are nothing to wait for: they are made as a whole, and parts are taken of that.
#include "lib/Transforms/Partition/MicroBatches.h"
#include "dialects/Graph/Analysis/Cuts.h"
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Partition/Sharding.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using hewn::graph::Cut;
using hewn::graph::CutForm;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::partition {

namespace {

class Divider {
public:
  Divider(Block &block, int64_t count, StagedOps &staged)
      : block(block), end(block.getTerminator()), count(count), staged(staged) {}

  LogicalResult run() {
    if (failed(findBatch()))
      return failure();
    for (Value result : end->getOperands())
      if (isStaged(result.getDefiningOp()))
        cuts[result] = Cut{0, 1};
    for (Operation *op : llvm::reverse(staged.ops))
      if (failed(ask(op)))
        return failure();
    if (failed(checkWholes()))
      return failure();
    return write();
  }

private:
  bool isStaged(Operation *op) const { return op && staged.stageOf.contains(op); }

  /// The first dim of the first result that says one.
  LogicalResult findBatch() {
    for (Value result : end->getOperands()) {
      Operation *maker = result.getDefiningOp();
      if (!isStaged(maker))
        continue;
      Dims dims = graph::getDims(result);
      if (dims.empty())
        return maker->emitError("makes a result without dims, and micro-batches are parts of the first one");
      if (batch.is(0))
        batch = dims[0];
      if (dims[0] != batch)
        return maker->emitError("makes a result whose first dim is ")
               << dims[0].str() << ", and that of another one, the batch that is divided, is " << batch.str();
    }
    if (batch.constant() && *batch.constant() % count != 0)
      return block.getParentOp()->emitError("the batch of ")
             << batch.str() << " can't be divided into " << count << " micro-batches";
    return success();
  }

  /// Whether such parts are equal; of the batch itself the last ones are made so.
  bool isDivided(Value value, const Cut &cut) const {
    DimExpr dim = graph::getDims(value)[cut.dim];
    if (std::optional<int64_t> size = dim.constant())
      return *size % (cut.blocks * count) == 0;
    return cut.blocks == 1 && dim == batch;
  }

  /// Whether the op ends a run where something is wrong with what it reads, and does nothing else: with parts where it is with the whole.
  static bool isCheck(Operation *op) { return op->getNumResults() == 0 && isa<graph::PartOpInterface>(op); }

  /// A check of what micro-batches have looks at their parts.
  void askCheck(Operation *op) {
    CutForm form;
    for (Value operand : op->getOperands()) {
      auto cut = isStaged(operand.getDefiningOp()) ? cuts.find(operand) : cuts.end();
      form.operands.push_back(cut == cuts.end() ? std::nullopt : std::optional(cut->second));
    }
    if (llvm::any_of(form.operands, [](const std::optional<Cut> &cut) { return cut.has_value(); }))
      forms[op] = std::move(form);
    else
      for (Value operand : op->getOperands())
        wholes.try_emplace(operand, op);
  }

  /// How the op makes what its readers want, and what it wants of others for that.
  LogicalResult ask(Operation *op) {
    if (isCheck(op)) {
      askCheck(op);
      return success();
    }
    bool isWhole = llvm::any_of(op->getResults(), [&](Value one) { return wholes.contains(one); });
    bool isCut = llvm::any_of(op->getResults(), [&](Value one) { return cuts.contains(one); });
    if (isWhole && isCut)
      return refuse(readerOf(op));
    if (!isCut) {
      Operation *reader = isWhole ? readerOf(op) : op;
      if (mixing.contains(reader) && !isa<graph::MoveOpInterface, graph::ElementwiseOpInterface>(op))
        return refuse(reader);
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (operand.getParentBlock() == &block)
            wholes.try_emplace(operand, reader);
      });
      return success();
    }
    std::optional<CutForm> form;
    if (op->getNumResults() == 1)
      form = graph::cutForm(op, cuts.find(op->getResult(0))->second, DimExpr(count));
    if (!form && isa<graph::MoveOpInterface>(op)) {
      mixing.insert(op);
      for (Value operand : op->getOperands())
        wholes.try_emplace(operand, op);
      return success();
    }
    if (!form)
      return refuse(op);
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form->operands)) {
      if (!cut) {
        wholes.try_emplace(operand, op);
        continue;
      }
      if (!isDivided(operand, *cut))
        return refuse(op);
      auto [known, isNew] = cuts.try_emplace(operand, *cut);
      if (!isNew && known->second != *cut && isStaged(operand.getDefiningOp()))
        return refuse(op);
    }
    forms[op] = std::move(*form);
    return success();
  }

  Operation *readerOf(Operation *op) const {
    for (Value result : op->getResults())
      if (auto found = wholes.find(result); found != wholes.end())
        return found->second;
    return op;
  }

  static LogicalResult refuse(Operation *op) {
    return op->emitError("can't be divided into parts of the batch, so the model can't be run in micro-batches");
  }

  /// What is made as a whole is made of inputs that no micro-batch has a part of.
  LogicalResult checkWholes() {
    DenseSet<Value> ofItems;
    for (Value argument : block.getArguments())
      if (cuts.contains(argument))
        ofItems.insert(argument);
    for (Operation *op : staged.ops) {
      if (forms.contains(op) || mixing.contains(readerOf(op)))
        continue;
      if (isCheck(op) && llvm::none_of(op->getOperands(), [&](Value v) { return isStaged(v.getDefiningOp()); }))
        continue; // of inputs and constants
      bool reads = false;
      op->walk([&](Operation *inner) {
        reads |= llvm::any_of(inner->getOperands(), [&](Value operand) { return ofItems.contains(operand); });
      });
      if (reads)
        return refuse(readerOf(op));
    }
    return success();
  }

  LogicalResult write() {
    SmallVector<Operation *> all = std::move(staged.ops);
    staged.ops.clear();
    for (Operation *op : all)
      if (!forms.contains(op)) {
        staged.ops.push_back(op);
        staged.turnOf[op] = 0;
      }
    for (int64_t number = 0; number < count; ++number)
      for (auto [place, op] : llvm::enumerate(all))
        if (forms.contains(op) && failed(writePart(op, number, int64_t(place))))
          return failure();
    for (OpOperand &result : end->getOpOperands())
      if (auto made = parts.find(result.get()); made != parts.end())
        result.set(together(result.get(), made->second));
    for (Operation *op : llvm::reverse(all))
      if (forms.contains(op)) {
        staged.stageOf.erase(op);
        op->erase();
      }
    return success();
  }

  /// Makes ops at the end of the program, which are a stage's and have their turn.
  template <typename Make> Value make(Location loc, int64_t stage, int64_t turn, Make &&write) {
    OpBuilder b(end);
    Operation *last = end->getPrevNode();
    graph::Composer composer(b, loc);
    Value made = write(composer);
    for (Operation *op = last ? last->getNextNode() : &block.front(); op != end; op = op->getNextNode()) {
      staged.ops.push_back(op);
      staged.stageOf[op] = stage;
      staged.turnOf[op] = turn;
    }
    return made;
  }

  LogicalResult writePart(Operation *op, int64_t number, int64_t place) {
    const CutForm &form = forms[op];
    SmallVector<Value> operands;
    for (auto [operand, cut] : llvm::zip(op->getOperands(), form.operands))
      operands.push_back(cut ? partOf(operand, *cut, number) : operand);
    if (isCheck(op)) {
      writeCheck(op, operands, number);
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

  void writeCheck(Operation *op, ArrayRef<Value> operands, int64_t number) {
    OpBuilder b(end);
    Operation *made = b.clone(*op);
    made->setOperands(operands);
    staged.ops.push_back(made);
    staged.stageOf[made] = staged.stageOf[op];
    staged.turnOf[made] = number + 1;
  }

  Value partOf(Value value, const Cut &cut, int64_t number) {
    if (auto made = parts.find(value); made != parts.end())
      return made->second[size_t(number)];
    Value &part = slices[{value, {cut.dim, cut.blocks * count + number}}];
    if (part)
      return part;
    DimExpr dim = graph::getDims(value)[cut.dim], size = dim.ceilDiv(DimExpr(count));
    auto slice = [&](graph::Composer &c) {
      return dim.constant()
                 ? graph::makePart(c.b, c.loc, value, cut, count, number)
                 : c.slice(filled(value, cut.dim, size * DimExpr(count)), cut.dim, size * DimExpr(number), size);
    };
    // Of inputs and of what is made of constants those who read the part make it.
    if (Operation *maker = value.getDefiningOp(); isStaged(maker))
      return part = make(value.getLoc(), staged.stageOf[maker], number + 1, slice);
    OpBuilder b(end);
    graph::Composer c(b, value.getLoc());
    return part = slice(c);
  }

  /// The value with its last item again and again behind it: what holds of all items holds of these. There is an item, unless none is wanted.
  Value filled(Value value, int64_t dim, const DimExpr &size) {
    Value &made = wide[{value, dim}];
    if (made)
      return made;
    Dims none(graph::getRank(value), DimExpr(0)), behind = none;
    behind[dim] = size - graph::getDims(value)[dim];
    OpBuilder b(end);
    made = graph::Composer(b, value.getLoc()).pad(value, none, behind, "edge");
    b.setInsertionPoint(made.getDefiningOp());
    if (FailureOr<graph::Requirements> asks = graph::requirementsOf(made.getDefiningOp()); succeeded(asks))
      for (const graph::Requirement &requirement : asks->list())
        graph::makeRequirement(b, value.getLoc(), requirement);
    return made;
  }

  /// The result of which micro-batches have made parts.
  Value together(Value result, ArrayRef<Value> made) {
    return make(result.getLoc(), staged.stageOf[result.getDefiningOp()], count + 1, [&](graph::Composer &c) {
      Value all = c.concat(made, 0);
      return graph::getDims(all)[0] == batch ? all : c.slice(all, 0, DimExpr(0), batch);
    });
  }

  Block &block;
  Operation *end;
  int64_t count;
  StagedOps &staged;
  /// The first dim of the results; 0 before it is known.
  DimExpr batch = DimExpr(0);
  /// How micro-batches have values, and what is wanted as a whole, with the op that goes over items and wants it.
  DenseMap<Value, Cut> cuts;
  DenseMap<Value, Operation *> wholes;
  DenseMap<Operation *, CutForm> forms;
  /// What is made as a whole, and read in parts: moves of inputs, such as of masks.
  DenseSet<Operation *> mixing;
  /// By micro-batch.
  DenseMap<Value, SmallVector<Value>> parts;
  /// Of what is there as a whole: with so many items as all micro-batches have, by dim; parts by dim, blocks and micro-batch.
  DenseMap<std::pair<Value, int64_t>, Value> wide;
  DenseMap<std::pair<Value, std::pair<int64_t, int64_t>>, Value> slices;
};

} // namespace

LogicalResult divideBatch(Block &block, int64_t count, StagedOps &staged) {
  return Divider(block, count, staged).run();
}

} // namespace hewn::partition
