// SPDX-License-Identifier: Apache-2.0
//
// How ONNX's Slice, Split and Pad become ours. Whatever a model computes when it runs (starts, ends, axes, steps, pads) is
// an expression over symbols that are read from its tensor.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Move/Axes.h"
#include "dialects/Graph/Move/MoveOps.h"

using namespace mlir;

namespace hewn::graph {

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

/// 0, 1, ... count - 1.
static Dims countUp(int64_t count) {
  Dims all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(DimExpr(i));
  return all;
}

namespace {
struct SliceRange {
  DimExpr offset, size;
};
} // namespace

/// The range where steps go up (or down) by `step`, which is positive.
static SliceRange resolveSlice(const DimExpr &start, const DimExpr &end, const DimExpr &step, bool up,
                               const DimExpr &dim) {
  // The last `-start` elements: their number is simple to say, which the general form below is not.
  if (up && step.is(1) && start.constant() && *start.constant() < 0 && !dim.constant() && end.constant() &&
      *end.constant() >= std::numeric_limits<int32_t>::max()) {
    DimExpr size = DimExpr::min(dim, DimExpr(-*start.constant()));
    return {dim - size, size};
  }
  // Backward over a dim that is empty, or turns out so, there is no start: -1.
  bool mayBeEmpty = dim.constant().value_or(0) == 0;
  DimExpr from = resolveBound(start, dim, !up && mayBeEmpty ? -1 : 0, up ? 0 : -1);
  DimExpr to = resolveBound(end, dim, up ? 0 : -1, up ? 0 : -1);
  DimExpr reach = up ? to - from : from - to;
  // Rounded up without reach + step - 1: a step that a run tells may be as large as integers are.
  return {from, clampToZero(step.constant() ? reach.ceilDiv(step) : (reach - DimExpr(1)).floorDiv(step) + DimExpr(1))};
}

/// The same where the step's sign is known only when the model runs.
static SliceRange resolveSlice(const DimExpr &start, const DimExpr &end, const DimExpr &step, const DimExpr &dim) {
  DimExpr back = step * DimExpr(-1), one(1);
  if (std::optional<int64_t> known = step.constant())
    return resolveSlice(start, end, *known > 0 ? step : back, *known > 0, dim);
  SliceRange up = resolveSlice(start, end, DimExpr::max(step, one), true, dim),
             down = resolveSlice(start, end, DimExpr::max(back, one), false, dim);
  DimExpr isUp = DimExpr::min(DimExpr::max(step, DimExpr(0)), one);
  return {down.offset + isUp * (up.offset - down.offset), down.size + isUp * (up.size - down.size)};
}

/// x[offset + i * step] for i < size along `dim`, whatever is known of these.
static Value sliceUnknown(OnnxNode &node, Value x, int64_t dim, SliceRange range, const DimExpr &step) {
  Composer c(node);
  if (step.constant())
    return c.slice(x, dim, range.offset, range.size, *step.constant());
  Value places = c.range(c.number(range.offset), c.number(step), range.size);
  return x && places ? node.make<GatherOp>({x, places}, node.attr("axis", dim)) : Value();
}

LogicalResult buildSlice(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x);
  size_t rank = dims.size();
  bool absent, noAxes, noSteps;
  std::optional<Dims> starts = intsOrRead(node, "starts", 1, absent), ends = intsOrRead(node, "ends", 2, absent);
  std::optional<Dims> axes = axesOrRead(node, "axes", 3, rank, noAxes), steps = intsOrRead(node, "steps", 4, noSteps);
  if (!starts || !ends || (!axes && !noAxes) || (!steps && !noSteps))
    return failure();
  if (noAxes)
    axes = countUp(starts->size());
  if (noSteps)
    steps = Dims(starts->size(), DimExpr(1));
  if (ends->size() != starts->size() || axes->size() != starts->size() || steps->size() != starts->size() ||
      axes->size() > rank)
    return node.refuse("starts, ends, axes and steps differ in length");
  // All of each dim, and what each axis adds to that where it is this dim.
  SmallVector<SliceRange> ranges;
  Dims allSteps(rank, DimExpr(1));
  for (const DimExpr &dim : dims)
    ranges.push_back({DimExpr(0), dim});
  for (auto [start, end, axis, step] : llvm::zip(*starts, *ends, *axes, *steps)) {
    if (step.is(0) || step.is(std::numeric_limits<int64_t>::min()))
      return node.refuse("the step " + step.str());
    if (!step.constant())
      require(node.b, node.loc, Relation::AtMost, DimExpr(1), DimExpr::max(step, step * DimExpr(-1)));
    for (auto [d, dim] : llvm::enumerate(dims)) {
      DimExpr here = equals(axis, DimExpr(int64_t(d)));
      if (here.is(0))
        continue;
      SliceRange range = resolveSlice(start, end, step, dim);
      ranges[d].offset = ranges[d].offset + here * range.offset;
      ranges[d].size = ranges[d].size + here * (range.size - dim);
      // One element or none: the step says nothing, and 1 makes a view.
      bool few = ranges[d].size.is(0) || ranges[d].size.is(1);
      allSteps[d] = few ? DimExpr(1) : allSteps[d] + here * (step - DimExpr(1));
    }
  }
  for (SliceRange &range : ranges)
    range = {node.shortened(range.offset, /*isSize=*/false), node.shortened(range.size)};
  if (!areConstant(allSteps)) {
    for (size_t d = 0; d < rank; ++d)
      x = sliceUnknown(node, x, d, ranges[d], allSteps[d]);
    return node.finish(x);
  }
  Dims offsets, sizes;
  SmallVector<int64_t> knownSteps;
  for (auto [range, step] : llvm::zip(ranges, allSteps)) {
    offsets.push_back(range.offset);
    sizes.push_back(range.size);
    knownSteps.push_back(*step.constant());
  }
  SmallVector<int64_t> cut = llvm::filter_to_vector(
      llvm::seq<int64_t>(0, rank), [&](int64_t d) { return knownSteps[d] != 1 || !(sizes[d] == dims[d]); });
  if (cut.empty())
    return node.finish(x);
  if (int64_t d = cut.front(); cut.size() == 1)
    return node.finish(Composer(node).slice(x, d, offsets[d], sizes[d], knownSteps[d]));
  return node.finish(
      node.make<SliceOp>(x, {node.attr("offsets", ArrayRef<DimExpr>(offsets)),
                             node.attr("sizes", ArrayRef<DimExpr>(sizes)), node.attr("steps", knownSteps)}));
}

