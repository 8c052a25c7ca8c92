// SPDX-License-Identifier: Apache-2.0
//
// Import of the ops in Index.td.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/Indexing/IndexOps.h"

using namespace mlir;

namespace hewn::graph {

/// Returns the value of input `i` of the node, a single integer of any type. If it is only known at
/// run time, returns a symbol. Returns nullopt after a call of `refuse`.
static std::optional<DimExpr> wholeNumber(OnnxNode &node, StringRef name, unsigned i) {
  Composer c(node);
  Value value = node.input(i);
  if (DimExpr count = numElements(getDims(value)); !count.is(1)) {
    (void)node.refuse(name + " has " + count.str() + " elements and must have one");
    return std::nullopt;
  }
  if (std::optional<SmallVector<double>> known = node.floatContents(value); known && known->size() == 1) {
    double number = known->front(), most = double(int64_t(1) << 31);
    if (number == std::trunc(number) && std::abs(number) <= most)
      return DimExpr(int64_t(number));
    (void)node.refuse(name + " is " + std::to_string(number) + " and must be a 32-bit integer");
    return std::nullopt;
  }
  std::optional<Dims> contents = node.contentsOrRead(c.cast(c.reshape(value, {}), node.b.getI64Type()));
  return contents ? std::optional(contents->front()) : std::nullopt;
}

/// Imports Tile of opsets 1 to 5: repeats x `tiles` times along `axis`. Both are tensors with the
/// element type of x.
static LogicalResult tileOneDim(OnnxNode &node, Dims &repeats) {
  std::optional<DimExpr> tiles = wholeNumber(node, "tiles", 1);
  std::optional<DimExpr> written = tiles ? wholeNumber(node, "axis", 2) : std::nullopt;
  if (!written)
    return failure();
  if (!written->constant())
    return node.refuse("a dynamic axis is not supported");
  std::optional<int64_t> axis = node.axis(*written->constant(), repeats.size());
  if (!axis)
    return failure();
  repeats[*axis] = *tiles;
  return success();
}

/// Emits a tile op. Repetition along a dim becomes repetition along a new dim of size 1 before it,
/// so that rows of x are copied. Otherwise, an operand index along a repeated dim is a remainder,
/// which takes a division if the dim is dynamic.
static Value tileByRows(OnnxNode &node, Value x, const Dims &repeats) {
  Dims shape, split, result;
  for (auto [dim, repeat] : llvm::zip(getDims(x), repeats)) {
    bool isBroadcast = dim.is(1) || repeat.is(1);
    if (!isBroadcast) {
      shape.push_back(DimExpr(1));
      split.push_back(repeat);
    }
    shape.push_back(dim);
    split.push_back(isBroadcast ? repeat : DimExpr(1));
    result.push_back(dim * repeat);
  }
  Composer c(node);
  x = c.reshape(x, shape);
  return x ? c.reshape(node.make<TileOp>(x, node.attr("repeats", ArrayRef<DimExpr>(split))), result) : Value();
}

LogicalResult buildTile(OnnxNode &node) {
  Value x = node.input(0);
  Dims repeats(getRank(x), DimExpr(1));
  if (node.opset() < 6) {
    if (failed(tileOneDim(node, repeats)))
      return failure();
  } else {
    std::optional<Dims> written = node.contentsOrRead(node.input(1), repeats.size());
    if (!written)
      return failure();
    if (written->size() != repeats.size())
      return node.refuse("has " + Twine(written->size()) + " repeats for rank " + Twine(repeats.size()));
    repeats = *written;
  }
  if (llvm::all_of(repeats, [](const DimExpr &r) { return r.is(1); }))
    return node.finish(x);
  return node.finish(tileByRows(node, x, repeats));
}

LogicalResult buildGatherElements(OnnxNode &node) {
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(node.input(0)));
  if (!axis)
    return failure();
  if (failed(checkIndices(node, node.input(1), getDims(node.input(0))[*axis])))
    return failure();
  return node.finish(node.make<GatherElementsOp>({node.input(0), node.input(1)}, node.attr("axis", *axis)));
}

