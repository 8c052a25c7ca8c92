// SPDX-License-Identifier: Apache-2.0
//
// Import of Slice, Split and Pad. Starts, ends, axes, steps and pads that are computed at run time
// become expressions over symbols, which are read from their tensors.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/Indexing/IndexingOps.h"

using namespace mlir;

namespace hewn::graph {

/// No dim has this many elements. A start, end or step of at least this magnitude acts as infinity.
static constexpr int64_t kBeyond = int64_t(1) << 62;

/// Returns true if the constant start or end `value` is at or after the end of `dim`, or, for
/// `atEnd` false, a negative value that is before its first element.
///
/// Converters write INT32_MAX for "to the end" (and INT32_MIN or -INT32_MAX for "from the start"),
/// also for dynamic dims. The size of such a slice is then the dim itself. A requirement excludes
/// the longer dims, for which the slice would be a part of the dim.
static bool isBeyond(OnnxNode &node, int64_t value, const DimExpr &dim, bool atEnd) {
  if (atEnd ? value >= kBeyond : value <= -kBeyond)
    return true;
  constexpr int64_t infinity32 = std::numeric_limits<int32_t>::max();
  bool isInfinity32 = atEnd ? value == infinity32 : value == -infinity32 || value == -infinity32 - 1;
  if (dim.constant() || !isInfinity32)
    return false;
  require(node.b, node.loc, Relation::AtMost, dim, DimExpr(infinity32 - 1));
  return true;
}

/// Converts the start or end of a Slice to an index: adds the dim to a negative value, which counts
/// from the end, and clamps the result to [low, dim + high], where low is the minimum of `lows`.
static DimExpr resolveBound(OnnxNode &node, const DimExpr &written, const DimExpr &dim, ArrayRef<DimExpr> lows,
                            int64_t high) {
  DimExpr lowest = lows.front(), highest = dim + DimExpr(high);
  for (const DimExpr &low : lows.drop_front())
    lowest = DimExpr::min(lowest, low);
  std::optional<int64_t> value = written.constant();
  if (value && isBeyond(node, *value, dim, /*atEnd=*/true))
    return highest;
  if (value && isBeyond(node, *value, dim, /*atEnd=*/false))
    return lowest;
  DimExpr bound = written;
  if (value ? *value < 0 : isNonNegative(written * DimExpr(-1)))
    bound = bound + dim;
  // the sign of v is only known at run time; min(max(v, -1), 0) is -1 if v is negative, else 0
  else if (!value && !isNonNegative(written))
    bound = bound - dim * DimExpr::min(DimExpr::max(written, DimExpr(-1)), DimExpr(0));
  if (!isNonNegative(highest - bound))
    bound = DimExpr::min(bound, highest);
  bool aboveLow = llvm::any_of(lows, [&](const DimExpr &low) { return isNonNegative(bound - low); });
  return aboveLow ? bound : DimExpr::max(bound, lowest);
}

/// Returns the list 0, 1, ..., count - 1.
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

/// Returns the range of a slice along one dim, with the step size `step`, which is positive; `up`
/// states whether the slice goes upward or downward.
static SliceRange resolveSlice(OnnxNode &node, const DimExpr &start, const DimExpr &end, const DimExpr &step, bool up,
                               const DimExpr &dim) {
  // The slice has the last `-start` elements of the dim. For such slices, this expression for the
  // size is simpler than the general formula below.
  std::optional<int64_t> from = start.constant(), to = end.constant();
  if (up && step.is(1) && from && *from < 0 && *from > -kBeyond && !dim.constant() && to &&
      isBeyond(node, *to, dim, /*atEnd=*/true)) {
    DimExpr size = DimExpr::min(dim, DimExpr(-*from));
    return {dim - size, size};
  }
  // The start of a downward slice is clamped to [0, dim - 1]. For an empty dim, the start is -1, so
  // that the slice has no elements.
  SmallVector<DimExpr> lows = {DimExpr(0)};
  if (!up && dim.constant().value_or(0) == 0)
    lows.push_back(dim - DimExpr(1));
  DimExpr first = resolveBound(node, start, dim, lows, up ? 0 : -1);
  DimExpr last = resolveBound(node, end, dim, {DimExpr(up ? 0 : -1)}, up ? 0 : -1);
  DimExpr reach = up ? last - first : first - last;
  // Divides the length of the slice by the step, rounding up. Does not compute reach + step - 1,
  // which may overflow for a dynamic step.
  return {first, clampToZero(step.constant() ? reach.ceilDiv(step) : (reach - DimExpr(1)).floorDiv(step) + DimExpr(1))};
}

/// Returns the range of a slice whose step may have a sign that is only known at run time.
static SliceRange resolveSlice(OnnxNode &node, const DimExpr &start, const DimExpr &end, const DimExpr &step,
                               const DimExpr &dim) {
  DimExpr back = step * DimExpr(-1), one(1);
  if (std::optional<int64_t> known = step.constant())
    return resolveSlice(node, start, end, *known > 0 ? step : back, *known > 0, dim);
  SliceRange up = resolveSlice(node, start, end, DimExpr::max(step, one), true, dim),
             down = resolveSlice(node, start, end, DimExpr::max(back, one), false, dim);
  DimExpr isUp = DimExpr::min(DimExpr::max(step, DimExpr(0)), one);
  return {down.offset + isUp * (up.offset - down.offset), down.size + isUp * (up.size - down.size)};
}

/// Emits x[offset + i * step] for i < size along `dim`. Offset, size and step may all be dynamic.
static Value sliceUnknown(OnnxNode &node, Value x, int64_t dim, SliceRange range, const DimExpr &step) {
  Composer c(node);
  if (step.constant())
    return c.slice(x, dim, range.offset, range.size, *step.constant());
  Value places = c.range(c.number(range.offset), c.number(step), range.size);
  return x && places ? node.make<GatherOp>({x, places}, node.attr("axis", dim)) : Value();
}

namespace {
/// The lists of a Slice node, which have one element for each axis.
struct SliceLists {
  Dims starts, ends, axes, steps;
};
} // namespace

/// Reads the lists of a Slice node whose inputs all have dynamic length. The result has one element
/// for each dim of the data: the full range for a dim that is not one of the axes.
static std::optional<SliceLists> readOpenLists(OnnxNode &node, int64_t rank) {
  Composer c(node);
  DimExpr length = getDims(node.input(1))[0];
  for (unsigned i : {2, 3, 4})
    if (Value list = node.input(i)) {
      if (getRank(list) != 1) {
        (void)node.refuse("takes dims from a tensor that is not a list of integers");
        return std::nullopt;
      }
      require(node.b, node.loc, Relation::Equal, getDims(list)[0], length);
    }
  // without axes, the lists are for the first dims
  Value matches = matchAxes(node, node.input(3) ? node.input(3) : c.range(length), rank);
  constexpr int64_t far = int64_t(1) << 62;
  auto read = [&](unsigned i, int64_t otherwise) -> std::optional<Dims> {
    Value spread = matches ? spreadOverDims(node, matches, node.input(i), otherwise) : Value();
    return spread ? node.contentsOrRead(spread) : std::nullopt;
  };
  std::optional<Dims> starts = read(1, 0), ends = read(2, far),
                      steps = node.input(4) ? read(4, 1) : Dims(rank, DimExpr(1));
  if (!starts || !ends || !steps)
    return std::nullopt;
  return SliceLists{*starts, *ends, countUp(rank), *steps};
}

/// Reads the starts, ends, axes and steps of a Slice node, which are attributes or inputs.
static std::optional<SliceLists> readLists(OnnxNode &node, int64_t rank) {
  bool absent, noAxes, noSteps;
  bool hasInputs = !node.hasAttr("starts");
  std::optional<int64_t> length = hasInputs ? knownLength(node, {1, 2, 3, 4}) : std::nullopt;
  if (hasInputs && !length && rank > 0 && hasOpenLength(node.input(1)))
    return readOpenLists(node, rank);
  std::optional<Dims> starts = intsOrRead(node, "starts", 1, absent, length);
  std::optional<Dims> ends = intsOrRead(node, "ends", 2, absent, length);
  std::optional<Dims> axes = axesOrRead(node, "axes", 3, rank, noAxes, length);
  std::optional<Dims> steps = intsOrRead(node, "steps", 4, noSteps, length);
  if (!starts || !ends || (!axes && !noAxes) || (!steps && !noSteps))
    return std::nullopt;
  if (noAxes)
    axes = countUp(starts->size());
  if (noSteps)
    steps = Dims(starts->size(), DimExpr(1));
  if (ends->size() != starts->size() || axes->size() != starts->size() || steps->size() != starts->size() ||
      int64_t(axes->size()) > rank) {
    (void)node.refuse("starts, ends, axes and steps differ in length");
    return std::nullopt;
  }
  return SliceLists{*starts, *ends, *axes, *steps};
}

LogicalResult buildSlice(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x);
  size_t rank = dims.size();
  std::optional<SliceLists> lists = readLists(node, rank);
  if (!lists)
    return failure();
  // The slice of each dim starts as its full range. Axes may be symbols, so each axis adds (axis ==
  // dim) times the change of the range to every dim.
  SmallVector<SliceRange> ranges;
  Dims allSteps(rank, DimExpr(1));
  for (const DimExpr &dim : dims)
    ranges.push_back({DimExpr(0), dim});
  for (auto [start, end, axis, step] : llvm::zip(lists->starts, lists->ends, lists->axes, lists->steps)) {
    if (step.is(0))
      return node.refuse("step 0 is not supported");
    // A slice with a step beyond every dim has at most one element, and any step of the same sign
    // selects it.
    std::optional<int64_t> known = step.constant();
    bool single = known && (*known >= kBeyond || *known <= -kBeyond);
    if (single) {
      step = DimExpr(*known > 0 ? 1 : -1);
    } else if (!known) {
      // -INT64_MIN is not representable
      step = DimExpr::max(DimExpr::min(step, DimExpr(kBeyond)), DimExpr(-kBeyond));
      require(node.b, node.loc, Relation::AtMost, DimExpr(1), DimExpr::max(step, step * DimExpr(-1)));
    }
    for (auto [d, dim] : llvm::enumerate(dims)) {
      DimExpr here = equals(axis, DimExpr(int64_t(d)));
      if (here.is(0))
        continue;
      SliceRange range = resolveSlice(node, start, end, step, dim);
      if (single)
        range.size = DimExpr::min(range.size, DimExpr(1));
      ranges[d].offset = ranges[d].offset + here * range.offset;
      ranges[d].size = ranges[d].size + here * (range.size - dim);
      // A slice of at most one element is the same with any step; with step 1, it can be a view.
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

LogicalResult checkParts(OnnxNode &node, const Dims &sizes, const DimExpr &dim) {
  DimExpr all(0);
  for (const DimExpr &size : sizes)
    all = all + size;
  if (all.constant() && dim.constant() && all != dim)
    return node.refuse("the parts have " + all.str() + " elements in total, but the dim has " + dim.str());
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
  std::optional<Dims> sizes = intsOrRead(node, "split", 1, absent, node.numOutputs());
  if (!sizes && !absent)
    return failure();
  DimExpr dim = getDims(x)[*axis];
  int64_t parts = node.getInt("num_outputs", node.numOutputs());
  if (parts != int64_t(node.numOutputs()))
    return node.refuse("num_outputs is " + Twine(parts) + ", and there are " + Twine(node.numOutputs()) + " outputs");
  if (absent) {
    if (parts < 1)
      return node.refuse("cannot split into " + Twine(parts) + " parts");
    // The outputs of a Split without sizes are equally large, except that the last one may be
    // smaller since opset 18.
    DimExpr part = dim.ceilDiv(DimExpr(parts));
    if (dim.constant() && *dim.constant() % parts != 0 && node.opset() < 18)
      return node.refuse(dim.str() + " elements cannot be split into " + Twine(parts) + " equal parts");
    DimExpr last = dim - part * DimExpr(parts - 1);
    if (last.constant() && *last.constant() < 0)
      return node.refuse(dim.str() + " elements cannot be split into " + Twine(parts) + " parts of " + part.str());
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
    // The offset of an output of a Split is the sum of the sizes before it. With given sizes, this
    // expression may become long; with equal sizes, it is a multiple of one size.
    offset = absent ? offset + size : node.shortened(offset + size);
  }
  return absent ? success() : checkParts(node, *sizes, dim);
}

namespace {
/// The padding of each dim of a tensor, at its start and at its end.
struct Padding {
  Dims low, high;
};
} // namespace

/// Reads the padding of a Pad node whose axes and pads both have dynamic length.
static std::optional<Padding> readOpenPads(OnnxNode &node, int64_t rank) {
  Composer c(node);
  Value pads = node.input(1), matches = matchAxes(node, node.input(3), rank);
  if (!matches)
    return std::nullopt;
  DimExpr length = getDims(matches)[0];
  pads = c.reshape(pads, {DimExpr(2), length});
  auto read = [&](int64_t row) -> std::optional<Dims> {
    Value values = c.reshape(c.slice(pads, 0, DimExpr(row), DimExpr(1)), {length});
    Value spread = spreadOverDims(node, matches, values, 0);
    return spread ? node.contentsOrRead(spread) : std::nullopt;
  };
  std::optional<Dims> low = read(0), high = read(1);
  if (!low || !high)
    return std::nullopt;
  return Padding{*low, *high};
}

/// Reads the pads and axes of a Pad node, which are attributes or inputs.
static std::optional<Padding> readPadding(OnnxNode &node, int64_t rank) {
  bool absent, noAxes;
  StringRef name = node.hasAttr("paddings") ? "paddings" : "pads";
  Value padsList = node.hasAttr(name) ? Value() : node.input(1), axesList = node.input(3);
  if (rank > 0 && hasOpenLength(padsList) && hasOpenLength(axesList))
    return readOpenPads(node, rank);
  std::optional<int64_t> numPads;
  if (padsList && getRank(padsList) == 1)
    numPads = getDims(padsList)[0].constant();
  std::optional<Dims> axes =
      axesOrRead(node, "axes", 3, rank, noAxes, numPads ? std::optional(*numPads / 2) : std::nullopt);
  if (!axes && !noAxes)
    return std::nullopt;
  if (noAxes)
    axes = countUp(rank);
  std::optional<Dims> pads = intsOrRead(node, name, 1, absent, 2 * axes->size());
  if (!pads) {
    if (absent)
      (void)node.refuse("needs pads");
    return std::nullopt;
  }
  if (pads->size() != 2 * axes->size()) {
    (void)node.refuse("has " + Twine(pads->size()) + " pads for " + Twine(axes->size()) + " dims");
    return std::nullopt;
  }
  Padding padding{Dims(rank, DimExpr(0)), Dims(rank, DimExpr(0))};
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    Dims here = marks(axis, rank);
    for (int64_t d = 0; d < rank; ++d) {
      padding.low[d] = padding.low[d] + here[d] * (*pads)[i];
      padding.high[d] = padding.high[d] + here[d] * (*pads)[axes->size() + i];
    }
  }
  return padding;
}

/// Emits padding. In modes reflect and wrap, an element's operand index takes a division if the dim
/// or the padding is dynamic, and adjacent elements are not adjacent in the operand. So the result
/// is a concat along the innermost dim of the padding before it, the operand, and the padding after
/// it: the operand is copied row by row. A pad of -n crops all n elements.
static Value padByRows(Composer &c, Value x, Dims low, Dims high, StringRef mode, Value value) {
  if ((mode != "reflect" && mode != "wrap") || low.empty() || (low.back().is(0) && high.back().is(0)))
    return c.pad(x, low, high, mode, value);
  DimExpr extent = getDims(x).back(), before = low.back(), after = high.back();
  auto part = [&](DimExpr first, DimExpr last) {
    low.back() = first;
    high.back() = last;
    return c.pad(x, low, high, mode);
  };
  SmallVector<Value> parts;
  if (!before.is(0))
    parts.push_back(part(before, DimExpr(0) - extent));
  parts.push_back(part(DimExpr(0), DimExpr(0)));
  if (!after.is(0))
    parts.push_back(part(DimExpr(0) - extent, after));
  return c.concat(parts, int64_t(low.size()) - 1);
}

/// Requires that reflect padding reflects once. A reflection adds at most one element less than the
/// dim has, because the element at the end is not repeated.
static void requireReflectable(OnnxNode &node, ArrayRef<DimExpr> dims, ArrayRef<DimExpr> low, ArrayRef<DimExpr> high) {
  for (auto [dim, before, after] : llvm::zip(dims, low, high))
    for (const DimExpr &added : {before, after})
      require(node.b, node.loc, Relation::AtMost, added + DimExpr::min(added, DimExpr(1)), dim);
}

LogicalResult buildPad(OnnxNode &node) {
  Value x = node.input(0), value = node.input(2);
  size_t rank = getRank(x);
  std::optional<Padding> padding = readPadding(node, rank);
  if (!padding)
    return failure();
  Dims low = shortened(node, padding->low, /*areSizes=*/false), high = shortened(node, padding->high, false);
  Composer c(node);
  std::string mode = node.getString("mode", "constant");
  if (mode == "constant" && !value && node.getFloat("value", 0) != 0)
    value = c.scalarLike(x, node.getFloat("value", 0));
  // A Pad node with negative pads is imported as a crop before the padding, because the padding
  // modes must not read the removed elements.
  for (size_t d = 0; mode != "constant" && d < rank; ++d) {
    if (isNonNegative(low[d]) && isNonNegative(high[d]))
      continue;
    DimExpr before = clampToZero(low[d] * DimExpr(-1)), behind = clampToZero(high[d] * DimExpr(-1));
    x = x ? c.slice(x, int64_t(d), before, getDims(x)[d] - before - behind) : x;
    low[d] = clampToZero(low[d]);
    high[d] = clampToZero(high[d]);
  }
  if (mode == "reflect" && x)
    requireReflectable(node, getDims(x), low, high);
  return node.finish(x ? padByRows(c, x, low, high, mode, mode == "constant" ? value : Value()) : Value());
}

} // namespace hewn::graph
