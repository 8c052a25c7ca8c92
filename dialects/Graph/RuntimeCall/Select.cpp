// SPDX-License-Identifier: Apache-2.0
//
// Runtime calls whose result dims depend on data, and the import of their ONNX nodes.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"
#include "dialects/Graph/RuntimeCall/SelectOps.h"

using namespace mlir;

namespace hewn::graph {

static Type int64Of(Operation *op) { return IntegerType::get(op->getContext(), 64); }

/// Returns the dims of x with dim `axis` replaced by `count`. Without an axis, `count` is the only
/// dim. Fails after an error if the axis is invalid.
static FailureOr<Dims> selected(Operation *op, Dims dims, std::optional<int64_t> axis, const DimExpr &count) {
  if (!axis)
    return Dims{count};
  std::optional<int64_t> known = normalizeAxis(*axis, dims.size());
  if (!known)
    return op->emitOpError("axis ") << *axis << " is outside of rank " << dims.size();
  dims[*known] = count;
  return dims;
}

/// Returns an upper bound of the result dims of a data-dependent op: the dims if all elements of x
/// are selected.
static Dims unselected(const Dims &dims, std::optional<int64_t> axis) { return axis ? dims : Dims{numElements(dims)}; }

static NamedAttribute freshCount(OnnxNode &node) {
  return node.attr("count", node.b.getStringAttr(node.freshDim().str()));
}

//===------------------------------------------------------------------------------------------===//
// NonZero
//===------------------------------------------------------------------------------------------===//

LogicalResult NonZeroOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!isOrdered(getElementType(getX())))
    return emitOpError("cannot compare elements with zero: type ") << getElementType(getX());
  results.push_back({{DimExpr(int64_t(dimsOf(getX()).size())), DimExpr::symbol(getCount())}, int64Of(*this)});
  return success();
}

SmallVector<Dims> NonZeroOp::getBoundDims(DimsOf dimsOf) {
  Dims dims = dimsOf(getX());
  return {{DimExpr(int64_t(dims.size())), numElements(dims)}};
}

void NonZeroOp::requireDims(Requirements &) {}

/// Returns the indices of the non-zero elements of x as a constant, or null if the elements are not
/// known at compile time.
static Value knownPositions(OnnxNode &node, const Dims &elements) {
  auto shape = cast<RankedTensorType>(node.input(0).getType()).getShape();
  SmallVector<int64_t> found;
  for (auto [i, element] : llvm::enumerate(elements)) {
    if (!element.constant())
      return {};
    if (!element.is(0))
      found.push_back(int64_t(i));
  }
  SmallVector<int64_t> rows;
  for (size_t d = 0, rank = shape.size(); d < rank; ++d)
    for (int64_t linear : found)
      rows.push_back(linear / ShapedType::getNumElements(shape.drop_front(d + 1)) % shape[d]);
  auto type = RankedTensorType::get({int64_t(shape.size()), int64_t(found.size())}, node.b.getI64Type());
  return makeConstant(node.b, node.loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(rows)));
}

LogicalResult buildNonZero(OnnxNode &node) {
  if (std::optional<Dims> known = node.contents(node.input(0)))
    if (Value positions = knownPositions(node, *known))
      return node.finish(positions);
  return setOutputs(node, makePart(node, NonZeroOp::getOperationName(), node.input(0), freshCount(node), 1));
}

//===------------------------------------------------------------------------------------------===//
// Compress
//===------------------------------------------------------------------------------------------===//

LogicalResult CompressOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Type type = getElementType(getX());
  if (!getElementType(getCondition()).isInteger(1) || dimsOf(getCondition()).size() != 1)
    return emitOpError("the condition must be a 1-D bool tensor");
  if (type.isIntOrFloat() && type.getIntOrFloatBitWidth() < 8 && !type.isInteger(1))
    return emitOpError("does not support elements below 8 bits: ") << type;
  FailureOr<Dims> dims = selected(*this, dimsOf(getX()), getAxis(), DimExpr::symbol(getCount()));
  if (failed(dims))
    return failure();
  results.push_back({*dims, type});
  return success();
}

SmallVector<Dims> CompressOp::getBoundDims(DimsOf dimsOf) { return {unselected(dimsOf(getX()), getAxis())}; }

/// The condition must not be longer than the dim; it may be shorter.
void CompressOp::requireDims(Requirements &requirements) {
  Dims dims = getDims(getX());
  DimExpr most = getAxis() ? dims[*normalizeAxis(*getAxis(), dims.size())] : numElements(dims);
  requirements.atMost(getDims(getCondition())[0], most);
}

LogicalResult buildCompress(OnnxNode &node) {
  SmallVector<NamedAttribute> attributes = {freshCount(node)};
  if (node.hasAttr("axis"))
    attributes.push_back(node.attr("axis", node.getInt("axis", 0)));
  return setOutputs(node,
                    makePart(node, CompressOp::getOperationName(), {node.input(0), node.input(1)}, attributes, 1));
}

//===------------------------------------------------------------------------------------------===//
// Unique
//===------------------------------------------------------------------------------------------===//

