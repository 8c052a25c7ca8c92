// SPDX-License-Identifier: Apache-2.0
//
// Looks up what a group makes of one integer of 8 bits.
//
//     %f = graph.dequantize %q, %scale, %zero
//     %s = graph.sigmoid %f                              →     %r = graph.map_codes %q {table = [...]}
//     %r = graph.quantize %s, %other, %zero
//
// There are 256 such integers, and the evaluator that folds constants computes each op between for all of them now. Tabulated are values of a group
// that depend on a single tensor of such integers and on scalar constants. Where a chain quantizes several times, that tensor is the first one of the
// chain, so that the whole chain is one table. A lookup takes a scalar load for each lane, which is slow beside wide vectors, so the ops must be worth
// it: docs/decisions/kernels/tables-of-codes.md.
//
// Left alone: values of other dims than the integer's, of other types than float32 and integers of 8 or 16 bits, groups on grids of threads.
#include "dialects/Graph/Analysis/Cost.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Transforms/Fuse/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_TABULATECODESPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

constexpr int64_t kCodes = 256;

bool isCode(Value value) { return graph::getElementType(value).isInteger(8); }

bool isTabulated(Value value) {
  Type type = graph::getElementType(value);
  return type.isF32() || type.isInteger(8) || type.isInteger(16);
}

/// The number that the value is throughout, where the text has it; null: none.
DenseElementsAttr numberOf(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.getNumElements() == 1 ? elements : DenseElementsAttr();
}

/// What one group makes of one integer, in the order of the block.
struct Dependents {
  Value code;
  SmallVector<Operation *> ops;
  /// Results that others read too.
  SmallVector<Operation *> read;
};

class Tabulator {
public:
  Tabulator(func::FuncOp function, const ConstantEvaluator &evaluate) : function(function), evaluate(evaluate) {}

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
        for (Operation *op : dependents.read)
          replace(op, dependents.code, (*tables)[table++]);
    for (const Dependents &dependents : all)
      for (Operation *op : llvm::reverse(dependents.ops))
        if (op->use_empty())
          op->erase();
  }

