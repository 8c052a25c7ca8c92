// SPDX-License-Identifier: Apache-2.0
//
// Verification of constants, symbols and fusion groups.
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult ConstantOp::verify() {
  auto type = cast<TensorType>(getResult().getType());
  auto ranked = dyn_cast<RankedTensorType>(type);
  auto elements = dyn_cast<ElementsAttr>(getValue());
  if (auto weight = dyn_cast<WeightAttr>(getValue())) {
    // passes read all elements of a weight without a check
    std::optional<int64_t> elements =
        type.hasStaticShape() ? storedElements(ranked, getDims(getResult())).constant() : std::nullopt;
    int64_t bits = type.getElementTypeBitWidth(), bytes = 0;
    if (!elements || llvm::MulOverflow(*elements, std::max<int64_t>(bits, bits < 4 ? 8 : bits), bytes) ||
        weight.getOffset() < 0 || weight.getBytes() < int64_t(llvm::divideCeil(uint64_t(bytes), 8)))
      return emitOpError() << "has a weight of " << weight.getBytes() << " bytes, which are too few for " << type;
    return success();
  }
  // Does not check the stored elements of a constant whose layout is not row-major, because they
  // may include padding.
  if (!elements || (ranked && ranked.getEncoding()))
    return success();
  if (elements.getShapedType().getShape() != type.getShape() || elements.getElementType() != type.getElementType())
    return emitOpError() << "has elements of type " << elements.getShapedType() << ", but the result type is " << type;
  return success();
}

LogicalResult ReadSymbolOp::verify() {
  auto type = cast<TensorType>(getTensor().getType());
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  if (!integer || integer.getWidth() < 8)
    return emitOpError() << "requires an integer tensor of at least 8 bits, not " << type;
  if (!type.hasStaticShape() || getIndex() >= uint64_t(type.getNumElements()))
    return emitOpError() << "element " << getIndex() << " may be out of bounds for " << type;
  return success();
}

LogicalResult GroupOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has arguments of other types than its inputs");
  if (block.getTerminator()->getOperandTypes() != getOutputs().getTypes())
    return emitOpError("yields values of other types than its outputs");
  return success();
}

LogicalResult DimValueOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!parseDims(getValues()))
    return emitOpError("values must be a list of integers and expressions");
  results.push_back({Dims{DimExpr(int64_t(getValues().size()))}, IntegerType::get(getContext(), 64)});
  return success();
}

LogicalResult ScratchOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> dims = parseDims(getShape());
  if (!dims)
    return emitOpError("shape must be a list of integers and expressions");
  results.push_back({*dims, getOf()});
  return success();
}

Value ScratchOp::emitAt(ElementBuilder &e, ArrayRef<Index>) { return e.constantElement(getOf(), 0); }

Value DimValueOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims values = *parseDims(getValues());
  if (values.empty())
    return e.constantElement(e.b.getI64Type(), 0);
  Index chosen = e.expression(values.back());
  for (unsigned i = values.size() - 1; i-- > 0;)
    chosen = e.select(e.compare(arith::CmpIPredicate::eq, at[0], e.constant(i)), e.expression(values[i]), chosen);
  return e.toElement(chosen, e.b.getI64Type());
}

} // namespace hewn::graph
