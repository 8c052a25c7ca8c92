// SPDX-License-Identifier: Apache-2.0
//
// Processes the first part of a model one batch element at a time (see Passes.td).
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Graph.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Batch/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;
using hewn::graph::BatchRule;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_TILEBATCHPASS
#include "lib/Transforms/Batch/Passes.h.inc"

namespace {

/// Batch size that the cost model assumes if the model's batch size is dynamic.
constexpr int64_t kAssumedItems = 8;
constexpr llvm::StringLiteral kPass = "hewn-tile-batch";

class BatchTiler {
public:
  BatchTiler(func::FuncOp function, plan::TargetAttr target)
      : block(function.getBody().front()), target(target), costs(plan::costsOf(function)) {}

  bool run() {
    if (!findBatch())
      return false;
    collect();
    size_t count = chooseNumOps();
    if (count == 0) {
      if (!chosen.empty() && !batch.is(1))
        missed(chosen.front().op, kPass, "BatchNotLooped",
               "batch not tiled: processing one batch element at a time saves less cache traffic than the loop costs");
      return false;
    }
    chosen.resize(count);
    return loop();
  }

private:
  struct Item {
    Operation *op;
    BatchRule form;
  };

  /// Sets `batch`, the batch size, to the first dim of the function's largest argument.
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

  /// Collects the ops that can be computed per batch element, in program order, starting at the
  /// arguments.
  void collect() {
    DenseSet<Value> byItems, mixed;
    for (Value argument : block.getArguments())
      if (hasItems(argument))
        byItems.insert(argument);
    for (Operation &op : block.without_terminator()) {
      // Check the operands of nested ops too: an op inside of a region may use any value of the
      // block.
      bool usesBatch = false;
      op.walk([&](Operation *inner) {
        usesBatch |=
            llvm::any_of(inner->getOperands(), [&](Value v) { return byItems.contains(v) || mixed.contains(v); });
      });
      if (!usesBatch)
        continue;
      std::optional<BatchRule> form = graph::batchRule(&op);
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

  /// Returns the bytes that one batch element of the value takes, or nothing if the size is
  /// dynamic.
  static std::optional<double> itemBytes(Value value) {
    std::optional<int64_t> elements = graph::numElements(ArrayRef(graph::getDims(value)).drop_front()).constant();
    return elements ? std::optional(double(*elements) * graph::elementBytes(value)) : std::nullopt;
  }

  /// Returns the cost of writing and repeatedly reading a working set of `bytes`, in equivalent
  /// bytes of memory traffic.
  double cost(double bytes) const {
    return bytes <= target.getL2Bytes() / 2 ? 0
           : bytes <= target.getL3Bytes()   ? double(costs.getL3ByteCost()) / 100 * bytes
                                            : bytes;
  }

  /// Returns the value in memory that a kernel loads to compute `value`: the operand of the
  /// indexing ops, if any, that produce `value`.
  Value loadedFrom(Value value) {
    SmallVector<Value> way;
    auto known = loadedFromCache.find(value);
    while (known == loadedFromCache.end()) {
      auto move = value.getDefiningOp<graph::IndexingOpInterface>();
      if (!move || move->getNumOperands() == 0)
        break;
      way.push_back(value);
      value = move->getOperand(0);
      known = loadedFromCache.find(value);
    }
    if (known != loadedFromCache.end())
      value = known->second;
    for (Value moved : way)
      loadedFromCache[moved] = value;
    return value;
  }

  /// Returns how many of the collected ops to put into the loop over batch elements, counted from
  /// the first op. Returns 0 if a loop does not pay.
  size_t chooseNumOps() {
    double gain = 0, weights = 0, launches = 0, crossing = 0, bestScore = 0;
    size_t bestCount = 0;
    DenseSet<Value> shared;
    DenseMap<Value, int64_t> readers; // number of remaining users of each value
    for (auto [i, item] : llvm::enumerate(chosen)) {
      Value result = item.op->getResult(0);
      double traffic = *itemBytes(result);
      for (auto [operand, byItem] : llvm::zip(item.op->getOperands(), item.form.byItem)) {
        if (byItem)
          traffic += hasItems(loadedFrom(operand)) ? itemBytes(loadedFrom(operand)).value_or(0) : 0;
        else if (std::optional<int64_t> elements = graph::numElements(graph::getDims(operand)).constant())
          weights += shared.insert(operand).second ? double(*elements * graph::elementBytes(operand)) : 0;
        else
          return bestCount; // the size of the weights is dynamic
        if (auto left = readers.find(operand); left != readers.end() && --left->second == 0)
          crossing -= double(items) * *itemBytes(operand);
      }
      if (isa<graph::ContractOpInterface, graph::ReduceOpInterface>(item.op)) {
        gain += cost(traffic * double(items)) - cost(traffic) * double(items);
        launches += double(costs.getLaunchOverheadBytes()) * double(items - 1);
      }
      int64_t numLaterUses = llvm::count_if(
          result.getUses(), [](OpOperand &use) { return !use.getOwner()->hasTrait<OpTrait::IsTerminator>(); });
      if (numLaterUses) {
        readers[result] = numLaterUses;
        crossing += double(items) * *itemBytes(result);
      }
      // The results of the loop must be row-major, so values that leave the loop are converted to
      // row-major and back: four passes over memory.
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
    SmallVector<Value> loopResults =
        graph::makeScan(b, loc, {}, sequences.getArrayRef(), /*backward=*/false, [&](ValueRange, ValueRange slices) {
          return body(b, sequences.getArrayRef(), slices, results);
        });
    if (loopResults.empty()) {
      missed(chosen.front().op, kPass, "BatchNotLooped",
             "batch not tiled: the ops of one batch element cannot form a loop body");
      return false;
    }
    for (auto [old, value] : llvm::zip(results, loopResults))
      old.replaceUsesWithIf(value, [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
    for (const Item &item : llvm::reverse(chosen))
      item.op->erase();
    sortTopologically(&block); // users of loop results may precede the last op of the loop
    return true;
  }

  /// Clones the ops for one batch element. Returns the values of `results` for this element,
  /// without their first dim.
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
  /// Results of earlier loadedFrom() calls. Without this cache, long sequences of indexing ops
  /// would take quadratic time.
  DenseMap<Value, Value> loadedFromCache;
};

struct TileBatchPass : impl::TileBatchPassBase<TileBatchPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    plan::TargetAttr target = plan::targetOf(function);
    if (!target || !plan::supports(function, plan::KernelFeature::OrderedTasks) || function.isExternal() ||
        !function.getBody().hasOneBlock())
      return;
    BatchTiler(function, target).run();
  }
};

} // namespace
} // namespace hewn