LogicalResult UniqueOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims x = dimsOf(getX());
  DimExpr count = DimExpr::symbol(getCount());
  if (!isOrdered(getElementType(getX())))
    return emitOpError("can't compare elements of type ") << getElementType(getX());
  FailureOr<Dims> dims = selected(*this, x, getAxis(), count);
  if (failed(dims))
    return failure();
  results.push_back({*dims, getElementType(getX())});
  DimExpr all = getAxis() ? x[*normalizeAxis(*getAxis(), x.size())] : numElements(x);
  if (getIndices())
    results.push_back({{count}, int64Of(*this)});
  if (getInverse())
    results.push_back({{all}, int64Of(*this)});
  if (getCounts())
    results.push_back({{count}, int64Of(*this)});
  return success();
}

SmallVector<Dims> UniqueOp::getBoundDims(DimsOf dimsOf) {
  Dims x = dimsOf(getX());
  DimExpr all = getAxis() ? x[*normalizeAxis(*getAxis(), x.size())] : numElements(x);
  SmallVector<Dims> bounds((*this)->getNumResults(), Dims{all});
  bounds[0] = unselected(x, getAxis());
  return bounds;
}

void UniqueOp::requireDims(Requirements &) {}

LogicalResult buildUnique(OnnxNode &node) {
  SmallVector<int32_t> segments = {1};
  SmallVector<unsigned> outputs = {0};
  for (unsigned i : {1, 2, 3}) {
    segments.push_back(node.wantsOutput(i));
    if (node.wantsOutput(i))
      outputs.push_back(i);
  }
  SmallVector<NamedAttribute> attributes = {freshCount(node),
                                            node.attr("sorted", node.b.getBoolAttr(node.getInt("sorted", 1))),
                                            node.attr("resultSegmentSizes", node.b.getDenseI32ArrayAttr(segments))};
  if (node.hasAttr("axis"))
    attributes.push_back(node.attr("axis", node.getInt("axis", 0)));
  Operation *op = makePart(node, UniqueOp::getOperationName(), node.input(0), attributes, outputs.size());
  if (!op)
    return failure();
  for (auto [output, result] : llvm::zip(outputs, op->getResults()))
    node.setOutput(output, result);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// NonMaxSuppression
//===------------------------------------------------------------------------------------------===//

LogicalResult NonMaxSuppressionOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims boxes = dimsOf(getBoxes()), scores = dimsOf(getScores());
  if (boxes.size() != 3 || scores.size() != 3 || !boxes[2].is(4) || !getElementType(getBoxes()).isF32() ||
      !getElementType(getScores()).isF32())
    return emitOpError("needs boxes [batch, n, 4] and scores [batch, classes, n] of f32");
  auto isNumber = [&](Value v, Type type) { return !v || (getElementType(v) == type && numElements(dimsOf(v)).is(1)); };
  Type f32 = Float32Type::get(getContext());
  if (!isNumber(getLimit(), int64Of(*this)) || !isNumber(getOverlap(), f32) || !isNumber(getThreshold(), f32))
    return emitOpError("limits must be scalars: one i64 and two f32");
  results.push_back({{DimExpr::symbol(getCount()), DimExpr(3)}, int64Of(*this)});
  return success();
}

SmallVector<Dims> NonMaxSuppressionOp::getBoundDims(DimsOf dimsOf) {
  Dims scores = dimsOf(getScores());
  DimExpr each = scores[2];
  if (!getLimit())
    each = DimExpr(0);
  else if (getMaxPerClass())
    each = DimExpr::min(each, DimExpr(std::max<int64_t>(int64_t(*getMaxPerClass()), 0)));
  return {{scores[0] * scores[1] * each, DimExpr(3)}};
}

void NonMaxSuppressionOp::requireDims(Requirements &requirements) {
  Dims boxes = getDims(getBoxes()), scores = getDims(getScores());
  requirements.equal(boxes[0], scores[0]);
  requirements.equal(boxes[1], scores[2]);
}

LogicalResult buildNonMaxSuppression(OnnxNode &node) {
  SmallVector<Value> operands;
  SmallVector<int32_t> segments;
  for (unsigned i = 0; i < 5; ++i) {
    segments.push_back(node.input(i) ? 1 : 0);
    if (node.input(i))
      operands.push_back(node.input(i));
    else if (i < 2)
      return node.refuse("lacks input " + Twine(i));
  }
  std::optional<SmallVector<double>> overlap =
      node.input(3) ? node.floatContents(node.input(3)) : std::optional<SmallVector<double>>();
  if (overlap && overlap->size() == 1 && !(overlap->front() >= 0 && overlap->front() <= 1))
    return node.refuse("iou_threshold is outside of [0, 1]");
  SmallVector<NamedAttribute> attributes = {
      freshCount(node), node.attr("centered", node.b.getBoolAttr(node.getInt("center_point_box", 0))),
      node.attr("operandSegmentSizes", node.b.getDenseI32ArrayAttr(segments))};
  if (std::optional<Dims> most = node.input(2) ? node.contents(node.input(2)) : std::nullopt;
      most && most->size() == 1 && most->front().constant())
    attributes.push_back(node.attr("maxPerClass", *most->front().constant()));
  return setOutputs(node, makePart(node, NonMaxSuppressionOp::getOperationName(), operands, attributes, 1));
}

} // namespace hewn::graph
