// SPDX-License-Identifier: Apache-2.0
//
// How ONNX's nodes become moves: shape operands are resolved to expressions
// here.
#include "dialects/Graph/Compose.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/OnnxNode.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildTranspose(OnnxNode &node) {
  int64_t rank = getRank(node.input(0));
  SmallVector<int64_t> order =
      node.getInts("perm").value_or(llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank))));
  return node.finish(node.make<TransposeOp>(node.input(0), node.attr("order", order)));
}

LogicalResult buildReshape(OnnxNode &node) {
  Value x = node.input(0);
  std::optional<Dims> wanted = node.contentsOrRead(node.input(1));
  if (!wanted)
    return failure();
  Dims dims = getDims(x), shape = *wanted;
  bool copyZeros = !node.getInt("allowzero", 0);
  std::optional<size_t> inferred;
  DimExpr known(1);
  for (auto [i, dim] : llvm::enumerate(shape)) {
    if (dim.is(0) && copyZeros) {
      if (i >= dims.size())
        return node.refuse("copies dim " + Twine(i) + " of an input of rank " + Twine(dims.size()));
      dim = dims[i];
    } else if (dim.is(-1)) {
      if (inferred)
        return node.refuse("shape has more than one -1");
      inferred = i;
      continue;
    } else if (dim.constant() && *dim.constant() < -1) {
      return node.refuse("shape has the dim " + dim.str());
    }
    known = known * dim;
  }
  if (inferred) {
    DimExpr total = numElements(dims);
    if (known.is(0) || (total.constant() && known.constant() && *total.constant() % *known.constant() != 0))
      return node.refuse(total.str() + " elements do not divide by " + known.str());
    shape[*inferred] = total.floorDiv(known);
  }
  if (shape == dims)
    return node.finish(x);
  return node.finish(node.make<ReshapeOp>(x, node.attr("shape", ArrayRef<DimExpr>(shape))));
}

LogicalResult buildFlatten(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x);
  int64_t axis = node.getInt("axis", 1), rank = dims.size();
  // Unlike other axes this one may stand after the last dim.
  if (axis < -rank || axis > rank)
    return node.refuse("axis " + Twine(axis) + " is outside of rank " + Twine(rank));
  ArrayRef<DimExpr> all(dims);
  size_t split = axis < 0 ? axis + rank : axis;
  return node.finish(
      Composer(node).reshape(x, {numElements(all.take_front(split)), numElements(all.drop_front(split))}));
}

LogicalResult buildSqueeze(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x), kept;
  bool absent;
  std::optional<SmallVector<int64_t>> axes = constantInts(node, "axes", 1, absent);
  if (!axes && !absent)
    return failure();
  SmallVector<bool> gone(dims.size(), false);
  for (auto [d, dim] : llvm::enumerate(dims))
    gone[d] = absent && dim.is(1);
  for (int64_t written : axes.value_or(SmallVector<int64_t>())) {
    std::optional<int64_t> axis = node.axis(written, dims.size());
    if (!axis)
      return failure();
    if (dims[*axis].constant() && !dims[*axis].is(1))
      return node.refuse("squeezes dim " + Twine(*axis) + " of " + dims[*axis].str() + " elements");
    gone[*axis] = true;
  }
  for (auto [d, dim] : llvm::enumerate(dims))
    if (!gone[d])
      kept.push_back(dim);
  return node.finish(Composer(node).reshape(x, kept));
}

LogicalResult buildUnsqueeze(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x), shape;
  bool absent;
  std::optional<SmallVector<int64_t>> axes = constantInts(node, "axes", 1, absent);
  if (!axes)
    return absent ? node.refuse("needs axes") : failure();
  int64_t rank = dims.size() + axes->size();
  SmallVector<bool> fresh(rank, false);
  for (int64_t written : *axes) {
    std::optional<int64_t> axis = node.axis(written, rank);
    if (!axis)
      return failure();
    if (fresh[*axis])
      return node.refuse("axis " + Twine(written) + " stands twice");
    fresh[*axis] = true;
  }
  for (int64_t d = 0, from = 0; d < rank; ++d)
    shape.push_back(fresh[d] ? DimExpr(1) : dims[from++]);
  return node.finish(Composer(node).reshape(x, shape));
}

//===------------------------------------------------------------------------------------------------------------------===//
// Slice and split
//===------------------------------------------------------------------------------------------------------------------===//