LogicalResult buildGatherND(OnnxNode &node) {
  Dims dims = getDims(node.input(0)), places = getDims(node.input(1));
  int64_t from = node.getInt("batch_dims", 0), depth = places.empty() ? 0 : places.back().constant().value_or(0);
  if (from < 0 || from >= int64_t(std::min(dims.size(), places.size())))
    return node.refuse("batch_dims " + Twine(from) + " must be at least 0 and less than both ranks");
  if (from + depth <= int64_t(dims.size()) &&
      failed(checkIndices(node, node.input(1), ArrayRef(dims).slice(from, depth))))
    return failure();
  return node.finish(node.make<GatherNDOp>({node.input(0), node.input(1)}, node.attr("batchDims", from)));
}

LogicalResult buildOneHot(OnnxNode &node) {
  Composer c(node);
  Value indices = node.input(0), depth = node.input(1), i64Depth;
  if (isa<FloatType>(getElementType(depth))) {
    std::optional<SmallVector<double>> known = node.floatContents(depth);
    i64Depth = known && known->size() == 1 ? makeSplat(node.b, node.loc, node.b.getI64Type(), known->front())
                                           : c.cast(depth, node.b.getI64Type());
  } else {
    i64Depth = depth;
  }
  std::optional<Dims> contents = node.contentsOrRead(i64Depth, 1);
  if (!contents)
    return failure();
  if (contents->size() != 1)
    return node.refuse("depth must be a scalar");
  require(node.b, node.loc, Relation::AtMost, DimExpr(0), contents->front());
  if (isa<FloatType>(getElementType(indices)))
    indices = c.cast(indices, node.b.getI64Type());
  return node.finish(node.make<OneHotOp>({indices, node.input(2)}, {node.attr("depth", ArrayRef<DimExpr>(*contents)),
                                                                    node.attr("axis", node.getInt("axis", -1))}));
}

LogicalResult buildTrilu(OnnxNode &node) {
  Dims k = {DimExpr(0)};
  if (node.input(1)) {
    std::optional<Dims> contents = node.contentsOrRead(node.input(1), 1);
    if (!contents)
      return failure();
    if (contents->size() != 1)
      return node.refuse("k must be a scalar");
    // The diagonal number k of Trilu is clamped, so that index arithmetic cannot overflow. No
    // matrix is so large that the limit matters: all diagonals outside of a matrix are equivalent.
    constexpr int64_t far = int64_t(1) << 62;
    k = {DimExpr::max(DimExpr::min(contents->front(), DimExpr(far)), DimExpr(-far))};
  }
  return node.finish(
      node.make<TriluOp>(node.input(0), {node.attr("k", ArrayRef<DimExpr>(k)),
                                         node.attr("upper", node.b.getBoolAttr(node.getInt("upper", 1)))}));
}

LogicalResult buildEyeLike(OnnxNode &node) {
  Type type = node.hasAttr("dtype") ? node.elementTypeOf(node.getInt("dtype", 1)) : getElementType(node.input(0));
  if (!type)
    return node.refuse("data type " + Twine(node.getInt("dtype", 1)) + " is not supported");
  Dims shape = getDims(node.input(0));
  // limit of the diagonal number k of EyeLike, as in Trilu
  constexpr int64_t far = int64_t(1) << 62;
  return node.finish(
      node.make<EyeOp>({}, {node.attr("shape", ArrayRef<DimExpr>(shape)),
                            node.attr("k", std::clamp(node.getInt("k", 0, OnnxNode::Range::Any), -far, far)),
                            node.attr("elementType", TypeAttr::get(type))}));
}

