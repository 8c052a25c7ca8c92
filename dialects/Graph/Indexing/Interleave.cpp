// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Indexing/Interleave.h"
#include "dialects/Graph/Analysis/BatchRule.h"
#include "dialects/Handle/Handle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

#include "dialects/Graph/Indexing/InterleaveInterface.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Graph/Indexing/Interleave.cpp.inc"

namespace hewn::graph {

int64_t Assembly::numInterleaved() const {
  uint64_t count = 1;
  for (int64_t step : steps)
    count = llvm::SaturatingMultiply(count, uint64_t(step));
  return int64_t(std::min(count, uint64_t(INT64_MAX)));
}

SmallVector<int64_t> Assembly::firstOf(int64_t number) const {
  SmallVector<int64_t> first(steps);
  for (int64_t &place : llvm::reverse(first)) {
    int64_t step = place;
    place = number % step;
    number /= step;
  }
  return first;
}

DimExpr Assembly::lengthOf(const DimExpr &whole, int64_t first, int64_t step) {
  return (whole - DimExpr(first)).ceilDiv(DimExpr(step));
}

std::optional<Assembly> assemblyOf(Operation *op) {
  if (auto interleave = dyn_cast_or_null<InterleaveOpInterface>(op))
    return Assembly{0, interleave.getInterleaveSteps()};
  if (auto concat = dyn_cast_or_null<ConcatOpInterface>(op))
    return Assembly{concat.getConcatDim()};
  return std::nullopt;
}

LogicalResult InterleaveOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> shape = parseDims(getShape());
  if (!shape)
    return emitOpError("shape must be a list of integers and expressions");
  Assembly assembly{0, llvm::to_vector(getSteps())};
  if (getInputs().empty() || getSteps().size() != shape->size() ||
      llvm::any_of(getSteps(), [](int64_t step) { return step < 1; }) ||
      assembly.numInterleaved() != int64_t(getInputs().size()))
    return emitOpError("needs a positive step for each dim, and as many operands as their product");
  for (auto [number, input] : llvm::enumerate(getInputs())) {
    Dims dims = dimsOf(input);
    if (dims.size() != shape->size() || getElementType(input) != getElementType(getInputs()[0]))
      return emitOpError("operands differ in rank or type");
    SmallVector<int64_t> first = assembly.firstOf(int64_t(number));
    for (auto [d, dim] : llvm::enumerate(dims)) {
      DimExpr own = Assembly::lengthOf((*shape)[d], first[d], getSteps()[d]);
      bool known = dim.constant() && own.constant();
      if (known && (getSteps()[d] == 1 ? dim != own : *dim.constant() < *own.constant()))
        return emitOpError() << "operand " << number << " has " << dim.str() << " elements along dim " << d
                             << ", but the result needs " << own.str();
    }
  }
  results.push_back({*shape, getElementType(getInputs()[0])});
  return success();
}

SmallVector<int64_t> InterleaveOp::getInterleaveSteps() { return llvm::to_vector(getSteps()); }

std::optional<ShardingRule> InterleaveOp::getShardingRule(const DimSharding &cut, const ShardCount &parts) {
  if (int64_t(getSteps().size()) <= cut.dim || getSteps()[cut.dim] != 1)
    return std::nullopt;
  ShardingRule form{{}, withPart(*this, "shape", cut, parts)};
  form.operands.assign(getInputs().size(), cut);
  return form;
}

Value InterleaveOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Assembly assembly{0, getInterleaveSteps()};
  SmallVector<Index> from(at), turn(at);
  if (std::optional<ElementBuilder::Subview> subview = e.subviewOf(*this)) {
    SmallVector<int64_t> first = assembly.firstOf(subview->operand);
    for (auto [d, step] : llvm::enumerate(assembly.steps))
      if (step != 1)
        from[d] = e.floorDiv(e.sub(at[d], e.constant(first[d])), e.constant(step));
    return e.read(getInputs()[subview->operand], from);
  }
  for (auto [d, step] : llvm::enumerate(assembly.steps))
    if (step != 1) {
      from[d] = e.floorDiv(at[d], e.constant(step));
      turn[d] = e.mod(at[d], e.constant(step));
    }
  Value result;
  for (unsigned k = getInputs().size(); k-- > 0;) {
    SmallVector<int64_t> first = assembly.firstOf(k);
    Value inside;
    for (auto [d, step] : llvm::enumerate(assembly.steps))
      if (step != 1) {
        inside = e.logicalAnd(inside, e.compare(arith::CmpIPredicate::eq, turn[d], e.constant(first[d])));
        inside = e.logicalAnd(inside, e.inBounds(from[d], e.extent(getInputs()[k], d)));
      }
    Value fill = result ? result : e.constantElement(getElementType(getResult()), 0);
    result = inside ? e.readIf(inside, getInputs()[k], from, fill) : e.read(getInputs()[k], from);
  }
  return result;
}

} // namespace hewn::graph
