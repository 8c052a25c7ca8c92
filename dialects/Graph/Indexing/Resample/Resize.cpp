// SPDX-License-Identifier: Apache-2.0
//
// graph.resize: maps an index along the resized dim to a fractional position in the operand, and
// sums weighted operand elements around this position.
#include "dialects/Graph/Analysis/Halo.h"
#include "dialects/Graph/Indexing/Resample/ResizeOps.h"
#include "dialects/Graph/Indexing/Resample/Scaling.h"
#include "dialects/Handle/Handle.h"

using namespace mlir;

namespace hewn::graph {

static TapRange tapRangeOf(ResizeOp op, bool antialias, const DimExpr &in, const DimExpr &size) {
  DimExpr reach(op.getMode() == "cubic" ? 2 : 1), one(1), two(2);
  if (!antialias)
    return {1, reach};
  DimExpr out = DimExpr::max(size, one);
  double scale = op.getScale().convertToDouble();
  if (scale > 0) {
    double shrink = std::min(scale, 1.0);
    return {shrink, DimExpr(int64_t(std::ceil(double(*reach.constant()) / shrink)))};
  }
  if (scale < 0) // The result's size is at most 1/2 above scale * in, so that 1/scale <= 2*in / (2*out - 1).
    return {std::nullopt, (two * reach * DimExpr::max(in, out)).ceilDiv(two * out - one)};
  DimExpr half = (reach * DimExpr::max(in, out)).ceilDiv(out);
  if (!in.constant() || !out.constant())
    return {std::nullopt, half};
  return {std::min(double(*out.constant()) / std::max(double(*in.constant()), 1.0), 1.0), half};
}

bool TapRange::unrolls() const {
  constexpr int64_t mostTaps = 16;
  std::optional<int64_t> known = half.constant();
  return shrink && known && 2 * *known <= mostTaps;
}

TapRange tapRangeOf(ResizeOp op, bool antialias) {
  return tapRangeOf(op, antialias, getDims(op.getX())[op.getDim()], parseDims(op.getSize())->front());
}

LogicalResult ResizeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  std::optional<Dims> size = parseDims(getSize());
  if (!size || size->size() != 1 || getDim() >= dims.size())
    return emitOpError("needs a dim of the operand and its new size");
  if (handle::isHandle(getElementType(getX())))
    return emitOpError("does not support strings");
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, getMode()))
    return emitOpError() << "mode '" << getMode() << "' is none of nearest, linear, cubic";
  if (!llvm::is_contained({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, getNearest()))
    return emitOpError() << "nearest mode '" << getNearest() << "' is unknown";
  if (!llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                           "tf_crop_and_resize", "tf_half_pixel_for_nn"},
                          getCoordinates()))
    return emitOpError() << "coordinates '" << getCoordinates() << "' are unknown";
  if (getMode() != "nearest" && !isa<FloatType>(getElementType(getX())))
    return emitOpError("interpolation requires floats");
  if (getGiven() ? !getElementType(getGiven()).isF64() || dimsOf(getGiven()) != Dims{DimExpr(3)}
                 : getScale().isNegative())
    return emitOpError(
        "requires a 'given' operand of three f64 values for a dynamic scale, and a non-negative scale otherwise");
  if (!tapRangeOf(*this, getAntialias(), dims[getDim()], size->front()).unrolls())
    return emitOpError("antialiasing requires a constant scale, and at most 16 weights per element");
  dims[getDim()] = size->front();
  results.push_back({dims, getElementType(getX())});
  return success();
}

namespace {

struct ResizeTap {
  Index index; // may be out of bounds
  Value weight;
};

} // namespace

/// Reads element `i` of operand `given` of graph.resize, which has a scale and a region that are
/// computed at run time.
static Value givenAt(ResizeOp op, Positions &p, int64_t i) {
  Value number = p.e.read(op.getGiven(), p.e.constant(i));
  return p.type.isF64() ? number : Value(p.e.b.createOrFold<arith::TruncFOp>(p.e.loc, p.type, number));
}

/// Returns the extents of the resized dim and the run-time values from which positions are
/// computed.
static Scaling scalingOf(ResizeOp op, Positions &p, llvm::function_ref<Value(int64_t)> given) {
  return {p.of(p.e.extent(op.getX(), op.getDim())), p.of(p.e.expression(parseDims(op.getSize())->front())), given};
}

