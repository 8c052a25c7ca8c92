// SPDX-License-Identifier: Apache-2.0
//
// Folds by compiling: what depends on constants alone is compiled by our own pipeline, run, and replaced by its result.
// No op has a folder of its own. Views of constants are constants of another type, and nothing has to be run.
//
//     %w = graph.constant ...                         %f = graph.constant {value = #graph.weight<"folded", 0 : 4096>}
//     %s = graph.sqrt %w                          →   %y = graph.conv %x, %f
//     %f = graph.div %a, %s
//     %y = graph.conv %x, %f
//
// Left alone: results of many more elements than what they are made from (an expanded scalar would grow the weights; a
// dequantized matrix does too, but is read at every run; what contractions decode as they go stays a code, and what may become one
// integers until a machine has been asked), sizes that are not static, ops with regions, and all where the evaluator is missing or
// refuses. What is done now is bounded as well: some operations for each element that the constants have, and some more; a short file
// may ask for any number of them. Work is done in batches, so that a model of large constants does not lie in memory twice.
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Graph.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

namespace {

constexpr StringRef kFoldConstants = "hewn-fold-constants";

/// Up to so many elements a result may be larger than what it is made from.
constexpr int64_t kSmallElements = 16 << 10;
/// Up to this size a result stands in the IR, where other passes see its elements.
constexpr int64_t kInlineBytes = 256;
/// Operations for each element of the constants: ops on weights are few, one after another.
constexpr int64_t kFoldingPerElement = 64;
/// Constants of one batch.
constexpr int64_t kBatchBytes = 64 << 20;

int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * std::max<int64_t>(type.getElementTypeBitWidth(), 8) / 8;
}

int64_t elementsOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

/// How many elements the op computes with: all that it reads and makes, of a contraction all products.
uint64_t operationsOf(Operation *op) {
  uint64_t operations = 0;
  for (Value operand : op->getOperands())
    operations = llvm::SaturatingAdd(operations, uint64_t(elementsOf(operand)));
  for (Value result : op->getResults())
    operations = llvm::SaturatingAdd(operations, uint64_t(elementsOf(result)));
  if (auto contraction = dyn_cast<graph::ContractOpInterface>(op)) {
    uint64_t products = 1;
    for (const graph::DimExpr &dim : contraction.getIterationDims(graph::getDims))
      products = llvm::SaturatingMultiply(products, uint64_t(dim.constant().value_or(0)));
    operations = llvm::SaturatingAdd(operations, products);
  }
  return operations;
}

bool isTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

/// Whether a result can be a constant: what is narrower than a byte is made and used on the way.
bool isStorable(Type type) { return cast<RankedTensorType>(type).getElementTypeBitWidth() >= 8; }

/// A view of a constant is the same bytes as another tensor.
void retypeView(Operation *op) {
  auto constant = graph::isView(op) ? op->getOperand(0).getDefiningOp<graph::ConstantOp>() : nullptr;
  if (!constant || !isTensor(op->getResult(0).getType()))
    return;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Attribute value = constant.getValue();
  if (auto elements = dyn_cast<DenseElementsAttr>(value))
    value = elements.reshape(type);
  else if (!isa<graph::WeightAttr>(value))
    return;
  OpBuilder b(op);
  op->getResult(0).replaceAllUsesWith(graph::ConstantOp::create(b, op->getLoc(), type, value).getResult());
  op->erase();
}

class Folder {
public:
  Folder(func::FuncOp function, WeightTable &weights, ConstantEvaluator &evaluate, int64_t maxFoldedOps)
      : function(function), weights(weights), evaluate(evaluate), operationsLeft(maxFoldedOps) {
    function.walk([&](graph::ConstantOp constant) {
      if (isTensor(constant.getType()))
        operationsLeft =
            llvm::SaturatingMultiplyAdd<uint64_t>(elementsOf(constant), kFoldingPerElement, operationsLeft);
    });
  }