private:
  func::FuncOp function;
  const ConstantEvaluator &evaluate;

  /// The integer of the same dims that the op's result depends on alone within its group; null: none.
  static Value codeOf(Operation *op, const llvm::DenseMap<Operation *, Value> &known) {
    if (!isa<graph::ElementwiseOpInterface>(op) || op->getNumResults() != 1 || !groupOf(op))
      return {};
    Value code;
    for (Value operand : op->getOperands()) {
      if (numberOf(operand))
        continue;
      Operation *by = operand.getDefiningOp();
      Value of = by && groupOf(by) == groupOf(op) ? known.lookup(by) : Value();
      if (!of && isCode(operand))
        of = operand;
      if (!of || (code && of != code))
        return {};
      code = of;
    }
    return code && graph::getDims(code) == graph::getDims(op->getResult(0)) ? code : Value();
  }

  static void collect(Block &block, SmallVector<Dependents> &all) {
    llvm::DenseMap<Operation *, Value> codes;
    llvm::MapVector<std::pair<Value, Attribute>, Dependents> found;
    for (Operation &op : block)
      if (Value code = codeOf(&op, codes)) {
        codes[&op] = code;
        Dependents &dependents = found[{code, groupOf(&op)}];
        dependents.code = code;
        dependents.ops.push_back(&op);
      }
    for (auto &[key, dependents] : found) {
      for (Operation *op : dependents.ops)
        if (llvm::any_of(op->getUsers(), [&](Operation *user) {
              return codes.lookup(user) != key.first || groupOf(user) != groupOf(op);
            }))
          dependents.read.push_back(op);
      if (llvm::all_of(dependents.read, [](Operation *op) { return isTabulated(op->getResult(0)); }))
        all.push_back(std::move(dependents));
    }
  }

  /// Instructions for a vector. A number that is rounded and read again never is an integer (hewn-quantize-by-reciprocal), and what a function
  /// of the C library stands for is a polynomial and, mostly, a division.
  static int64_t instructions(Operation *op) {
    constexpr int64_t polynomial = 32;
    bool widens = llvm::any_of(op->getOperands(), [](Value v) { return isCode(v) && !numberOf(v); });
    return widens ? 1 : graph::elementCost(op).operations + (graph::isTranscendental(*op) ? polynomial : 0);
  }

  /// Costs are estimates, so a table must be cheaper by a margin of 7/4. A table belongs to one kernel and other kernels do not share it: it does not
  /// pay for few elements.
  static bool isFaster(const Dependents &dependents) {
    constexpr int64_t whole = 100, fewElements = 2048;
    if (graph::numElements(graph::getDims(dependents.code)).constant().value_or(fewElements) < fewElements)
      return false;
    int64_t computed = 0;
    for (Operation *op : dependents.ops)
      computed += whole * instructions(op);
    Operation *first = dependents.ops.front();
    int64_t lanes = plan::vectorLanes(first), each = plan::costsOf(first).getLaneLoadCost();
    return computed > int64_t(dependents.read.size()) * lanes * each * 7 / 4;
  }

  /// A program that gives the tables.
  OwningOpRef<ModuleOp> program(ArrayRef<Dependents> all) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
    OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
    auto over = [](Value value) { return RankedTensorType::get({kCodes}, graph::getElementType(value)); };
    SmallVector<Type> types;
    for (const Dependents &dependents : all)
      for (Operation *op : dependents.read)
        types.push_back(over(op->getResult(0)));
    auto main = func::FuncOp::create(b, function.getLoc(), "main", b.getFunctionType({}, types));
    b.setInsertionPointToEnd(main.addEntryBlock());
    SmallVector<Value> tables;
    for (const Dependents &dependents : all) {
      Location loc = dependents.code.getLoc();
      IRMapping mapping;
      mapping.map(dependents.code, graph::makeConstant(b, loc, everyCode(over(dependents.code))));
      for (Operation *op : dependents.ops) {
        for (Value operand : op->getOperands())
          if (DenseElementsAttr number = numberOf(operand); number && !mapping.contains(operand))
            mapping.map(operand, graph::makeConstant(
                                     b, loc, number.reshape(RankedTensorType::get({}, number.getElementType()))));
        Operation *copy = b.clone(*op, mapping);
        copy->setDiscardableAttrs(b.getDictionaryAttr({})); // its group, and dims that it has no more
        copy->getResult(0).setType(over(op->getResult(0)));
      }
      for (Operation *op : dependents.read)
        tables.push_back(mapping.lookup(op->getResult(0)));
    }
    func::ReturnOp::create(b, function.getLoc(), tables);
    return module;
  }

  /// The smallest first.
  static DenseElementsAttr everyCode(RankedTensorType type) {
    std::vector<char> bytes;
    int64_t smallest = type.getElementType().isUnsignedInteger() ? 0 : -(kCodes / 2);
    for (int64_t i = 0; i < kCodes; ++i)
      bytes.push_back(char(smallest + i));
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  }

  static void replace(Operation *op, Value code, ArrayRef<char> bytes) {
    OpBuilder b(op);
    Value result = op->getResult(0);
    auto type = RankedTensorType::get({kCodes}, graph::getElementType(result));
    graph::Composer c(b, op->getLoc());
    Value made = graph::composeMapCodes(c, code, DenseElementsAttr::getFromRawBuffer(type, bytes));
    made.setType(result.getType()); // in the order of dims in which the replaced one lies
    for (StringRef name : {kGroupAttr, kWhyAttr})
      if (Attribute attribute = op->getAttr(name))
        made.getDefiningOp()->setAttr(name, attribute);
    result.replaceAllUsesWith(made);
  }
};

struct TabulateCodesPass : impl::TabulateCodesPassBase<TabulateCodesPass> {
  TabulateCodesPass() = default;
  explicit TabulateCodesPass(ConstantEvaluator evaluate) : evaluate(std::move(evaluate)) {}
  void runOnOperation() override {
    plan::TargetAttr target = plan::targetOf(getOperation());
    if (evaluate && target && target.getCosts() && !target.getGrid())
      Tabulator(getOperation(), evaluate).run();
  }
  ConstantEvaluator evaluate;
};

} // namespace

std::unique_ptr<Pass> createTabulateCodesPass(ConstantEvaluator evaluate) {
  return std::make_unique<TabulateCodesPass>(std::move(evaluate));
}

} // namespace hewn
