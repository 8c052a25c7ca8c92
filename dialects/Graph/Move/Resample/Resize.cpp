// SPDX-License-Identifier: Apache-2.0
//
// Resampling along one dim: where a result index lies in the operand, and the weights of the elements around it.
#include "dialects/Graph/Analysis/Bands.h"
#include "dialects/Graph/Move/Resample/ResizeOps.h"
#include "dialects/Graph/Move/Resample/Scaling.h"
#include "dialects/Handle/Handle.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult ResizeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  std::optional<Dims> size = parseDims(getSize());
  if (!size || size->size() != 1 || getDim() >= dims.size())
    return emitOpError("needs a dim of the operand and its new size");
  if (handle::isHandle(getElementType(getX())))
    return emitOpError("weighs elements, which strings are not");
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, getMode()))
    return emitOpError() << "mode '" << getMode() << "' is none of nearest, linear, cubic";
  if (!llvm::is_contained({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, getNearest()))
    return emitOpError() << "'" << getNearest() << "' is no way to round";
  if (!llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                           "tf_crop_and_resize", "tf_half_pixel_for_nn"},
                          getCoordinates()))
    return emitOpError() << "coordinates '" << getCoordinates() << "' are unknown";
  if (getMode() != "nearest" && !isa<FloatType>(getElementType(getX())))
    return emitOpError("interpolates floats only");
  if (getGiven() ? !getElementType(getGiven()).isF32() || dimsOf(getGiven()) != Dims{DimExpr(3)}
                 : getScale().isNegative())
    return emitOpError("needs three floats where it is given its scale");
  dims[getDim()] = size->front();
  results.push_back({dims, getElementType(getX())});
  return success();
}

namespace {

struct ResizeTap {
  Index index; // may lie outside
  Value weight;
};

} // namespace

/// Nearest neighbours at a whole factor, up or down, by integers alone; nullopt where it takes floats.
static std::optional<Index> nearestByIntegers(ResizeOp op, ElementBuilder &e, Index at) {
  Dims dims = getDims(op.getX());
  std::optional<int64_t> in = dims[op.getDim()].constant(), out = parseDims(op.getSize())->front().constant();
  StringRef coordinates = op.getCoordinates(), nearest = op.getNearest();
  bool asymmetric = coordinates == "asymmetric";
  bool centered = coordinates == "half_pixel" || coordinates == "half_pixel_symmetric" ||
                  (coordinates == "pytorch_half_pixel" && out != 1);
  double scale = op.getScale().convertToDouble();
  int64_t up = 0, down = 0;
  if (scale < 0)
    return std::nullopt;
  if (in && out && *in > 0 && *out > 0 && (scale == 0 || scale == double(*out) / double(*in))) {
    up = *out % *in == 0 ? *out / *in : 0;
    down = *in % *out == 0 ? *in / *out : 0;
  } else if (scale >= 1 && scale < 1e6 && scale == std::floor(scale)) {
    up = int64_t(scale);
  }
  bool rounds = nearest == "round_prefer_floor" || nearest == "round_prefer_ceil";
  if (up == 1 && (asymmetric || centered))
    return at;
  if (up && ((centered && rounds) || (asymmetric && nearest == "floor")))
    return e.floorDiv(at, e.constant(up));
  if (up && asymmetric) {
    // ceil(i / k), or i / k rounded to the half that is asked for.
    Index twice = e.mul(at, e.constant(2));
    Index picked =
        nearest == "ceil"
            ? e.floorDiv(e.add(at, e.constant(up - 1)), e.constant(up))
            : e.floorDiv(e.add(twice, e.constant(nearest == "round_prefer_ceil" ? up : up - 1)), e.constant(2 * up));
    return e.min(picked, e.sub(e.extent(op.getX(), op.getDim()), e.constant(1)));
  }
  if (down && asymmetric)
    return e.mul(at, e.constant(down));
  if (down && centered) // the middle of the elements that one stands for; between two of them for even factors
    return e.add(e.mul(at, e.constant(down)),
                 e.constant(nearest == "ceil" || nearest == "round_prefer_ceil" ? down / 2 : (down - 1) / 2));
  return std::nullopt;
}