Index placeOf(ResizeOp op, ElementBuilder &e, Index at, Index place) {
  std::optional<int64_t> in = getDims(op.getX())[op.getDim()].constant(),
                         out = parseDims(op.getSize())->front().constant();
  double scale = op.getScale().convertToDouble();
  if (at.general || at.stride != 1 || op.getGiven() || op.getCoordinates() == "tf_crop_and_resize")
    return place;
  if (scale == 0 && !(in && out && *in > 0 && *out > 0))
    return place;
  double step = scale != 0 ? 1 / scale : double(*in) / double(*out);
  if (op.getCoordinates() == "align_corners") {
    if (!in || !out || *out < 2)
      return place;
    step = double(*in - 1) / double(*out - 1);
  }
  // limits the span of a vector's indices; 2 more elements for rounding
  constexpr double longest = 1 << 20;
  return e.ascending(place, int64_t(std::min(std::ceil(double(e.lanes - 1) * step), longest)) + 2);
}

/// Returns the operand elements that are summed for the element of a resize at index `at`, whose
/// position in the operand is `position`. The sum of their weights is 1.
static SmallVector<ResizeTap> tapsAt(ResizeOp op, Positions &p, Index at, Value position) {
  TapRange range = tapRangeOf(op, op.getAntialias());
  int64_t half = *range.half.constant();
  double a = op.getCubic().convertToDouble();
  Value factor = p.constant(*range.shrink);
  Value whole = p.floor(position), ratio = p.sub(position, whole);
  Index base = placeOf(op, p.e, at, p.toIndex(whole));
  Index zero = p.e.constant(0), extent = p.e.extent(op.getX(), op.getDim());
  SmallVector<ResizeTap> taps;
  Value sum;
  for (int64_t i = 1 - half; i <= half; ++i) {
    Value distance = p.mul(p.abs(p.sub(p.constant(double(i)), ratio)), factor);
    Value weight =
        op.getMode() == "cubic" ? cubicWeight(p, distance, a) : p.max(p.constant(0), p.sub(p.constant(1), distance));
    Index index = p.e.add(base, p.e.constant(i));
    if (op.getExcludeOutside())
      weight = p.select(p.e.inBounds(index, extent), weight, p.constant(0));
    taps.push_back({p.e.max(zero, p.e.min(index, p.e.sub(extent, p.e.constant(1)))), weight});
    sum = sum ? p.add(sum, weight) : weight;
  }
  if (op.getExcludeOutside() || *range.shrink < 1) {
    Value none = p.compare(arith::CmpFPredicate::OEQ, sum, p.constant(0));
    sum = p.select(none, p.constant(1), sum);
    for (ResizeTap &tap : taps)
      tap.weight = p.div(tap.weight, sum);
  }
  return taps;
}

std::optional<ShardingRule> ResizeOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  if (int64_t(getDim()) == cut.dim)
    return std::nullopt;
  ShardingRule form{{cut}, ownAttributes(*this)};
  form.operands.resize((*this)->getNumOperands());
  return form;
}

/// Returns the range of operand rows that the result rows `wanted` of a resize read. Returns
/// nullopt unless resampling a row range gives exactly the same positions as resampling the full
/// tensor, shifted by full rows. This holds if one extent is the other extent times a power of 2.
static std::optional<Lines> tapsOf(ResizeOp op, const Lines &wanted, int64_t in, int64_t out) {
  StringRef coordinates = op.getCoordinates(), nearest = op.getNearest();
  double scale = op.getScale().convertToDouble(), step = double(in) / double(out);
  if (op.getGiven() || op.getAntialias() || coordinates == "align_corners" || coordinates == "tf_crop_and_resize" ||
      (scale != 0 && scale != double(out) / double(in)))
    // no halo rule: positions depend on both ends of the tensor, or the scale is only known at run
    // time
    return std::nullopt;
  int64_t times = std::max(in, out) / std::min(in, out);
  if (std::min(in, out) < 2 || std::min(in, out) * times != std::max(in, out) || !llvm::isPowerOf2_64(uint64_t(times)))
    // no halo rule: with other factors, positions are rounded; a dim of 1 has a different formula
    return std::nullopt;
  auto positionOf = [&](int64_t line) {
    if (coordinates == "asymmetric")
      return double(line) * step;
    return (double(line) + 0.5) * step - (coordinates == "tf_half_pixel_for_nn" ? 0 : 0.5);
  };
  double first = positionOf(wanted.begin), last = positionOf(wanted.end - 1);
  Lines read;
  if (op.getMode() != "nearest") {
    int64_t half = *tapRangeOf(op, false).half.constant();
    read = {int64_t(std::floor(first)) + 1 - half, int64_t(std::floor(last)) + half + 1};
  } else if (nearest == "floor" || nearest == "ceil") {
    auto round = [&](double position) { return nearest == "floor" ? std::floor(position) : std::ceil(position); };
    read = {int64_t(round(first)), int64_t(round(last)) + 1};
  } else {
    read = {int64_t(std::ceil(first - 0.5)), int64_t(std::floor(last + 0.5)) + 1};
  }
  return Lines{std::clamp<int64_t>(read.begin, 0, in - 1), std::clamp<int64_t>(read.end, 1, in)};
}