  void fold(KeptCodes codes) {
    if (codes != KeptCodes::None)
      function.walk([&](graph::ContractOpInterface op) {
        if (Found<graph::CodedWeights> coded = graph::codedWeights(op))
          kept.insert(coded->op);
        else if (graph::QuantizedOpInterface scaled = graph::scaledWeights(op); scaled && codes == KeptCodes::All)
          kept.insert(scaled);
      });
    function.walk([&](Operation *op) {
      if (!readsConstants(op))
        return;
      Verdict folds = isFoldable(op);
      if (folds && !mayTake(operationsOf(op)))
        folds = Verdict::no("it takes more operations than may be done when compiling");
      if (folds)
        foldable.insert(op);
      else
        missed(op, kFoldConstants, "NotFolded", folds.why());
    });
    for (Operation *op : llvm::to_vector(llvm::reverse(foldable)))
      if (!llvm::all_of(op->getResultTypes(), isStorable) && hasUserOutside(op))
        foldable.remove(op);
    for (Operation *op : foldable)
      if (llvm::any_of(op->getOperands(), [&](Value operand) { return isNameOnly(operand); }))
        named.insert(op);
    SmallVector<Value> batch;
    int64_t bytes = 0;
    for (Operation *op : foldable)
      for (Value result : op->getResults()) {
        if (llvm::all_of(result.getUsers(), [&](Operation *user) { return foldable.contains(user); }))
          continue;
        if (named.contains(op)) {
          auto type = cast<RankedTensorType>(result.getType());
          replace(result, graph::WeightAttr::get(type.getContext(), weights.name("folded"), 0, bytesOf(result)));
          continue;
        }
        batch.push_back(result);
        bytes += leafBytes(op);
        if (bytes > kBatchBytes) {
          run(batch);
          batch.clear();
          bytes = 0;
        }
      }
    run(batch);
    for (Operation *op : llvm::reverse(foldable))
      if (op->use_empty())
        op->erase();
  }

private:
  bool hasUserOutside(Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) { return !foldable.contains(user); });
  }

  /// Whether all readers take the code as it is.
  static bool staysCode(Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      auto contraction = dyn_cast<graph::ContractOpInterface>(user);
      return contraction && plan::decoderOf(contraction) == op;
    });
  }

  /// Whether the op is a code, for which scales are repeated that all columns share: they are made when compiling, whatever they grow by.
  static bool isCode(Operation *op) { return isa<graph::CodedOpInterface>(op); }

  bool isConstant(Value value) {
    Operation *op = value.getDefiningOp();
    return op && (isa<graph::ConstantOp>(op) || foldable.contains(op));
  }

  /// Whether lists of dims in attributes are numbers, and no expressions over symbols.
  static bool saysNumbers(Operation *op) {
    return llvm::all_of(op->getAttrs(), [](NamedAttribute attribute) {
      auto list = dyn_cast<ArrayAttr>(attribute.getValue());
      return !list || llvm::all_of(list, llvm::IsaPred<IntegerAttr, ArrayAttr>);
    });
  }

  /// Whether the op computes, and of constants alone.
  bool readsConstants(Operation *op) {
    bool isKind = isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::CumulateOpInterface,
                      graph::ContractOpInterface, graph::MoveOpInterface, graph::ComposeOpInterface>(op);
    return isKind && !op->getNumRegions() && isMemoryEffectFree(op) && (op->getNumOperands() || saysNumbers(op)) &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isConstant(operand) && isTensor(operand.getType()); });
  }

  Verdict isFoldable(Operation *op) {
    if (kept.contains(op))
      return Verdict::no("it makes floats of integers that a contraction may read instead");
    if (!llvm::all_of(op->getResultTypes(), isTensor))
      return Verdict::no("the dims of its result are known only when run");
    int64_t from = kSmallElements, to = 0;
    llvm::SmallDenseSet<Value> read;
    for (Value operand : op->getOperands())
      if (read.insert(operand).second)
        from += elementsOf(operand);
    for (Value result : op->getResults())
      to += elementsOf(result);
    if (isCode(op) && to > kSmallElements && staysCode(op))
      return Verdict::no("a contraction decodes it as it multiplies");
    if (!isCode(op) && to > from && !llvm::all_of(op->getUsers(), isCode))
      return Verdict::no("its result has many more elements than what it is made of");
    return Verdict::yes();
  }

  /// Takes so many operations of those that may be done now; false: there are fewer.
  bool mayTake(uint64_t operations) {
    if (operations > operationsLeft)
      return false;
    operationsLeft -= operations;
    return true;
  }

  int64_t leafBytes(Operation *op) {
    int64_t bytes = 0;
    for (Value operand : op->getOperands())
      bytes += bytesOf(operand);
    return bytes;
  }

  /// The ops behind `values` as a module that returns them.
  OwningOpRef<ModuleOp> extract(ArrayRef<Value> values) {
    llvm::SetVector<Operation *> needed;
    SmallVector<Operation *> waiting = llvm::map_to_vector(values, [](Value v) { return v.getDefiningOp(); });
    std::reverse(waiting.begin(), waiting.end());
    while (!waiting.empty()) {
      Operation *op = waiting.back();
      size_t before = waiting.size();
      for (Value operand : llvm::reverse(op->getOperands()))
        if (!needed.contains(operand.getDefiningOp()))
          waiting.push_back(operand.getDefiningOp());
      if (waiting.size() > before)
        continue;
      needed.insert(op);
      waiting.pop_back();
    }
    OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
    OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
    auto types = llvm::map_to_vector(values, [](Value v) { return v.getType(); });
    auto main = func::FuncOp::create(b, function.getLoc(), "main", b.getFunctionType({}, types));
    b.setInsertionPointToEnd(main.addEntryBlock());
    IRMapping mapping;
    for (Operation *op : needed)
      b.clone(*op, mapping);
    func::ReturnOp::create(b, function.getLoc(),
                           llvm::map_to_vector(values, [&](Value v) { return mapping.lookup(v); }));
    return module;
  }

  void run(ArrayRef<Value> values) {
    if (values.empty())
      return;
    OwningOpRef<ModuleOp> module = extract(values);
    SmallVector<graph::WeightAttr> read;
    module->walk([&](graph::ConstantOp constant) {
      if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
        read.push_back(weight);
    });
    FailureOr<std::vector<std::vector<char>>> results = evaluate(std::move(module));
    for (graph::WeightAttr weight : read)
      weights.letGo(weights.bytes(weight));
    if (failed(results) || results->size() != values.size()) {
      for (Value value : values)
        missed(value.getDefiningOp(), kFoldConstants, "NotFolded", "the evaluator refuses a program with it");
      return;
    }
    for (auto [value, bytes] : llvm::zip(values, *results))
      replace(value, attributeOf(cast<RankedTensorType>(value.getType()), std::move(bytes)));
  }

  void replace(Value value, Attribute content) {
    OpBuilder b(value.getDefiningOp());
    auto constant = graph::ConstantOp::create(b, value.getLoc(), cast<RankedTensorType>(value.getType()), content);
    made[value] = constant;
    noteTransposition(value, constant);
    value.replaceUsesWithIf(constant.getResult(), [&](OpOperand &use) { return !foldable.contains(use.getOwner()); });
  }

  /// Whether the bytes of a constant are nowhere; so are then those of what is made of it.
  bool isNameOnly(Value value) {
    Operation *op = value.getDefiningOp();
    auto constant = dyn_cast<graph::ConstantOp>(op);
    auto weight = constant ? dyn_cast<graph::WeightAttr>(constant.getValue()) : graph::WeightAttr();
    return named.contains(op) || (weight && weights.isNameOnly(weight.getKey()));
  }

  /// Who packs the matrix that was made may find that what it was made of need not be there as well.
  void noteTransposition(Value value, graph::ConstantOp folded) {
    auto move = dyn_cast<graph::MoveOpInterface>(value.getDefiningOp());
    if (!move || move.getViewKind() != graph::ViewKind::Transpose || move.getViewOrder() != ArrayRef<int64_t>{1, 0})
      return;
    auto source = move->getOperand(0).getDefiningOp<graph::ConstantOp>();
    if (!source)
      source = made.lookup(move->getOperand(0));
    auto from = source ? dyn_cast<graph::WeightAttr>(source.getValue()) : graph::WeightAttr();
    if (auto to = dyn_cast<graph::WeightAttr>(folded.getValue()); from && to)
      weights.transposed(from) = to.getKey().str();
  }

  Attribute attributeOf(RankedTensorType type, std::vector<char> bytes) {
    if (int64_t(bytes.size()) <= kInlineBytes && !type.getEncoding() && !bytes.empty())
      return DenseElementsAttr::getFromRawBuffer(type, bytes);
    int64_t size = int64_t(bytes.size());
    // The same may have been computed for another machine.
    std::string &key = weights.derived("folded " + WeightTable::contentHash(bytes));
    if (key.empty() || weights.bytes(key, 0, size) != ArrayRef<char>(bytes))
      key = weights.add("folded", std::move(bytes));
    return graph::WeightAttr::get(type.getContext(), key, 0, size);
  }

  func::FuncOp function;
  WeightTable &weights;
  ConstantEvaluator &evaluate;
  uint64_t operationsLeft;
  llvm::SetVector<Operation *> foldable;
  /// Of these, what reads constants that are names alone.
  llvm::DenseSet<Operation *> named;
  /// What has become a constant that others than foldable ops read.
  llvm::DenseMap<Value, graph::ConstantOp> made;
  /// What makes floats of integers that a contraction may take instead.
  llvm::DenseSet<Operation *> kept;
};

struct FoldConstantsPass : impl::FoldConstantsPassBase<FoldConstantsPass> {
  FoldConstantsPass() = default;
  FoldConstantsPass(WeightTable *weights, ConstantEvaluator evaluate, int64_t maxFoldedOps, KeptCodes kept)
      : weights(weights), evaluate(std::move(evaluate)), maxFoldedOps(maxFoldedOps), kept(kept) {}
  void runOnOperation() override {
    getOperation().walk(retypeView);
    if (weights && evaluate)
      Folder(getOperation(), *weights, evaluate, maxFoldedOps).fold(kept);
  }
  WeightTable *weights = nullptr;
  ConstantEvaluator evaluate;
  int64_t maxFoldedOps = 0;
  KeptCodes kept = KeptCodes::None;
};

} // namespace

std::unique_ptr<Pass> createFoldConstantsPass(WeightTable *weights, ConstantEvaluator evaluate, int64_t maxFoldedOps,
                                              KeptCodes kept) {
  return std::make_unique<FoldConstantsPass>(weights, std::move(evaluate), maxFoldedOps, kept);
}

} // namespace hewn
