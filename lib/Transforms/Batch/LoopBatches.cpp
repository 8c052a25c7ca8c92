// SPDX-License-Identifier: Apache-2.0
//
// Runs the beginning of a model for one item of a batch after another, where the items together do not fit the caches.
//
//     %0 = graph.conv %x, %w : tensor<8x96x112x112xf32>         %1 = graph.scan %x numStates = 0 {
//     %1 = graph.conv %0, %v : tensor<8x24x56x56xf32>        →    ^bb0(%item: tensor<3x224x224xf32>): ...
//                                                                 %a = graph.conv %i, %w : tensor<1x96x112x112xf32>
//                                                                 %b = graph.conv %a, %v : tensor<1x24x56x56xf32> ...
//
// Kernels read and write values in memory. Those of one image stay in a core's cache from one kernel to the next where those of
// eight go to memory and come back; the arena needs room for one. But weights are read once an item, so the loop ends
// where they outweigh that: late layers of a convolutional network have large weights and small images.
//
// An item is an index of the first dim. Ops whose items depend on each other end it (`graph::itemForm`), and all that follows from
// them. A batch whose size is known only when run is taken for one of some items. Left alone: machines whose cores are many
// and share a cache (a grid), where a whole batch fills them; values of other unknown sizes. Not done: several items at a time;
// parts in the middle of a model.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Graph.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Batch/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::ItemForm;

namespace hewn {
#define GEN_PASS_DEF_LOOPBATCHESPASS
#include "lib/Transforms/Batch/Passes.h.inc"

namespace {

/// Items of a batch whose size is known only when run.
constexpr int64_t kAssumedItems = 8;
constexpr llvm::StringLiteral kPass = "hewn-loop-batches";

class Looper {
public:
  Looper(func::FuncOp function, plan::TargetAttr target)
      : block(function.getBody().front()), target(target), costs(plan::costsOf(function)) {}

  bool run() {
    if (!findBatch())
      return false;
    collect();
    size_t count = best();
    if (count == 0) {
      if (!chosen.empty() && !batch.is(1))
        missed(chosen.front().op, kPass, "BatchNotLooped",
               "what one item after another would save of the caches is less than what the loop would cost");
      return false;
    }
    chosen.resize(count);
    return loop();
  }

private:
  struct Item {
    Operation *op;
    ItemForm form;
  };

  /// The first dim of the largest argument.
  bool findBatch() {
    double most = 0;
    for (Value argument : block.getArguments()) {
      Dims dims = graph::getDims(argument);
      if (dims.size() < 2 || dims[0].is(1) || dims[0].is(0))
        continue;
      if (double bytes = itemBytes(argument).value_or(0); bytes > most) {
        most = bytes;
        batch = dims[0];
      }
    }
    items = batch.constant().value_or(kAssumedItems);
    return most > 0;
  }

  bool hasItems(Value value) {
    Dims dims = graph::getDims(value);
    return !dims.empty() && dims[0] == batch;
  }

  /// The ops that can be made by items from the arguments on, in order.
  void collect() {
    DenseSet<Value> byItems, mixed;
    for (Value argument : block.getArguments())
      if (hasItems(argument))
        byItems.insert(argument);
    for (Operation &op : block.without_terminator()) {
      // Regions read what they like.
      bool reaches = false;
      op.walk([&](Operation *inner) {
        reaches |=
            llvm::any_of(inner->getOperands(), [&](Value v) { return byItems.contains(v) || mixed.contains(v); });
      });
      if (!reaches)
        continue;
      std::optional<ItemForm> form = graph::itemForm(&op);
      bool fits = form && hasItems(op.getResult(0)) && itemBytes(op.getResult(0));
      for (unsigned i = 0; fits && i < op.getNumOperands(); ++i) {
        Value operand = op.getOperand(i);
        fits = !mixed.contains(operand) &&
               (form->byItem[i] ? hasItems(operand) && itemBytes(operand) : !byItems.contains(operand));
      }
      for (Value result : op.getResults())
        (fits ? byItems : mixed).insert(result);
      if (fits)
        chosen.push_back({&op, std::move(*form)});
    }
  }

  /// Bytes of an item; nullopt where that is not known.
  static std::optional<double> itemBytes(Value value) {
    std::optional<int64_t> elements = graph::numElements(ArrayRef(graph::getDims(value)).drop_front()).constant();
    return elements ? std::optional(double(*elements) * graph::elementBytes(value)) : std::nullopt;
  }

  /// What it costs to read and write so many bytes again and again, in bytes of memory.
  double cost(double bytes) const {
    return bytes <= target.getL2Bytes() / 2 ? 0
           : bytes <= target.getL3Bytes()   ? double(costs.getL3ByteCost()) / 100 * bytes
                                            : bytes;
  }

  /// The value in memory that a kernel reads `value` from; one that is made of indices alone is its own.
  Value stored(Value value) {
    SmallVector<Value> way;
    auto known = storedOf.find(value);
    while (known == storedOf.end()) {
      auto move = value.getDefiningOp<graph::MoveOpInterface>();
      if (!move || move->getNumOperands() == 0)
        break;
      way.push_back(value);
      value = move->getOperand(0);
      known = storedOf.find(value);
    }
    if (known != storedOf.end())
      value = known->second;
    for (Value moved : way)
      storedOf[moved] = value;
    return value;
  }

