// SPDX-License-Identifier: Apache-2.0
//
// Folds constant subgraphs by compiling and running them (see Passes.td).
#include "dialects/Graph/Analysis/Transposed.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/PackedWeights.h"
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

/// A constant result is folded only if it has at most this many more elements than the operands.
constexpr int64_t kSmallElements = 16 << 10;
/// Folded results up to this size are stored in the IR, where other passes can read the elements;
/// larger ones are stored in the weight store.
constexpr int64_t kInlineBytes = 256;
/// Budget of constant folding: element operations per element of the model's constants. It suffices
/// for usual models, whose constant subgraphs are short chains of ops on weights.
constexpr int64_t kFoldingPerElement = 64;
/// Limit of the bytes of constants that the constant subgraphs evaluated in one batch read.
constexpr int64_t kBatchBytes = 64 << 20;

int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * std::max<int64_t>(type.getElementTypeBitWidth(), 8) / 8;
}

int64_t elementsOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

/// Returns the number of element operations that evaluating the op takes: elements read and
/// written, plus multiply-adds of a contraction.
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

/// Returns true if the result of a folded subgraph can be stored as a constant. Sub-byte types
/// cannot; they occur only inside of a folded subgraph.
bool isStorable(Type type) { return cast<RankedTensorType>(type).getElementTypeBitWidth() >= 8; }

/// Replaces a view of a constant by a constant with the same bytes and the view's type.
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
  auto view = graph::ConstantOp::create(b, op->getLoc(), type, value);
  if (graph::WeightAttr of = graph::transposeOf(constant))
    view->setAttr(graph::kTransposeOfAttr, of);
  op->getResult(0).replaceAllUsesWith(view.getResult());
  op->erase();
}

class Folder {
public:
  Folder(func::FuncOp function, const graph::ConstantEvaluator &evaluate, int64_t maxFoldedOps)
      : function(function), weights(graph::weightsOf(function.getContext())), evaluate(evaluate),
        operationsLeft(maxFoldedOps) {
    function.walk([&](graph::ConstantOp constant) {
      if (isTensor(constant.getType()))
        operationsLeft =
            llvm::SaturatingMultiplyAdd<uint64_t>(elementsOf(constant), kFoldingPerElement, operationsLeft);
    });
  }