/// Emits ops that compute the number of elements of a Range at run time: max(0, ceil((limit -
/// start) / delta)). If this is undefined (delta = 0, or overflow of 64 bits), the number is larger
/// than any possible size, so that the run ends with an error status.
static std::optional<Dims> readCount(OnnxNode &node, Value start, Value limit, Value delta) {
  Composer c(node);
  Type wide = isa<FloatType>(getElementType(start)) ? Type(node.b.getF64Type()) : Type(node.b.getI64Type());
  Value span = c.op<SubOp>({c.cast(limit, wide), c.cast(start, wide)}), step = c.cast(delta, wide), count;
  if (isa<FloatType>(wide)) {
    count = c.cast(c.op<CeilOp>(c.op<DivOp>({span, step})), node.b.getI64Type());
  } else {
    // The integer division of a Range rounds toward zero, but its length is rounded up. Adds one if
    // the remainder is not 0 and has the sign of limit - start.
    Value whole = c.op<DivOp>({span, step}), rest = c.op<SubOp>({span, c.op<MulOp>({whole, step})});
    Value zero = c.scalarLike(rest, 0);
    Value more = c.cast(c.op<LessOp>({zero, c.op<MulOp>({rest, step})}), wide);
    count = c.op<AddOp>({whole, more});
  }
  count = c.op<MaximumOp>({count, c.scalarLike(count, 0)});
  if (!count)
    return std::nullopt;
  Type f64 = node.b.getF64Type();
  Value far = c.op<SubOp>({c.cast(limit, f64), c.cast(start, f64)}), steps = c.op<DivOp>({far, c.cast(step, f64)});
  Value some = c.op<AndOp>({c.op<LessOp>({c.op<AbsOp>({far}), makeSplat(node.b, node.loc, f64, 0x1p63)}),
                            c.op<LessOp>({c.op<AbsOp>({steps}), makeSplat(node.b, node.loc, f64, 0x1p62)})});
  count = c.op<WhereOp>({some, count, makeSplat(node.b, node.loc, node.b.getI64Type(), double(int64_t(1) << 62))});
  return count ? node.contentsOrRead(count) : std::nullopt;
}

LogicalResult buildRange(OnnxNode &node) {
  Composer c(node);
  Value start = c.reshape(node.input(0), {}), limit = c.reshape(node.input(1), {}),
        delta = c.reshape(node.input(2), {});
  if (!start || !limit || !delta)
    return failure();
  std::optional<Dims> count;
  if (isa<FloatType>(getElementType(start))) {
    std::optional<SmallVector<double>> from = node.floatContents(node.input(0)), to = node.floatContents(node.input(1)),
                                       by = node.floatContents(node.input(2));
    if (by && by->size() == 1 && by->front() == 0)
      return node.refuse("delta must not be 0");
    if (from && to && by && from->size() == 1 && to->size() == 1 && by->size() == 1) {
      double n = std::ceil((to->front() - from->front()) / by->front());
      if (!(n < 9e15)) // not `n >= 9e15`: NaN is rejected, too
        return node.refuse("has too many elements");
      count = Dims{DimExpr(int64_t(std::max(0.0, n)))};
    }
  } else {
    std::optional<Dims> from = node.contents(node.input(0)), to = node.contents(node.input(1)),
                        by = node.contents(node.input(2));
    std::optional<int64_t> step = by && by->size() == 1 ? by->front().constant() : std::nullopt;
    if (step == 0)
      return node.refuse("delta must not be 0");
    if (from && to && from->size() == 1 && to->size() == 1 && step && *step < INT64_MAX && *step > INT64_MIN) {
      DimExpr span = *step > 0 ? to->front() - from->front() : from->front() - to->front();
      count = Dims{clampToZero(span.ceilDiv(DimExpr(std::abs(*step))))};
    }
  }
  if (!count)
    count = readCount(node, start, limit, delta);
  if (!count)
    return failure();
  return node.finish(node.make<RangeOp>({start, delta}, node.attr("count", ArrayRef<DimExpr>(*count))));
}

