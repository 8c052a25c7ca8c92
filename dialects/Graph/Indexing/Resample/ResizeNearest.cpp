// SPDX-License-Identifier: Apache-2.0
//
// The nearest element of a resized dim. A position is a quotient of integers if it is computed from
// sizes or from a constant scale: its rounding is then exact, whether the sizes are constant or
// not.
#include "dialects/Graph/Indexing/Resample/Scaling.h"

using namespace mlir;

namespace hewn::graph {

/// Returns true if the op maps pixel centers to pixel centers: position (y + 1/2) * in / out - 1/2.
static bool isCentered(ResizeOp op) {
  return llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel"}, op.getCoordinates());
}

/// Returns the operand index for nearest-neighbor resampling up or down by an integer factor, with
/// integer arithmetic. Returns nullopt in cases that need float arithmetic.
static std::optional<Index> nearestByIntegers(ResizeOp op, ElementBuilder &e, Index at) {
  Dims dims = getDims(op.getX());
  std::optional<int64_t> in = dims[op.getDim()].constant(), out = parseDims(op.getSize())->front().constant();
  StringRef coordinates = op.getCoordinates(), nearest = op.getNearest();
  bool asymmetric = coordinates == "asymmetric";
  bool centered = isCentered(op) && !(coordinates == "pytorch_half_pixel" && out == 1);
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
    // For an integer factor k, the operand index is i / k rounded up or to nearest, depending on
    // the op; `nearest` gives the direction for ties.
    Index twice = e.mul(at, e.constant(2));
    Index picked =
        nearest == "ceil"
            ? e.floorDiv(e.add(at, e.constant(up - 1)), e.constant(up))
            : e.floorDiv(e.add(twice, e.constant(nearest == "round_prefer_ceil" ? up : up - 1)), e.constant(2 * up));
    return e.min(picked, e.sub(e.extent(op.getX(), op.getDim()), e.constant(1)));
  }
  if (down && asymmetric)
    return e.mul(at, e.constant(down));
  // Downscaling by an integer factor `down` picks the middle of the `down` operand elements that a
  // result element covers. If `down` is even, `nearest` selects one of the two in the middle.
  if (down && centered)
    return e.add(e.mul(at, e.constant(down)),
                 e.constant(nearest == "ceil" || nearest == "round_prefer_ceil" ? down / 2 : (down - 1) / 2));
  return std::nullopt;
}

/// Returns the scale as a fraction of two small integers, if it is one.
static std::optional<std::pair<int64_t, int64_t>> fractionOf(double scale) {
  constexpr double most = 1 << 12;
  for (double denominator = 1; denominator <= most; denominator *= 2)
    if (double numerator = scale * denominator; numerator == std::floor(numerator) && numerator <= most)
      return std::pair(int64_t(numerator), int64_t(denominator));
  return std::nullopt;
}

/// Returns the operand index for a position that is a quotient of integers: y * in / out, possibly
/// shifted by 1/2. With floor or ceil and a shift, the index is floor((a * y + b) / d) for integers
/// a, b and d. It is computed as y * (a/d) + (b + 1/2)/d: 1/2 is the distance from the next
/// integers, so that rounding errors do not change the floor while (a * y + b) has 3 bits less than
/// the significand. Returns nullopt if the position is not such a quotient.
static std::optional<Index> nearestByQuotient(ResizeOp op, ElementBuilder &e, Index at) {
  StringRef coordinates = op.getCoordinates(), nearest = op.getNearest();
  double scale = op.getScale().convertToDouble();
  if (scale < 0 || coordinates == "tf_crop_and_resize")
    return std::nullopt;
  std::optional<std::pair<int64_t, int64_t>> fraction = fractionOf(scale);
  bool byScale = scale != 0, align = coordinates == "align_corners";
  // align_corners and half_pixel_symmetric also depend on scale * extent.
  if (byScale && (!fraction || align || coordinates == "half_pixel_symmetric"))
    return std::nullopt;
  DimExpr count = parseDims(op.getSize())->front();
  std::optional<int64_t> in = getDims(op.getX())[op.getDim()].constant(), out = count.constant(), size = out;
  if (byScale)
    std::tie(out, in) = *fraction;
  constexpr double most = 1 << 21; // float32 has 24 bits
  bool narrow = in && out && size && 4 * (double(*size) + 1) * double(*in) + 8 * double(*out) < most;
  Positions p(e, narrow ? Type(e.b.getF32Type()) : Type(e.b.getF64Type()));
  Index extent = e.extent(op.getX(), op.getDim());
  Value one = p.constant(1), two = p.constant(2), results = p.of(e.expression(count));
  Value a = byScale ? p.constant(double(*in)) : p.of(extent), b = p.constant(0);
  Value d = byScale ? p.constant(double(*out)) : results;
  if (align) {
    a = p.sub(a, one);
    d = p.max(p.sub(d, one), one);
  } else if (coordinates != "asymmetric") {
    b = a;
    a = p.mul(a, two);
    d = p.mul(d, two);
  }
  bool up = nearest == "ceil" || nearest == "round_prefer_floor";
  int64_t halves = (nearest == "round_prefer_ceil") - (nearest == "round_prefer_floor") - isCentered(op);
  if (halves % 2 != 0) {
    a = p.mul(a, two);
    b = p.add(p.mul(b, two), p.mul(p.constant(double(halves)), d));
    d = p.mul(d, two);
  } else if (halves != 0) {
    b = p.add(b, p.mul(p.constant(double(halves / 2)), d));
  }
  if (up)
    b = p.add(b, p.sub(d, one));
  Value slope = p.div(a, d), start = p.div(p.add(b, p.constant(0.5)), d);
  // Converting to an integer rounds toward zero. This is the floor, because negative positions are
  // clamped to 0.
  Value position = p.add(p.mul(p.of(at), slope), start);
  if (coordinates == "pytorch_half_pixel")
    position = p.select(p.compare(arith::CmpFPredicate::OLE, results, one), p.constant(0), position);
  return e.max(e.constant(0), e.min(placeOf(op, e, at, p.toIndex(position)), e.sub(extent, e.constant(1))));
}

std::optional<Index> exactNearest(ResizeOp op, ElementBuilder &e, Index at) {
  if (std::optional<Index> index = nearestByIntegers(op, e, at))
    return index;
  return nearestByQuotient(op, e, at);
}

Index roundPosition(ResizeOp op, Positions &p, Index at, Value position) {
  StringRef nearest = op.getNearest();
  Value whole = p.floor(position);
  if (nearest != "floor") {
    // The fraction is exact. Adding 1/2 to the position would round 1/2 - 2^-54 up.
    arith::CmpFPredicate above = nearest == "round_prefer_ceil" ? arith::CmpFPredicate::OGE : arith::CmpFPredicate::OGT;
    Value next = p.compare(above, p.sub(position, whole), p.constant(nearest == "ceil" ? 0 : 0.5));
    whole = p.select(next, p.add(whole, p.constant(1)), whole);
  }
  Index extent = p.e.extent(op.getX(), op.getDim());
  return p.e.max(p.e.constant(0), p.e.min(placeOf(op, p.e, at, p.toIndex(whole)), p.e.sub(extent, p.e.constant(1))));
}

} // namespace hewn::graph
