// SPDX-License-Identifier: Apache-2.0
//
// Replaces chains of elementwise ops on one 8-bit tensor by a table lookup (see Passes.td).
#include "dialects/Graph/Analysis/Cost.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Fuse/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_FOLDTOLOOKUPTABLEPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

constexpr int64_t kNumValues = 256;

bool isInt8(Value value) { return graph::getElementType(value).isInteger(8); }

bool hasSupportedType(Value value) {
  Type type = graph::getElementType(value);
  return type.isF32() || type.isInteger(8) || type.isInteger(16);
}

/// Returns the value of a constant with one element, or null.
DenseElementsAttr scalarConstant(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.getNumElements() == 1 ? elements : DenseElementsAttr();
}

/// The ops of a fusion group that depend on one 8-bit tensor only, in block order.
struct Dependents {
  Value input;
  SmallVector<Operation *> ops;
  /// The ops of the chain whose results have users outside of the chain. They become table lookups.
  SmallVector<Operation *> outputs;
};

class LookupTableRewriter {
public:
  LookupTableRewriter(func::FuncOp function, const graph::ConstantEvaluator &evaluate)
      : function(function), evaluate(evaluate) {}

  void run() {
    SmallVector<Dependents> all;
    function->walk([&](Block *block) { collect(*block, all); });
    llvm::erase_if(all, [&](const Dependents &d) { return !isFaster(d); });
    if (all.empty())
      return;
    FailureOr<std::vector<std::vector<char>>> tables = evaluate(program(all));
    size_t table = 0;
    if (succeeded(tables))
      for (const Dependents &dependents : all)
        for (Operation *op : dependents.outputs)
          replace(op, dependents.input, (*tables)[table++]);
    for (const Dependents &dependents : all)
      for (Operation *op : llvm::reverse(dependents.ops))
        if (op->use_empty())
          op->erase();
  }

private:
  func::FuncOp function;
  const graph::ConstantEvaluator &evaluate;

  /// Returns the only 8-bit tensor of the fusion group on which the op's result depends, if it has
  /// the dims of the result. Returns null if there is no such tensor.
  static Value inputOf(Operation *op, const llvm::DenseMap<Operation *, Value> &known) {
    if (!isa<graph::ElementwiseOpInterface>(op) || op->getNumResults() != 1 || !groupOf(op))
      return {};
    Value input;
    for (Value operand : op->getOperands()) {
      if (scalarConstant(operand))
        continue;
      Operation *by = operand.getDefiningOp();
      Value of = by && groupOf(by) == groupOf(op) ? known.lookup(by) : Value();
      if (!of && isInt8(operand))
        of = operand;
      if (!of || (input && of != input))
        return {};
      input = of;
    }
    return input && graph::getDims(input) == graph::getDims(op->getResult(0)) ? input : Value();
  }

  static void collect(Block &block, SmallVector<Dependents> &all) {
    llvm::DenseMap<Operation *, Value> inputs;
    llvm::MapVector<std::pair<Value, Attribute>, Dependents> found;
    for (Operation &op : block)
      if (Value input = inputOf(&op, inputs)) {
        inputs[&op] = input;
        Dependents &dependents = found[{input, groupOf(&op)}];
        dependents.input = input;
        dependents.ops.push_back(&op);
      }
    for (auto &[key, dependents] : found) {
      for (Operation *op : dependents.ops)
        if (llvm::any_of(op->getUsers(), [&](Operation *user) {
              return inputs.lookup(user) != key.first || groupOf(user) != groupOf(op);
            }))
          dependents.outputs.push_back(op);
      if (llvm::all_of(dependents.outputs, [](Operation *op) { return hasSupportedType(op->getResult(0)); }))
        all.push_back(std::move(dependents));
    }
  }

  /// Returns the estimated number of vector instructions that the op takes per vector of elements.
  /// A dequantization counts as one instruction: if its float is quantized again,
  /// hewn-quantize-by-reciprocal keeps the integer as it is. A math function counts as its
  /// polynomial.
  static int64_t instructions(Operation *op) {
    constexpr int64_t polynomial = 32;
    bool dequantizes = llvm::any_of(op->getOperands(), [](Value v) { return isInt8(v) && !scalarConstant(v); });
    return dequantizes ? 1 : graph::elementCost(op).operations + (graph::isTranscendental(*op) ? polynomial : 0);
  }