LogicalResult buildReverseSequence(OnnxNode &node) {
  int64_t rank = getRank(node.input(0));
  std::optional<int64_t> batch = node.axis(node.getInt("batch_axis", 1), rank),
                         time = node.axis(node.getInt("time_axis", 0), rank);
  if (!batch || !time)
    return failure();
  if (node.input(1) && getRank(node.input(1)) == 1 &&
      failed(checkIndices(node, node.input(1), getDims(node.input(0))[*time], IndexRange::Length)))
    return failure();
  return node.finish(node.make<ReverseSequenceOp>({node.input(0), node.input(1)},
                                                  {node.attr("batchAxis", *batch), node.attr("timeAxis", *time)}));
}

//===------------------------------------------------------------------------------------------===//
// Ops that decompose into reshapes and transposes
//===------------------------------------------------------------------------------------------===//

LogicalResult buildDepthToSpace(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  Dims d = getDims(x);
  int64_t block = node.getInt("blocksize", 0);
  if (d.size() != 4 || block < 1)
    return node.refuse("needs an input of rank 4 and a block size");
  DimExpr b(block), depth = d[1].floorDiv(b * b);
  if (d[1].constant() && d[1] != depth * b * b)
    return node.refuse(d[1].str() + " channels are not divisible by " + Twine(block * block));
  bool dcr = node.getString("mode", "DCR") == "DCR";
  x = dcr ? c.reshape(x, {d[0], b, b, depth, d[2], d[3]}) : c.reshape(x, {d[0], depth, b, b, d[2], d[3]});
  x = dcr ? c.transpose(x, {0, 3, 4, 1, 5, 2}) : c.transpose(x, {0, 1, 4, 2, 5, 3});
  return node.finish(c.reshape(x, {d[0], depth, d[2] * b, d[3] * b}));
}

LogicalResult buildSpaceToDepth(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  Dims d = getDims(x);
  int64_t block = node.getInt("blocksize", 0);
  if (d.size() != 4 || block < 1)
    return node.refuse("needs an input of rank 4 and a block size");
  DimExpr b(block), height = d[2].floorDiv(b), width = d[3].floorDiv(b);
  if ((d[2].constant() && d[2] != height * b) || (d[3].constant() && d[3] != width * b))
    return node.refuse(d[2].str() + " x " + d[3].str() + " elements are not divisible by " + Twine(block));
  bool crd = node.getString("mode", "DCR") == "CRD";
  x = c.reshape(x, {d[0], d[1], height, b, width, b});
  x = crd ? c.transpose(x, {0, 1, 3, 5, 2, 4}) : c.transpose(x, {0, 3, 5, 1, 2, 4});
  return node.finish(c.reshape(x, {d[0], d[1] * b * b, height, width}));
}

LogicalResult buildCenterCropPad(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x);
  SmallVector<int64_t> axes =
      node.getInts("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, int64_t(dims.size()))));
  std::optional<Dims> shape = node.contentsOrRead(node.input(1), axes.size());
  if (!shape)
    return failure();
  if (axes.size() != shape->size())
    return node.refuse("axes and shape differ in length");
  Dims low(dims.size(), DimExpr(0)), high(dims.size(), DimExpr(0));
  for (auto [written, want] : llvm::zip(axes, *shape)) {
    std::optional<int64_t> axis = node.axis(written, dims.size());
    if (!axis)
      return failure();
    // CenterCropPad pads or crops half of the difference of the sizes, rounded toward zero, at the
    // start.
    DimExpr more = want - dims[*axis], two(2);
    if (more.constant())
      low[*axis] = DimExpr(*more.constant() / 2);
    else
      low[*axis] = clampToZero(more.floorDiv(two)) - clampToZero((more * DimExpr(-1)).floorDiv(two));
    high[*axis] = more - low[*axis];
  }
  return node.finish(Composer(node).pad(x, low, high));
}

} // namespace hewn::graph