  /// How many of the ops, from the first one on, to loop over; 0: none.
  size_t best() {
    double gain = 0, weights = 0, launches = 0, crossing = 0, bestScore = 0;
    size_t bestCount = 0;
    DenseSet<Value> shared;
    DenseMap<Value, int64_t> readers; // those that are still behind
    for (auto [i, item] : llvm::enumerate(chosen)) {
      Value result = item.op->getResult(0);
      double traffic = *itemBytes(result);
      for (auto [operand, byItem] : llvm::zip(item.op->getOperands(), item.form.byItem)) {
        if (byItem)
          traffic += hasItems(stored(operand)) ? itemBytes(stored(operand)).value_or(0) : 0;
        else if (std::optional<int64_t> elements = graph::numElements(graph::getDims(operand)).constant())
          weights += shared.insert(operand).second ? double(*elements * graph::elementBytes(operand)) : 0;
        else
          return bestCount; // of unknown size
        if (auto left = readers.find(operand); left != readers.end() && --left->second == 0)
          crossing -= double(items) * *itemBytes(operand);
      }
      if (isa<graph::ContractOpInterface, graph::ReduceOpInterface>(item.op)) {
        gain += cost(traffic * double(items)) - cost(traffic) * double(items);
        launches += double(costs.getLaunchOverheadBytes()) * double(items - 1);
      }
      int64_t behind = llvm::count_if(
          result.getUses(), [](OpOperand &use) { return !use.getOwner()->hasTrait<OpTrait::IsTerminator>(); });
      if (behind) {
        readers[result] = behind;
        crossing += double(items) * *itemBytes(result);
      }
      // What crosses to the ops behind is turned to row-major order and back.
      double loss = std::max(0.0, cost(weights) * double(items) - weights) + launches + 4 * crossing;
      if (double score = gain - loss; gain > target.getL3Bytes() && loss < gain / 4 && score > bestScore) {
        bestScore = score;
        bestCount = i + 1;
      }
    }
    return bestCount;
  }

  bool loop() {
    DenseSet<Operation *> inside;
    for (const Item &item : chosen)
      inside.insert(item.op);
    llvm::SetVector<Value> sequences;
    SmallVector<Value> results;
    for (const Item &item : chosen) {
      for (auto [operand, byItem] : llvm::zip(item.op->getOperands(), item.form.byItem))
        if (byItem && !inside.contains(operand.getDefiningOp()))
          sequences.insert(operand);
      if (llvm::any_of(item.op->getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        results.push_back(item.op->getResult(0));
    }
    OpBuilder b(chosen.back().op);
    Location loc = chosen.back().op->getLoc();
    SmallVector<Value> made =
        graph::makeScan(b, loc, {}, sequences.getArrayRef(), /*backward=*/false, [&](ValueRange, ValueRange slices) {
          return body(b, sequences.getArrayRef(), slices, results);
        });
    if (made.empty()) {
      missed(chosen.front().op, kPass, "BatchNotLooped", "its ops for one item can't be made a loop's");
      return false;
    }
    for (auto [old, value] : llvm::zip(results, made))
      old.replaceUsesWithIf(value, [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
    for (const Item &item : llvm::reverse(chosen))
      item.op->erase();
    sortTopologically(&block); // readers that stood before the last op of the loop
    return true;
  }

  /// The ops for an item; gives those of `results` without their first dim.
  SmallVector<Value> body(OpBuilder &b, ArrayRef<Value> sequences, ValueRange slices, ArrayRef<Value> results) {
    DenseMap<Value, Value> itemOf;
    for (auto [sequence, slice] : llvm::zip(sequences, slices)) {
      Dims dims = graph::getDims(sequence);
      dims[0] = DimExpr(1);
      itemOf[sequence] = graph::Composer(b, slice.getLoc()).reshape(slice, dims);
    }
    for (const Item &item : chosen) {
      SmallVector<Value> operands;
      for (auto [operand, byItem] : llvm::zip(item.op->getOperands(), item.form.byItem))
        operands.push_back(byItem ? itemOf[operand] : operand);
      itemOf[item.op->getResult(0)] =
          graph::makeNamed(b, item.op->getLoc(), item.op->getName().getStringRef(), operands, item.form.attributes);
    }
    return llvm::map_to_vector(results, [&](Value result) {
      Dims dims = graph::getDims(result);
      return graph::Composer(b, result.getLoc()).reshape(itemOf[result], ArrayRef(dims).drop_front());
    });
  }

  Block &block;
  plan::TargetAttr target;
  plan::VectorCostsAttr costs;
  DimExpr batch = DimExpr(1);
  int64_t items = 1;
  SmallVector<Item> chosen;
  DenseMap<Value, Value> storedOf; // of moves that were looked at: one may follow another without end
};

struct LoopBatchesPass : impl::LoopBatchesPassBase<LoopBatchesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    plan::TargetAttr target = plan::targetOf(function);
    if (!target || plan::gridOf(function) || function.isExternal() || !function.getBody().hasOneBlock())
      return;
    Looper(function, target).run();
  }
};

} // namespace
} // namespace hewn
