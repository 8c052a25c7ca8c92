// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Cost.h"
#include "dialects/Graph/Graph.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;

namespace hewn::graph {

bool isTranscendental(Operation &op) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise)
    return false;
  Block scratch;
  OpBuilder build(op.getContext());
  build.setInsertionPointToStart(&scratch);
  SmallVector<Value> in;
  for (Value operand : op.getOperands())
    in.push_back(scratch.addArgument(computeType(getElementType(operand)), op.getLoc()));
  elementwise.emit(build, op.getLoc(), in);
  return llvm::any_of(scratch, [](Operation &emitted) {
    return isa_and_nonnull<math::MathDialect>(emitted.getDialect()) &&
           !isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp,
                math::CopySignOp, math::FmaOp>(emitted);
  });
}

namespace {

/// Emits an op's body into a scratch block to count its work: the operand elements that an indexing
/// op reads, and the operations on elements, which are counted apart from index arithmetic.
class ReadCounter : public ElementBuilder {
public:
  ReadCounter(Operation *op, OpBuilder &builder, Block &scratch)
      : ElementBuilder(builder, op->getLoc(), /*lanes=*/0), op(op), scratch(scratch) {
    cost.reads.resize(op->getNumOperands());
  }

  Value read(Value tensor, ArrayRef<Index> at) override {
    std::vector<const void *> key = {tensor.getAsOpaquePointer()};
    for (const Index &index : at)
      key.push_back(index.base.getAsOpaquePointer());
    Value &element = known[key];
    if (!element) {
      element = scratch.addArgument(computeType(getElementType(tensor)), loc);
      elements.insert(element);
      for (OpOperand &operand : op->getOpOperands())
        if (operand.get() == tensor) {
          ++cost.reads[operand.getOperandNumber()];
          break;
        }
    }
    return element;
  }
  Value readIf(Value inside, Value tensor, ArrayRef<Index> at, Value fill) override {
    return selectElement(inside, read(tensor, at), fill);
  }
  Index extent(Value tensor, unsigned dim) override { return expression(getDims(tensor)[dim]); }
  Index expression(const DimExpr &expr) override {
    if (std::optional<int64_t> value = expr.constant())
      return constant(*value);
    Value &symbol = symbols[expr.str()];
    if (!symbol)
      symbol = scratch.addArgument(b.getIndexType(), loc);
    return {symbol};
  }

  ElementCost finish() {
    for (Operation &emitted : scratch) {
      bool onElements = llvm::any_of(emitted.getOperands(), [&](Value v) { return elements.contains(v); });
      cost.operations += onElements;
      if (onElements)
        elements.insert(emitted.result_begin(), emitted.result_end());
    }
    return cost;
  }

private:
  Operation *op;
  Block &scratch;
  ElementCost cost;
  std::map<std::vector<const void *>, Value> known;
  llvm::StringMap<Value> symbols;
  llvm::DenseSet<Value> elements;
};

} // namespace

ElementCost elementCost(Operation *op) {
  Block scratch;
  OpBuilder build(op->getContext());
  build.setInsertionPointToStart(&scratch);
  if (auto move = dyn_cast<IndexingOpInterface>(op)) {
    ReadCounter counter(op, build, scratch);
    SmallVector<Index> at;
    for (int64_t d = 0, rank = getRank(op->getResult(0)); d < rank; ++d)
      at.push_back({scratch.addArgument(build.getIndexType(), op->getLoc())});
    move.emitAt(counter, at);
    return counter.finish();
  }
  ElementCost cost;
  cost.reads.assign(op->getNumOperands(), 1);
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op)) {
    SmallVector<Value> in;
    for (Value operand : op->getOperands())
      in.push_back(scratch.addArgument(computeType(getElementType(operand)), op->getLoc()));
    elementwise.emit(build, op->getLoc(), in);
    cost.operations = llvm::count_if(scratch, [](Operation &emitted) { return emitted.getNumOperands() > 0; });
  }
  return cost;
}

} // namespace hewn::graph