  /// Returns true if the table lookup is faster than the ops that it replaces. Because the costs
  /// are estimates, the lookup must be cheaper by a factor of 7/4. Each kernel has its own table,
  /// so a lookup pays only for tensors with many elements.
  static bool isFaster(const Dependents &dependents) {
    constexpr int64_t whole = 100, fewElements = 2048;
    if (graph::numElements(graph::getDims(dependents.input)).constant().value_or(fewElements) < fewElements)
      return false;
    int64_t computed = 0;
    for (Operation *op : dependents.ops)
      computed += whole * instructions(op);
    Operation *first = dependents.ops.front();
    int64_t lanes = plan::vectorLanes(first), each = plan::costsOf(first).getLaneLoadCost();
    return computed > int64_t(dependents.outputs.size()) * lanes * each * 7 / 4;
  }

  /// Returns a program that evaluates the ops of `all` for every 8-bit integer and returns the
  /// tables.
  OwningOpRef<ModuleOp> program(ArrayRef<Dependents> all) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
    OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
    auto over = [](Value value) { return RankedTensorType::get({kNumValues}, graph::getElementType(value)); };
    SmallVector<Type> types;
    for (const Dependents &dependents : all)
      for (Operation *op : dependents.outputs)
        types.push_back(over(op->getResult(0)));
    auto main = func::FuncOp::create(b, function.getLoc(), "main", b.getFunctionType({}, types));
    b.setInsertionPointToEnd(main.addEntryBlock());
    SmallVector<Value> tables;
    for (const Dependents &dependents : all) {
      Location loc = dependents.input.getLoc();
      IRMapping mapping;
      mapping.map(dependents.input, graph::makeConstant(b, loc, allValues(over(dependents.input))));
      for (Operation *op : dependents.ops) {
        for (Value operand : op->getOperands())
          if (DenseElementsAttr number = scalarConstant(operand); number && !mapping.contains(operand))
            mapping.map(operand, graph::makeConstant(
                                     b, loc, number.reshape(RankedTensorType::get({}, number.getElementType()))));
        Operation *copy = b.clone(*op, mapping);
        // Remove the attribute of the fusion group and the dims from the cloned op. They do not
        // apply in the program that computes the table.
        copy->setDiscardableAttrs(b.getDictionaryAttr({}));
        copy->getResult(0).setType(over(op->getResult(0)));
      }
      for (Operation *op : dependents.outputs)
        tables.push_back(mapping.lookup(op->getResult(0)));
    }
    func::ReturnOp::create(b, function.getLoc(), tables);
    return module;
  }

  /// Returns all 256 values of an 8-bit type in ascending order.
  static DenseElementsAttr allValues(RankedTensorType type) {
    std::vector<char> bytes;
    int64_t smallest = type.getElementType().isUnsignedInteger() ? 0 : -(kNumValues / 2);
    for (int64_t i = 0; i < kNumValues; ++i)
      bytes.push_back(char(smallest + i));
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  }

  static void replace(Operation *op, Value input, ArrayRef<char> bytes) {
    OpBuilder b(op);
    Value result = op->getResult(0);
    auto type = RankedTensorType::get({kNumValues}, graph::getElementType(result));
    graph::Composer c(b, op->getLoc());
    Value made = graph::composeMapCodes(c, input, DenseElementsAttr::getFromRawBuffer(type, bytes));
    // the table lookup gets the layout of the value that it replaces
    made.setType(result.getType());
    for (StringRef name : {kGroupAttr, kWhyAttr})
      if (Attribute attribute = op->getAttr(name))
        made.getDefiningOp()->setAttr(name, attribute);
    result.replaceAllUsesWith(made);
  }
};

struct FoldToLookupTablePass : impl::FoldToLookupTablePassBase<FoldToLookupTablePass> {
  void runOnOperation() override {
    plan::TargetAttr target = plan::targetOf(getOperation());
    const graph::ConstantEvaluator &evaluate = graph::evaluatorOf(&getContext());
    if (evaluate && target && target.getVectorCosts())
      LookupTableRewriter(getOperation(), evaluate).run();
  }
};

} // namespace

} // namespace hewn
