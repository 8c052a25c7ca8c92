// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Indexing/Scatter.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Indexing/ScatterOps.h"
#include "dialects/Handle/Handle.h"

using namespace mlir;

namespace hewn::graph {

int64_t scatterReduction(StringRef name) {
  return llvm::StringSwitch<int64_t>(name)
      .Case("none", 0)
      .Case("add", 1)
      .Case("mul", 2)
      .Case("max", 3)
      .Case("min", 4)
      .Default(-1);
}

int64_t floatBits(const APFloat &value) { return int64_t(value.bitcastToAPInt().getZExtValue() & 0xffffffffu); }

//===------------------------------------------------------------------------------------------===//
// Scatters
//===------------------------------------------------------------------------------------------===//

/// Returns true if the sizes of two dims are proven to differ.
static bool differ(const DimExpr &a, const DimExpr &b) { return a.constant() && b.constant() && a != b; }

static LogicalResult verifyScatter(Operation *op, StringRef reduction) {
  if (scatterReduction(reduction) < 0)
    return op->emitOpError() << "reduction '" << reduction << "' is none of none, add, mul, max, min";
  if (reduction != "none" && handle::isHandle(getElementType(op->getOperand(0))))
    return op->emitOpError("a reduction does not support strings");
  Type index = getElementType(op->getOperand(1));
  if (!index.isInteger(32) && !index.isInteger(64))
    return op->emitOpError("indices must be 32- or 64-bit integers");
  if (getElementType(op->getOperand(0)) != getElementType(op->getOperand(2)))
    return op->emitOpError("operand and updates differ in element type");
  return success();
}

LogicalResult ScatterElementsOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX()), indices = dimsOf(getIndices()), updates = dimsOf(getUpdates());
  if (failed(verifyScatter(*this, getReduction())))
    return failure();
  if (dims.empty() || indices.size() != dims.size() || updates.size() != dims.size() ||
      !normalizeAxis(getAxis(), dims.size()))
    return emitOpError("operand, indices and updates must have equal ranks, and the axis must be valid");
  for (auto [d, index] : llvm::enumerate(indices)) {
    if (differ(index, updates[d]))
      return emitOpError() << "indices and updates differ in dim " << d;
    if (int64_t(d) != *normalizeAxis(getAxis(), dims.size()) && index.constant() && dims[d].constant() &&
        *index.constant() > *dims[d].constant())
      return emitOpError() << "indices are larger than the operand in dim " << d;
  }
  results.push_back({dims, getElementType(getX())});
  return success();
}

void ScatterElementsOp::requireDims(Requirements &requirements) {
  Dims dims = getDims(getX()), indices = getDims(getIndices()), updates = getDims(getUpdates());
  for (auto [d, index] : llvm::enumerate(indices)) {
    requirements.equal(updates[d], index);
    if (int64_t(d) != *normalizeAxis(getAxis(), dims.size()))
      requirements.atMost(index, dims[d]);
  }
}

LogicalResult ScatterNDOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX()), indices = dimsOf(getIndices()), updates = dimsOf(getUpdates());
  if (failed(verifyScatter(*this, getReduction())))
    return failure();
  std::optional<int64_t> depth = indices.empty() ? std::nullopt : indices.back().constant();
  if (!depth || *depth < 0 || *depth > int64_t(dims.size()) ||
      updates.size() != indices.size() - 1 + dims.size() - *depth)
    return emitOpError("the last dim of the indices must index the operand, with one slice of updates for each index");
  for (size_t d = 0; d < updates.size(); ++d)
    if (differ(updates[d], d < indices.size() - 1 ? indices[d] : dims[d - (indices.size() - 1) + *depth]))
      return emitOpError() << "updates have a shape mismatch in dim " << d;
  results.push_back({dims, getElementType(getX())});
  return success();
}