  void fold(KeptCodes codes) {
    if (codes != KeptCodes::None)
      function.walk([&](graph::ContractOpInterface op) {
        if (OrReason<graph::PackedWeights> coded = graph::packedWeights(op))
          kept.insert(coded->op);
        else if (graph::QuantizedOpInterface scaled = graph::scaledWeights(op); scaled && codes == KeptCodes::All)
          kept.insert(scaled);
      });
    function.walk([&](Operation *op) {
      if (!isConstantComputation(op))
        return;
      Eligibility folds = isFoldable(op);
      if (folds && !reserveOperations(operationsOf(op)))
        folds = Eligibility::no("its constant operands are not folded: the compile-time operation budget is used up");
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

  /// Returns true if every user is a contraction that dequantizes the op's result in its kernel.
  static bool staysPacked(Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      auto contraction = dyn_cast<graph::ContractOpInterface>(user);
      return contraction && plan::decoderOf(contraction) == op;
    });
  }

  /// Returns true if the op produces packed low-bit weights. Their scales are folded even if
  /// folding enlarges them, because kernels need the scales expanded to all columns.
  static bool isPackedWeights(Operation *op) { return isa<graph::PackedWeightsOpInterface>(op); }

  bool isConstant(Value value) {
    Operation *op = value.getDefiningOp();
    auto constant = dyn_cast_or_null<graph::ConstantOp>(op);
    return constant ? isKnown(constant) : op && foldable.contains(op);
  }

  /// Returns false if the constant refers to a weight that the weight store does not have. IR that
  /// was parsed from text without a file of weights contains such constants.
  bool isKnown(graph::ConstantOp constant) {
    auto weight = dyn_cast<graph::WeightAttr>(constant.getValue());
    return !weight || weight.getBytes() == 0 || weights.isNameOnly(weight.getKey()) || !weights.bytes(weight).empty();
  }

  /// Returns true if no list attribute of the op contains symbolic dims, so that the op can be
  /// evaluated at compile time.
  static bool hasStaticLists(Operation *op) {
    return llvm::all_of(op->getAttrs(), [](NamedAttribute attribute) {
      auto list = dyn_cast<ArrayAttr>(attribute.getValue());
      return !list || llvm::all_of(list, llvm::IsaPred<IntegerAttr, ArrayAttr>);
    });
  }

  /// Returns true if the op computes on constants only.
  bool isConstantComputation(Operation *op) {
    bool isKind = isa<graph::ElementwiseOpInterface, graph::ReduceOpInterface, graph::PrefixScanOpInterface,
                      graph::ContractOpInterface, graph::IndexingOpInterface, graph::DecomposeOpInterface>(op);
    return isKind && !op->getNumRegions() && isMemoryEffectFree(op) && (op->getNumOperands() || hasStaticLists(op)) &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isConstant(operand) && isTensor(operand.getType()); });
  }

  Eligibility isFoldable(Operation *op) {
    if (kept.contains(op))
      return Eligibility::no("a contraction may read the integer weights directly");
    if (!llvm::all_of(op->getResultTypes(), isTensor))
      return Eligibility::no("its result has dynamic dims");
    int64_t from = kSmallElements, to = 0;
    llvm::SmallDenseSet<Value> read;
    for (Value operand : op->getOperands())
      if (read.insert(operand).second)
        from += elementsOf(operand);
    for (Value result : op->getResults())
      to += elementsOf(result);
    if (isPackedWeights(op) && to > kSmallElements && staysPacked(op))
      return Eligibility::no("a contraction dequantizes these weights in its kernel");
    if (!isPackedWeights(op) && to > from && !llvm::all_of(op->getUsers(), isPackedWeights))
      return Eligibility::no("its result has many more elements than its operands, and would grow the weights");
    return Eligibility::yes();
  }

  /// Subtracts `operations` from the remaining folding budget. Returns false if the budget is too
  /// small.
  bool reserveOperations(uint64_t operations) {
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

  /// Returns a module whose `main` computes and returns `values`.
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
        missed(value.getDefiningOp(), kFoldConstants, "NotFolded",
               "the constant subgraph could not be compiled and run");
      return;
    }
    for (auto [value, bytes] : llvm::zip(values, *results))
      replace(value, attributeOf(cast<RankedTensorType>(value.getType()), std::move(bytes)));
  }

  void replace(Value value, Attribute content) {
    OpBuilder b(value.getDefiningOp());
    auto constant = graph::ConstantOp::create(b, value.getLoc(), cast<RankedTensorType>(value.getType()), content);
    foldedConstants[value] = constant;
    noteTransposition(value, constant);
    value.replaceUsesWithIf(constant.getResult(), [&](OpOperand &use) { return !foldable.contains(use.getOwner()); });
  }

  /// Returns true if the constant has a name but no bytes. Constants computed from it have no bytes
  /// either.
  bool isNameOnly(Value value) {
    Operation *op = value.getDefiningOp();
    auto constant = dyn_cast<graph::ConstantOp>(op);
    auto weight = constant ? dyn_cast<graph::WeightAttr>(constant.getValue()) : graph::WeightAttr();
    return named.contains(op) || (weight && weights.isNameOnly(weight.getKey()));
  }

  /// Records that `value` is the transpose of a stored weight. PackConstants then stores only one
  /// of the two if it can.
  void noteTransposition(Value value, graph::ConstantOp folded) {
    auto move = dyn_cast<graph::IndexingOpInterface>(value.getDefiningOp());
    if (!move || move.getViewKind() != graph::ViewKind::Transpose || move.getViewOrder() != ArrayRef<int64_t>{1, 0})
      return;
    auto source = move->getOperand(0).getDefiningOp<graph::ConstantOp>();
    if (!source)
      source = foldedConstants.lookup(move->getOperand(0));
    auto from = source ? dyn_cast<graph::WeightAttr>(source.getValue()) : graph::WeightAttr();
    if (auto to = dyn_cast<graph::WeightAttr>(folded.getValue()); from && to)
      folded->setAttr(graph::kTransposeOfAttr, from);
  }

  Attribute attributeOf(RankedTensorType type, std::vector<char> bytes) {
    if (int64_t(bytes.size()) <= kInlineBytes && !type.getEncoding() && !bytes.empty())
      return DenseElementsAttr::getFromRawBuffer(type, bytes);
    int64_t size = int64_t(bytes.size());
    return graph::WeightAttr::get(type.getContext(), weights.add("folded", std::move(bytes)), 0, size);
  }

  func::FuncOp function;
  WeightStore &weights;
  const graph::ConstantEvaluator &evaluate;
  uint64_t operationsLeft;
  llvm::SetVector<Operation *> foldable;
  /// Foldable ops that read constants without bytes: only the constants' names are known.
  llvm::DenseSet<Operation *> named;
  /// The new constant of each folded value that ops outside of the folded subgraphs read.
  llvm::DenseMap<Value, graph::ConstantOp> foldedConstants;
  /// Ops that convert integer weights to floats. They are not folded, because a contraction may
  /// read the integers.
  llvm::DenseSet<Operation *> kept;
};

struct FoldConstantsPass : impl::FoldConstantsPassBase<FoldConstantsPass> {
  using FoldConstantsPassBase::FoldConstantsPassBase;
  void runOnOperation() override {
    getOperation().walk(retypeView);
    if (const graph::ConstantEvaluator &evaluate = graph::evaluatorOf(&getContext()))
      Folder(getOperation(), evaluate, maxFoldedOps).fold(kept);
  }
};

} // namespace

} // namespace hewn