/// Number `i` of what is given when the model runs.
static Value givenAt(ResizeOp op, Positions &p, int64_t i) {
  Value number = p.e.read(op.getGiven(), p.e.constant(i));
  return number.getType() == p.type ? number : p.e.b.createOrFold<arith::ExtFOp>(p.e.loc, p.type, number);
}

/// What the position of an index is computed from.
static Scaling scalingOf(ResizeOp op, Positions &p, llvm::function_ref<Value(int64_t)> given) {
  return {p.of(p.e.extent(op.getX(), op.getDim())), p.of(p.e.expression(parseDims(op.getSize())->front())), given};
}

/// `place`, a position in the operand rounded down or to the nearest, with what is known of neighbours' places: they ascend.
static Index placeOf(ResizeOp op, ElementBuilder &e, Index at, Index place) {
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
  constexpr double longest = 1 << 20; // and rounding may add one
  return e.ascending(place, int64_t(std::min(std::ceil(double(e.lanes - 1) * step), longest)) + 2);
}

TapRange tapRangeOf(ResizeOp op) {
  TapRange range;
  // The number of weights is bounded: an image shrunk by more than 64 is blurred less than it should be.
  constexpr double least = 1.0 / 64;
  if (op.getAntialias()) {
    std::optional<int64_t> in = getDims(op.getX())[op.getDim()].constant(),
                           out = parseDims(op.getSize())->front().constant();
    double scale = op.getScale().convertToDouble();
    if (scale == 0 && in && out && *in > 0)
      scale = double(*out) / double(*in);
    if (scale > 0 && scale < 1)
      range.shrink = std::max(scale, least);
    range.isTold = scale < 0 || (scale == 0 && !(in && out));
    if (range.isTold)
      range.shrink = std::max(in && *in > 0 ? 1.0 / double(*in) : 0.0, least);
  }
  double reach = op.getMode() == "cubic" ? 2 : 1;
  range.first = int64_t(std::floor(-reach / range.shrink)) + 1;
  range.last = 1 - range.first;
  return range;
}

/// The elements that are weighed at `position`, that of index `at`, with weights that sum to 1.
static SmallVector<ResizeTap> tapsAt(ResizeOp op, Positions &p, Index at, Value position) {
  TapRange range = tapRangeOf(op);
  double a = op.getCubic().convertToDouble();
  auto given = [&](int64_t i) { return givenAt(op, p, i); };
  Value factor = range.isTold ? distanceFactor(op, p, range, scalingOf(op, p, given)) : p.constant(range.shrink);
  Value whole = p.floor(position), ratio = p.sub(position, whole);
  Index base = placeOf(op, p.e, at, p.toIndex(whole));
  Index zero = p.e.constant(0), extent = p.e.extent(op.getX(), op.getDim());
  SmallVector<ResizeTap> taps;
  Value sum;
  for (int64_t i = range.first; i <= range.last; ++i) {
    Value distance = p.mul(p.abs(p.sub(p.constant(double(i)), ratio)), factor);
    Value weight =
        op.getMode() == "cubic" ? cubicWeight(p, distance, a) : p.max(p.constant(0), p.sub(p.constant(1), distance));
    Index index = p.e.add(base, p.e.constant(i));
    if (op.getExcludeOutside())
      weight = p.select(p.e.inBounds(index, extent), weight, p.constant(0));
    taps.push_back({p.e.max(zero, p.e.min(index, p.e.sub(extent, p.e.constant(1)))), weight});
    sum = sum ? p.add(sum, weight) : weight;
  }
  if (op.getExcludeOutside() || range.shrink < 1) {
    Value none = p.compare(arith::CmpFPredicate::OEQ, sum, p.constant(0));
    sum = p.select(none, p.constant(1), sum);
    for (ResizeTap &tap : taps)
      tap.weight = p.div(tap.weight, sum);
  }
  return taps;
}

/// The element index that `nearest` rounds a position to.
static Index roundPosition(ResizeOp op, Positions &p, Index at, Value position) {
  StringRef nearest = op.getNearest();
  Value whole;
  if (nearest == "floor")
    whole = p.floor(position);
  else if (nearest == "round_prefer_ceil")
    whole = p.floor(p.add(position, p.constant(0.5)));
  else // -floor(-x) is ceil(x)
    whole = p.sub(p.constant(0), p.floor(p.sub(p.constant(nearest == "ceil" ? 0 : 0.5), position)));
  Index extent = p.e.extent(op.getX(), op.getDim());
  return p.e.max(p.e.constant(0), p.e.min(placeOf(op, p.e, at, p.toIndex(whole)), p.e.sub(extent, p.e.constant(1))));
}