/// A start or end as Slice means it, brought into [low, dim + high]: negative ones count from the end.
static DimExpr resolveBound(const DimExpr &written, const DimExpr &dim, int64_t low, int64_t high) {
  // What exporters write for "to the end" and "from the start".
  constexpr int64_t far = std::numeric_limits<int32_t>::max();
  DimExpr lowest(low), highest = dim + DimExpr(high);
  std::optional<int64_t> value = written.constant();
  if (value && *value >= far)
    return highest;
  if (value && *value <= -far)
    return lowest;
  DimExpr bound = written;
  if (value ? *value < 0 : isNonNegative(written * DimExpr(-1)))
    bound = bound + dim;
  else if (!value && !isNonNegative(written)) // its sign is known only when run: min(max(v, -1), 0) is -1 or 0
    bound = bound - dim * DimExpr::min(DimExpr::max(written, DimExpr(-1)), DimExpr(0));
  if (!isNonNegative(highest - bound))
    bound = DimExpr::min(bound, highest);
  return isNonNegative(bound - lowest) ? bound : DimExpr::max(bound, lowest);
}

namespace {
struct SliceRange {
  DimExpr offset, size;
};
} // namespace

static SliceRange resolveSlice(const DimExpr &start, const DimExpr &end, int64_t step, const DimExpr &dim) {
  // The last `-start` elements: their number is simple to say, which the general form below is not.
  if (step == 1 && start.constant() && *start.constant() < 0 && !dim.constant() && end.constant() &&
      *end.constant() >= std::numeric_limits<int32_t>::max()) {
    DimExpr size = DimExpr::min(dim, DimExpr(-*start.constant()));
    return {dim - size, size};
  }
  // Backward over a symbolic dim that turns out empty there is no start: -1.
  DimExpr from = resolveBound(start, dim, step < 0 && !dim.constant() ? -1 : 0, step > 0 ? 0 : -1);
  DimExpr to = resolveBound(end, dim, step > 0 ? 0 : -1, step > 0 ? 0 : -1);
  DimExpr size = step > 0 ? (to - from).ceilDiv(DimExpr(step)) : (from - to).ceilDiv(DimExpr(-step));
  return {from, clampToZero(size)};
}

LogicalResult buildSlice(OnnxNode &node) {
  Value x = node.input(0);
  Dims offsets(getRank(x), DimExpr(0)), sizes = getDims(x);
  SmallVector<int64_t> allSteps(sizes.size(), 1);
  bool absent, noAxes, noSteps;
  std::optional<Dims> starts = intsOrRead(node, "starts", 1, absent), ends = intsOrRead(node, "ends", 2, absent);
  std::optional<SmallVector<int64_t>> axes = constantInts(node, "axes", 3, noAxes);
  std::optional<SmallVector<int64_t>> steps = constantInts(node, "steps", 4, noSteps);
  if (!starts || !ends || (!axes && !noAxes) || (!steps && !noSteps))
    return failure();
  if (noAxes)
    axes = llvm::to_vector(llvm::seq<int64_t>(0, starts->size()));
  if (noSteps)
    steps = SmallVector<int64_t>(starts->size(), 1);
  if (ends->size() != starts->size() || axes->size() != starts->size() || steps->size() != starts->size())
    return node.refuse("starts, ends, axes and steps differ in length");
  for (auto [start, end, written, step] : llvm::zip(*starts, *ends, *axes, *steps)) {
    std::optional<int64_t> axis = node.axis(written, sizes.size());
    if (!axis)
      return failure();
    if (step == 0 || step == std::numeric_limits<int64_t>::min())
      return node.refuse("the step " + Twine(step));
    SliceRange range = resolveSlice(start, end, step, sizes[*axis]);
    offsets[*axis] = range.offset;
    sizes[*axis] = range.size;
    // One element or none: the step says nothing, and 1 makes a view.
    allSteps[*axis] = range.size.is(0) || range.size.is(1) ? 1 : step;
  }
  if (sizes == getDims(x) && llvm::all_of(allSteps, [](int64_t s) { return s == 1; }))
    return node.finish(x);
  return node.finish(
      node.make<SliceOp>(x, {node.attr("offsets", ArrayRef<DimExpr>(offsets)),
                             node.attr("sizes", ArrayRef<DimExpr>(sizes)), node.attr("steps", allSteps)}));
}

