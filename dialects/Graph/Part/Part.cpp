// SPDX-License-Identifier: Apache-2.0
//
// Parts whose results have known shapes, and their import.
#include "dialects/Graph/Part/Part.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Part/PartOps.h"

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
  // Stand-ins until the op itself has said what its results are.
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

//===------------------------------------------------------------------------------------------------------------------===//
// TopK
//===------------------------------------------------------------------------------------------------------------------===//

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
  std::optional<Dims> k = node.hasAttr("k") ? Dims{DimExpr(node.getInt("k", 0))} : intsOrRead(node, "K", 1, absent);
  if (!k)
    return node.numInputs() < 2 ? node.refuse("needs k") : failure();
  if (k->size() != 1)
    return node.refuse("k is no single number");
  return setOutputs(node, makePart(node, TopKOp::getOperationName(), node.input(0),
                                   {node.attr("k", ArrayRef<DimExpr>(*k)), node.attr("axis", node.getInt("axis", -1)),
                                    node.attr("largest", node.b.getBoolAttr(node.getInt("largest", 1))),
                                    node.attr("sorted", node.b.getBoolAttr(node.getInt("sorted", 1)))},
                                   2));
}

//===------------------------------------------------------------------------------------------------------------------===//
// Det
//===------------------------------------------------------------------------------------------------------------------===//

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

} // namespace hewn::graph