void ScatterNDOp::requireDims(Requirements &requirements) {
  Dims dims = getDims(getX()), indices = getDims(getIndices()), updates = getDims(getUpdates());
  int64_t depth = *indices.back().constant();
  Dims slices(indices.begin(), indices.end() - 1);
  slices.append(dims.begin() + depth, dims.end());
  for (auto [have, want] : llvm::zip(updates, slices))
    requirements.equal(have, want);
}

LogicalResult buildScatterElements(OnnxNode &node) {
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(node.input(0)));
  if (!axis || failed(checkKnownIndices(node, node.input(1), getDims(node.input(0))[*axis])))
    return failure();
  return node.finish(node.make<ScatterElementsOp>(
      {node.input(0), node.input(1), node.input(2)},
      {node.attr("axis", *axis), node.attr("reduction", node.b.getStringAttr(node.getString("reduction", "none")))}));
}

LogicalResult buildScatterND(OnnxNode &node) {
  Dims dims = getDims(node.input(0)), indices = getDims(node.input(1));
  int64_t depth = indices.empty() ? 0 : indices.back().constant().value_or(0);
  if (depth >= 0 && depth <= int64_t(dims.size()) &&
      failed(checkKnownIndices(node, node.input(1), ArrayRef(dims).take_front(depth))))
    return failure();
  return node.finish(
      node.make<ScatterNDOp>({node.input(0), node.input(1), node.input(2)},
                             node.attr("reduction", node.b.getStringAttr(node.getString("reduction", "none")))));
}

LogicalResult TensorScatterOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX()), update = dimsOf(getUpdate());
  if (dims.size() != update.size() || getAxis() == 0 || getAxis() >= dims.size() || dimsOf(getStarts()).size() != 1)
    return emitOpError("cache and update must have equal ranks, starts rank 1, and the axis must not be the batch dim");
  results.push_back({dims, getElementType(getX())});
  return success();
}

void TensorScatterOp::requireDims(Requirements &requirements) {
  Dims dims = graph::getDims(getX());
  requirements.equal(graph::getDims(getStarts())[0], dims[0]);
  for (auto [d, dim] : llvm::enumerate(graph::getDims(getUpdate())))
    if (d == getAxis())
      requirements.atMost(dim, dims[d]);
    else
      requirements.equal(dim, dims[d]);
}

Value TensorScatterOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  int64_t axis = getAxis();
  Index offset = e.sub(at[axis], e.fromElement(e.read(getStarts(), at[0])));
  if (getCircular())
    offset = e.mod(offset, e.extent(getX(), axis));
  SmallVector<Index> from(at);
  from[axis] = offset;
  Value inside = e.inBounds(offset, e.extent(getUpdate(), axis));
  return e.readIf(inside, getUpdate(), from, e.read(getX(), at));
}

std::optional<ShardingRule> TensorScatterOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  Dims dims = graph::getDims(getX());
  if (cut.dim == int64_t(getAxis()) || graph::getDims(getUpdate())[cut.dim] != dims[cut.dim] ||
      (cut.dim == 0 && graph::getDims(getStarts())[0] != dims[0]))
    return std::nullopt;
  ShardingRule form{{cut, cut, std::nullopt}, ownAttributes(*this)};
  if (cut.dim == 0)
    form.operands[2] = cut;
  return form;
}