LogicalResult buildSplit(OnnxNode &node) {
  Value x = node.input(0);
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(x));
  if (!axis)
    return failure();
  bool absent;
  std::optional<Dims> sizes = intsOrRead(node, "split", 1, absent);
  if (!sizes && !absent)
    return failure();
  DimExpr dim = getDims(x)[*axis];
  int64_t parts = node.getInt("num_outputs", node.numOutputs());
  if (absent) {
    if (parts < 1)
      return node.refuse("splits into " + Twine(parts));
    // Parts are equal, but for the last one, which may be smaller since opset 18.
    DimExpr part = dim.ceilDiv(DimExpr(parts));
    if (dim.constant() && *dim.constant() % parts != 0 && node.opset() < 18)
      return node.refuse(dim.str() + " elements do not split into " + Twine(parts) + " equal parts");
    sizes.emplace();
    DimExpr left = dim;
    for (int64_t i = 0; i < parts; ++i) {
      bool exact = dim.divideExactly(DimExpr(parts)).has_value() || node.opset() < 18;
      sizes->push_back(exact ? part : DimExpr::min(part, clampToZero(left)));
      left = left - part;
    }
  }
  if (sizes->size() < node.numOutputs())
    return node.refuse("has " + Twine(node.numOutputs()) + " outputs for " + Twine(sizes->size()) + " parts");
  DimExpr offset(0);
  for (unsigned i = 0; i < node.numOutputs(); ++i) {
    DimExpr size = (*sizes)[i];
    if (node.wantsOutput(i)) {
      Value part = Composer(node).slice(x, *axis, offset, size);
      if (!part)
        return failure();
      node.setOutput(i, part);
    }
    offset = offset + size;
  }
  return success();
}

LogicalResult buildConcat(OnnxNode &node) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < node.numInputs(); ++i)
    values.push_back(node.input(i));
  if (values.empty() || !values[0])
    return node.refuse("concatenates nothing");
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 1), getRank(values[0]));
  return axis ? node.finish(Composer(node).concat(values, *axis)) : failure();
}

LogicalResult buildExpand(OnnxNode &node) {
  std::optional<Dims> shape = node.contentsOrRead(node.input(1));
  if (!shape)
    return failure();
  std::optional<Dims> dims = broadcastDims({getDims(node.input(0)), *shape});
  if (!dims)
    return node.refuse("the input does not broadcast to the shape");
  return node.finish(Composer(node).expand(node.input(0), *dims));
}

LogicalResult buildPad(OnnxNode &node) {
  Value x = node.input(0), value = node.input(2);
  size_t rank = getRank(x);
  bool absent, noAxes;
  std::optional<Dims> pads = intsOrRead(node, node.hasAttr("paddings") ? "paddings" : "pads", 1, absent);
  std::optional<SmallVector<int64_t>> axes = constantInts(node, "axes", 3, noAxes);
  if (!pads || (!axes && !noAxes))
    return absent ? node.refuse("needs pads") : failure();
  if (noAxes)
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (pads->size() != 2 * axes->size())
    return node.refuse("has " + Twine(pads->size()) + " pads for " + Twine(axes->size()) + " dims");
  Dims low(rank, DimExpr(0)), high(rank, DimExpr(0));
  for (auto [i, written] : llvm::enumerate(*axes)) {
    std::optional<int64_t> axis = node.axis(written, rank);
    if (!axis)
      return failure();
    low[*axis] = (*pads)[i];
    high[*axis] = (*pads)[axes->size() + i];
  }
  Composer c(node);
  std::string mode = node.getString("mode", "constant");
  if (mode == "constant" && !value && node.getFloat("value", 0) != 0)
    value = c.scalarLike(x, node.getFloat("value", 0));
  return node.finish(c.pad(x, low, high, mode, mode == "constant" ? value : Value()));
}

LogicalResult buildGather(OnnxNode &node) {
  Value x = node.input(0), indices = node.input(1);
  Dims dims = getDims(x);
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), dims.size());
  if (!axis)
    return failure();
  // One index that is known is a slice: its memory is one piece, often a view.
  std::optional<Dims> known = node.contents(indices);
  if (known && known->size() == 1 && known->front().constant()) {
    DimExpr at = known->front();
    if (*at.constant() < 0)
      at = at + dims[*axis];
    if (at.constant() && dims[*axis].constant() && (*at.constant() < 0 || *at.constant() >= *dims[*axis].constant()))
      return node.refuse("index " + known->front().str() + " is outside of a dim of " + dims[*axis].str());
    Composer c(node);
    Dims shape(dims.begin(), dims.begin() + *axis);
    llvm::append_range(shape, getDims(indices));
    shape.append(dims.begin() + *axis + 1, dims.end());
    return node.finish(c.reshape(c.slice(x, *axis, at, DimExpr(1)), shape));
  }
  return node.finish(node.make<GatherOp>({x, indices}, node.attr("axis", *axis)));
}

} // namespace hewn::graph
