// SPDX-License-Identifier: Apache-2.0
//
// Constants, symbols and control flow.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult ConstantOp::verify() {
  auto type = cast<TensorType>(getResult().getType());
  auto ranked = dyn_cast<RankedTensorType>(type);
  auto elements = dyn_cast<ElementsAttr>(getValue());
  // Elements in another order are as many as that stores.
  if (!elements || (ranked && ranked.getEncoding()))
    return success();
  if (elements.getShapedType().getShape() != type.getShape() || elements.getElementType() != type.getElementType())
    return emitOpError() << "has elements of " << elements.getShapedType() << ", and is of " << type;
  return success();
}

LogicalResult ReadSymbolOp::verify() {
  auto type = cast<TensorType>(getTensor().getType());
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  if (!integer || integer.getWidth() < 8)
    return emitOpError() << "reads an integer, and no element of " << type;
  if (!type.hasStaticShape() || getIndex() >= uint64_t(type.getNumElements()))
    return emitOpError() << "reads element " << getIndex() << " of " << type << ", which has no such one for sure";
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
    return emitOpError("values are no list of integers and expressions");
  results.push_back({Dims{DimExpr(int64_t(getValues().size()))}, IntegerType::get(getContext(), 64)});
  return success();
}

LogicalResult ScratchOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> dims = parseDims(getShape());
  if (!dims)
    return emitOpError("shape is no list of integers and expressions");
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
