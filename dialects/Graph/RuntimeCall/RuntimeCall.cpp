// SPDX-License-Identifier: Apache-2.0
//
// Runtime calls whose result dims do not depend on data, and the import of their ONNX nodes.
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/RuntimeCall/RuntimeCallOps.h"

using namespace mlir;

namespace hewn::graph {

bool isOrdered(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() == 1 || integer.getWidth() >= 8;
  return type.isF32() || type.isF64() || type.isF16() || type.isBF16();
}

Operation *makePart(OnnxNode &node, StringRef name, ValueRange operands, ArrayRef<NamedAttribute> attributes,
                    unsigned numResults) {
  if (llvm::any_of(operands, [](Value v) { return !v; }))
    return nullptr;
  OperationState state(node.loc, name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  // The op is created with placeholder types, which are replaced when it infers its result types.
  state.types.assign(numResults, RankedTensorType::get({}, node.b.getF32Type()));
  Operation *op = node.b.create(state);
  if (succeeded(inferResults(op)))
    return op;
  op->erase();
  return nullptr;
}

LogicalResult setOutputs(OnnxNode &node, Operation *op) {
  if (!op)
    return failure();
  for (OpResult result : op->getResults())
    node.setOutput(result.getResultNumber(), result);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// TopK
//===------------------------------------------------------------------------------------------===//

LogicalResult TopKOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  std::optional<Dims> k = parseDims(getK());
  std::optional<int64_t> axis = normalizeAxis(getAxis(), dims.size());
  if (!k || k->size() != 1 || !axis)
    return emitOpError("needs one k, and an axis within rank ") << dims.size();
  if (!isOrdered(getElementType(getX())))
    return emitOpError("has elements without an order: ") << getElementType(getX());
  DimExpr &dim = dims[*axis];
  if (k->front().constant() &&
      (*k->front().constant() < 0 || *k->front().constant() > dim.constant().value_or(INT64_MAX)))
    return emitOpError("takes ") << k->front().str() << " of " << dim.str() << " elements";
  dim = k->front();
  results.push_back({dims, getElementType(getX())});
  results.push_back({dims, IntegerType::get(getContext(), 64)});
  return success();
}

void TopKOp::requireDims(Requirements &requirements) {
  Dims dims = getDims(getX());
  requirements.atMost(parseDims(getK())->front(), dims[*normalizeAxis(getAxis(), dims.size())]);
}

LogicalResult buildTopK(OnnxNode &node) {
  bool absent;
  std::optional<Dims> k = node.hasAttr("k") ? Dims{DimExpr(node.getInt("k", 0))} : intsOrRead(node, "K", 1, absent, 1);
  if (!k)
    return node.numInputs() < 2 ? node.refuse("needs k") : failure();
  if (k->size() != 1)
    return node.refuse("k must be a scalar");
  return setOutputs(node, makePart(node, TopKOp::getOperationName(), node.input(0),
                                   {node.attr("k", ArrayRef<DimExpr>(*k)), node.attr("axis", node.getInt("axis", -1)),
                                    node.attr("largest", node.b.getBoolAttr(node.getInt("largest", 1))),
                                    node.attr("sorted", node.b.getBoolAttr(node.getInt("sorted", 1)))},
                                   2));
}

//===------------------------------------------------------------------------------------------===//
// Det
//===------------------------------------------------------------------------------------------===//

LogicalResult DetOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  Type type = getElementType(getX());
  size_t rank = dims.size();
  if (rank < 2 || !isa<FloatType>(type) || !isOrdered(type))
    return emitOpError("needs matrices of floats");
  const DimExpr &rows = dims[rank - 2], &columns = dims[rank - 1];
  if (rows.constant() && columns.constant() && rows != columns)
    return emitOpError("takes square matrices, not ") << rows.str() << " x " << columns.str();
  dims.truncate(rank - 2);
  results.push_back({dims, type});
  return success();
}

void DetOp::requireDims(Requirements &requirements) {
  Dims dims = getDims(getX());
  requirements.equal(dims[dims.size() - 2], dims.back());
}

//===------------------------------------------------------------------------------------------===//
// Fourier transforms
//===------------------------------------------------------------------------------------------===//

LogicalResult FourierOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  Type type = getElementType(getX());
  std::optional<Dims> length = parseDims(getLength());
  int64_t axis = int64_t(getAxis()), rank = dims.size();
  if (!type.isF32() && !type.isF64())
    return emitOpError("needs elements of f32 or f64, not ") << type;
  if (!length || length->size() != 1 || axis < 0 || axis >= rank - 1)
    return emitOpError("needs one length, and an axis before the last of ") << rank << " dims";
  if (!(dims.back().is(1) || dims.back().is(2)))
    return emitOpError("needs a last dim of 1 or 2, not ") << dims.back().str();
  if (!getElementType(getN()).isSignlessInteger(64) || !numElements(dimsOf(getN())).is(1))
    return emitOpError("needs the length as an i64 scalar");
  dims[axis] = length->front();
  if (getOnesided() && !getInverse())
    dims[axis] = length->front().floorDiv(DimExpr(2)) + DimExpr(1);
  dims.back() = DimExpr(getOnesided() && getInverse() ? 1 : 2);
  results.push_back({dims, type});
  return success();
}

/// The runtime function checks the length, and crops or pads x.
void FourierOp::requireDims(Requirements &) {}

Value makeFourier(OnnxNode &node, Value x, int64_t axis, const DimExpr &length, bool inverse, bool onesided) {
  Composer c(node);
  Type type = getElementType(x);
  if (type.isF16() || type.isBF16())
    x = c.cast(x, node.b.getF32Type());
  Operation *op =
      makePart(node, FourierOp::getOperationName(), {x, c.number(length)},
               {node.attr("length", ArrayRef<DimExpr>(length)), node.attr("axis", axis),
                node.attr("inverse", node.b.getBoolAttr(inverse)), node.attr("onesided", node.b.getBoolAttr(onesided))},
               1);
  return op ? c.cast(op->getResult(0), type) : Value();
}

} // namespace hewn::graph