std::optional<CutForm> ResizeOp::getCutForm(const Cut &cut, const Parts &) {
  if (int64_t(getDim()) == cut.dim)
    return std::nullopt;
  CutForm form{{cut}, ownAttributes(*this)};
  form.operands.resize((*this)->getNumOperands());
  return form;
}

/// The lines that are weighed, or taken, for those wanted. Positions of a band are those of the whole moved by whole lines, bit by bit, where one
/// extent is the other's times a power of 2; nullopt where they are not.
static std::optional<Lines> tapsOf(ResizeOp op, const Lines &wanted, int64_t in, int64_t out) {
  StringRef coordinates = op.getCoordinates(), nearest = op.getNearest();
  double scale = op.getScale().convertToDouble(), step = double(in) / double(out);
  if (op.getGiven() || op.getAntialias() || coordinates == "align_corners" || coordinates == "tf_crop_and_resize" ||
      (scale != 0 && scale != double(out) / double(in)))
    return std::nullopt; // the ends' places are in all positions, or only a run knows them
  int64_t times = std::max(in, out) / std::min(in, out);
  if (std::min(in, out) < 2 || std::min(in, out) * times != std::max(in, out) || !llvm::isPowerOf2_64(uint64_t(times)))
    return std::nullopt; // by another factor positions are rounded, and those of one line are another formula's
  auto positionOf = [&](int64_t line) {
    if (coordinates == "asymmetric")
      return double(line) * step;
    return (double(line) + 0.5) * step - (coordinates == "tf_half_pixel_for_nn" ? 0 : 0.5);
  };
  double first = positionOf(wanted.begin), last = positionOf(wanted.end - 1);
  Lines read;
  if (op.getMode() != "nearest") {
    TapRange range = tapRangeOf(op);
    read = {int64_t(std::floor(first)) + range.first, int64_t(std::floor(last)) + range.last + 1};
  } else if (nearest == "floor" || nearest == "ceil") {
    auto round = [&](double position) { return nearest == "floor" ? std::floor(position) : std::ceil(position); };
    read = {int64_t(round(first)), int64_t(round(last)) + 1};
  } else {
    read = {int64_t(std::ceil(first - 0.5)), int64_t(std::floor(last + 0.5)) + 1};
  }
  return Lines{std::clamp<int64_t>(read.begin, 0, in - 1), std::clamp<int64_t>(read.end, 1, in)};
}

/// Beyond the lines that are read nothing is known, which lines at the band's ends show that are made for that alone.
std::optional<BandForm> ResizeOp::getBandForm(const Band &wanted) {
  BandForm form{{wanted}, ownAttributes(*this), wanted.lines};
  form.operands.resize((*this)->getNumOperands());
  if (int64_t(getDim()) != wanted.dim)
    return form;
  std::optional<Lines> all = linesOf(getX(), wanted.dim), made = linesOf(getResult(), wanted.dim);
  std::optional<Lines> taps = all && made ? tapsOf(*this, wanted.lines, all->size(), made->size()) : std::nullopt;
  if (!taps)
    return std::nullopt;
  // So many lines become so many.
  int64_t least = std::min(all->size(), made->size()), in = all->size() / least, out = made->size() / least;
  Lines units = Lines{taps->begin / in, int64_t(llvm::divideCeil(taps->end, in))}.join(
      {wanted.lines.begin / out, int64_t(llvm::divideCeil(wanted.lines.end, out))});
  form.made = {units.begin * out, units.end * out};
  form.operands[0]->lines = {units.begin * in, units.end * in};
  form.attributes = withDim(*this, "size", 0, DimExpr(form.made.size()));
  return form;
}

Value ResizeOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  int64_t dim = getDim();
  Type element = computeType(getElementType(getX()));
  SmallVector<Index> from(at);
  bool nearest = getMode() == "nearest";
  if (std::optional<Index> index = nearest ? nearestByIntegers(*this, e, at[dim]) : std::nullopt) {
    from[dim] = *index;
    return e.read(getX(), from);
  }
  Positions p(e, element.isF64() ? element : Type(e.b.getF32Type()));
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