/// The halo rule of a resize: extends the row range to full groups of rows. Result rows at the ends
/// of the range may depend on operand rows that are not available; they are computed with wrong
/// values, but not used.
std::optional<HaloRule> ResizeOp::getHaloRule(const HaloShard &wanted) {
  HaloRule form{{wanted}, ownAttributes(*this), wanted.lines};
  form.operands.resize((*this)->getNumOperands());
  if (int64_t(getDim()) != wanted.dim)
    return form;
  std::optional<Lines> all = linesOf(getX(), wanted.dim), made = linesOf(getResult(), wanted.dim);
  std::optional<Lines> taps = all && made ? tapsOf(*this, wanted.lines, all->size(), made->size()) : std::nullopt;
  if (!taps)
    return std::nullopt;
  // A resize maps each group of `in` operand rows to `out` result rows.
  int64_t least = std::min(all->size(), made->size()), in = all->size() / least, out = made->size() / least;
  Lines units = Lines{taps->begin / in, int64_t(llvm::divideCeil(taps->end, in))}.join(
      {wanted.lines.begin / out, int64_t(llvm::divideCeil(wanted.lines.end, out))});
  form.made = {units.begin * out, units.end * out};
  form.operands[0]->lines = {units.begin * in, units.end * in};
  form.attributes = withDim(*this, "size", 0, DimExpr(form.made.size()));
  return form;
}

bool ResizeOp::getCopiesEqualDims() {
  return getScale().isZero() && !getGiven() && getCoordinates() != "tf_crop_and_resize";
}

Value ResizeOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  int64_t dim = getDim();
  Type element = computeType(getElementType(getX()));
  SmallVector<Index> from(at);
  bool nearest = getMode() == "nearest";
  if (std::optional<Index> index = nearest ? exactNearest(*this, e, at[dim]) : std::nullopt) {
    from[dim] = *index;
    return e.read(getX(), from);
  }
  // Which element is nearest must not depend on rounding, so that positions are computed in
  // float64.
  Positions p(e, nearest || element.isF64() ? Type(e.b.getF64Type()) : Type(e.b.getF32Type()));
  auto given = [&](int64_t i) { return givenAt(*this, p, i); };
  Value position = originalPosition(*this, p, p.of(at[dim]), scalingOf(*this, p, given)), result;
  if (nearest) {
    from[dim] = roundPosition(*this, p, at[dim], position);
    result = e.read(getX(), from);
  } else {
    for (const ResizeTap &tap : tapsAt(*this, p, at[dim], position)) {
      from[dim] = tap.index;
      Value term = p.mul(tap.weight, e.read(getX(), from));
      result = result ? p.add(result, term) : term;
    }
  }
  if (getCoordinates() != "tf_crop_and_resize")
    return result;
  Value low = p.compare(arith::CmpFPredicate::OGE, position, p.constant(0));
  Value last = p.of(e.sub(e.extent(getX(), dim), e.constant(1)));
  Value inside = e.logicalAnd(low, p.compare(arith::CmpFPredicate::OLE, position, last));
  return e.selectElement(inside, result,
                         e.constantElement(getElementType(getX()), getExtrapolation().convertToDouble()));
}

} // namespace hewn::graph