/// Parts are none of them negative and make up the dim: known now, or a run ends with a status.
static LogicalResult checkParts(OnnxNode &node, const Dims &sizes, const DimExpr &dim) {
  DimExpr all(0);
  for (const DimExpr &size : sizes)
    all = all + size;
  if (all.constant() && dim.constant() && all != dim)
    return node.refuse("its parts have " + all.str() + " elements of " + dim.str());
  for (const DimExpr &size : sizes)
    require(node.b, node.loc, Relation::AtMost, DimExpr(0), size);
  require(node.b, node.loc, Relation::Equal, all, dim);
  return success();
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
  if (parts != int64_t(node.numOutputs()))
    return node.refuse("num_outputs is " + Twine(parts) + ", and there are " + Twine(node.numOutputs()) + " outputs");
  if (absent) {
    if (parts < 1)
      return node.refuse("splits into " + Twine(parts));
    // Parts are equal, but for the last one, which may be smaller since opset 18.
    DimExpr part = dim.ceilDiv(DimExpr(parts));
    if (dim.constant() && *dim.constant() % parts != 0 && node.opset() < 18)
      return node.refuse(dim.str() + " elements do not split into " + Twine(parts) + " equal parts");
    DimExpr last = dim - part * DimExpr(parts - 1);
    if (last.constant() && *last.constant() < 0)
      return node.refuse(dim.str() + " elements do not split into " + Twine(parts) + " parts of " + part.str());
    require(node.b, node.loc, Relation::AtMost, part * DimExpr(parts - 1), dim);
    bool exact = dim.divideExactly(DimExpr(parts)).has_value() || node.opset() < 18;
    sizes.emplace(size_t(parts), part);
    sizes->back() = exact ? part : last;
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
    // A sum of all sizes before it, or a multiple of one.
    offset = absent ? offset + size : node.shortened(offset + size);
  }
  return absent ? success() : checkParts(node, *sizes, dim);
}

LogicalResult buildPad(OnnxNode &node) {
  Value x = node.input(0), value = node.input(2);
  size_t rank = getRank(x);
  bool absent, noAxes;
  std::optional<Dims> pads = intsOrRead(node, node.hasAttr("paddings") ? "paddings" : "pads", 1, absent);
  std::optional<Dims> axes = axesOrRead(node, "axes", 3, rank, noAxes);
  if (!pads || (!axes && !noAxes))
    return absent ? node.refuse("needs pads") : failure();
  if (noAxes)
    axes = countUp(rank);
  if (pads->size() != 2 * axes->size())
    return node.refuse("has " + Twine(pads->size()) + " pads for " + Twine(axes->size()) + " dims");
  Dims low(rank, DimExpr(0)), high(rank, DimExpr(0));
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    Dims here = marks(axis, rank);
    for (size_t d = 0; d < rank; ++d) {
      low[d] = low[d] + here[d] * (*pads)[i];
      high[d] = high[d] + here[d] * (*pads)[axes->size() + i];
    }
  }
  low = shortened(node, low, /*areSizes=*/false);
  high = shortened(node, high, /*areSizes=*/false);
  Composer c(node);
  std::string mode = node.getString("mode", "constant");
  if (mode == "constant" && !value && node.getFloat("value", 0) != 0)
    value = c.scalarLike(x, node.getFloat("value", 0));
  // What negative pads take away is not there to be repeated.
  for (size_t d = 0; mode != "constant" && d < rank; ++d) {
    if (isNonNegative(low[d]) && isNonNegative(high[d]))
      continue;
    DimExpr before = clampToZero(low[d] * DimExpr(-1)), behind = clampToZero(high[d] * DimExpr(-1));
    x = x ? c.slice(x, int64_t(d), before, getDims(x)[d] - before - behind) : x;
    low[d] = clampToZero(low[d]);
    high[d] = clampToZero(high[d]);
  }
  return node.finish(c.pad(x, low, high, mode, mode == "constant" ? value : Value()));
}

} // namespace hewn::graph