LogicalResult buildTensorScatter(OnnxNode &node) {
  Value x = node.input(0), starts = node.input(2);
  Dims dims = getDims(x);
  std::optional<int64_t> axis = node.axis(node.getInt("axis", -2), dims.size());
  if (!axis)
    return failure();
  std::string mode = node.getString("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return node.refuse("mode '" + mode + "' is neither linear nor circular");
  bool isLinear = mode == "linear";
  Dims update = getDims(node.input(1));
  // ONNX requires write_indices + sequence_length <= max_sequence_length in mode linear.
  if (starts && isLinear && update.size() == dims.size() &&
      failed(checkIndices(node, starts, dims[*axis] - update[*axis], IndexRange::Length)))
    return failure();
  if (!starts)
    starts = Composer(node).filled({dims[0]}, node.b.getI64Type(), 0);
  return node.finish(node.make<TensorScatterOp>(
      {x, node.input(1), starts}, {node.attr("axis", *axis), node.attr("circular", node.b.getBoolAttr(!isLinear))}));
}

//===------------------------------------------------------------------------------------------===//
// ROI pooling
//===------------------------------------------------------------------------------------------===//

static LogicalResult inferBoxes(Operation *op, Dims x, Dims rois, int64_t columns, ArrayRef<int64_t> size,
                                SmallVectorImpl<TensorShape> &results) {
  if (x.size() != 4 || rois.size() != 2 || !rois[1].is(columns) || size.size() != 2 || size[0] < 1 || size[1] < 1)
    return op->emitOpError() << "needs an operand of rank 4, boxes of " << columns << " numbers and a size of two";
  results.push_back({{rois[0], x[1], DimExpr(size[0]), DimExpr(size[1])}, getElementType(op->getOperand(0))});
  return success();
}

LogicalResult RoiAlignOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (dimsOf(getBatches()).size() != 1 || !getElementType(getBatches()).isInteger(64))
    return emitOpError("batch indices must be 64-bit integers of rank 1");
  return inferBoxes(*this, dimsOf(getX()), dimsOf(getRois()), 4, getSize(), results);
}

LogicalResult MaxRoiPoolOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferBoxes(*this, dimsOf(getX()), dimsOf(getRois()), 5, getSize(), results);
}

void RoiAlignOp::requireDims(Requirements &requirements) {
  requirements.equal(getDims(getBatches())[0], getDims(getRois())[0]);
}

/// The op states no requirement for the batch indices of its boxes: the runtime function checks
/// them.
void MaxRoiPoolOp::requireDims(Requirements &) {}

LogicalResult buildRoiAlign(OnnxNode &node) {
  OpBuilder &b = node.b;
  std::string mode = node.getString("mode", "avg");
  std::string coordinates =
      node.getString("coordinate_transformation_mode", node.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if ((mode != "avg" && mode != "max") || (coordinates != "half_pixel" && coordinates != "output_half_pixel"))
    return node.refuse("mode '" + mode + "' with coordinate_transformation_mode '" + coordinates +
                       "' is not supported");
  SmallVector<int64_t> size = {node.getInt("output_height", 1), node.getInt("output_width", 1)};
  // maximum number of samples along one side of a RoiAlign bin; the runtime function supports a bin
  // with the square of this number
  constexpr int64_t kMostSamples = 8192;
  int64_t ratio = node.getInt("sampling_ratio", 0);
  if (ratio > kMostSamples)
    return node.refuse("sampling_ratio " + Twine(ratio) + ": at most " + Twine(kMostSamples) +
                       " samples are taken along each side of a bin");
  Dims dims = getDims(node.input(0)); // the verifier of the op rejects other ranks than 4
  if (!dims.empty() && failed(checkKnownIndices(node, node.input(2), dims[0], IndexRange::Position)))
    return failure();
  return node.finish(node.make<RoiAlignOp>(
      {node.input(0), node.input(1), node.input(2)},
      {node.attr("size", ArrayRef<int64_t>(size)), node.attr("halfPixel", b.getBoolAttr(coordinates == "half_pixel")),
       node.attr("takesMax", b.getBoolAttr(mode == "max")), node.attr("samplingRatio", ratio),
       node.attr("spatialScale", b.getF32FloatAttr(float(node.getFloat("spatial_scale", 1))))}));
}

LogicalResult buildMaxRoiPool(OnnxNode &node) {
  SmallVector<int64_t> size = node.getInts("pooled_shape").value_or(SmallVector<int64_t>());
  return node.finish(node.make<MaxRoiPoolOp>(
      {node.input(0), node.input(1)},
      {node.attr("size", ArrayRef<int64_t>(size)),
       node.attr("spatialScale", node.b.getF32FloatAttr(float(node.getFloat("spatial_scale", 1))))}));
}

} // namespace hewn::graph
