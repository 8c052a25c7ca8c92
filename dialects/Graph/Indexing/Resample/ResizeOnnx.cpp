// SPDX-License-Identifier: Apache-2.0
//
// Import of Resize and Upsample: one graph.resize for each dim that changes.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/Indexing/Resample/ResizeOps.h"
#include "dialects/Graph/Indexing/Resample/Saturate.h"
#include "dialects/Graph/Indexing/Resample/Scaling.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

namespace {
/// The parameters of a Resize node. Each list has one entry for each dim of the input.
struct Resizing {
  // 0: computed from `sizes`; negative: computed at run time, in `given`
  SmallVector<double> scales;
  Dims sizes;
  SmallVector<double> roiStart, roiEnd;
  SmallVector<Value> given; // null if scale and region are known at compile time
};
} // namespace

/// Returns floor(dim * scale), the size of a resized dim, for a scale that is a float32 number: the
/// product is exact, as in float64. A float32 number is m / 2^k with |m| < 2^24.
static DimExpr scaledDim(const DimExpr &dim, double scale) {
  int exponent = 0;
  double fraction = std::frexp(scale, &exponent); // scale = fraction * 2^exponent, fraction < 1
  constexpr int bits = 24;
  int64_t numerator = int64_t(std::ldexp(fraction, bits)), shift = bits - exponent;
  while (shift > 0 && numerator % 2 == 0) {
    numerator /= 2;
    --shift;
  }
  // No dim has 2^38 elements, so that the product with a smaller scale is below 1.
  constexpr int64_t mostShift = 62;
  if (shift > mostShift)
    return DimExpr(0);
  return shift < 0 ? dim * DimExpr(numerator << -shift)
                   : (dim * DimExpr(numerator)).floorDiv(DimExpr(int64_t(1) << shift));
}

static Value valuesOf(OnnxNode &node, ArrayRef<DimExpr> dims, Type type) {
  return Composer(node).cast(node.make<DimValueOp>({}, node.attr("values", dims)), type);
}

/// Slices element `i` of a 1-D tensor and returns it as an f64 tensor with one element.
static Value elementOf(OnnxNode &node, Value list, int64_t i) {
  Composer c(node);
  return c.cast(c.slice(list, 0, DimExpr(i), DimExpr(1)), node.b.getF64Type());
}

static bool isGiven(Value value) { return value && (getRank(value) == 0 || !getDims(value)[0].is(0)); }

/// Returns the scales of a Resize or Upsample node if they are constant. They are an attribute or
/// an input, depending on the opset. Sets `value` to the input if there is one.
static std::optional<SmallVector<double>> writtenScales(OnnxNode &node, Value &value) {
  if (std::optional<SmallVector<float>> attr = node.getFloats("scales"))
    return SmallVector<double>(attr->begin(), attr->end());
  if (node.hasAttr("height_scale"))
    return SmallVector<double>{1, 1, node.getFloat("height_scale", 1), node.getFloat("width_scale", 1)};
  bool first = node.opType() == "Upsample" || node.opset() < 11;
  value = node.input(first ? 1 : 2);
  if (!isGiven(value)) {
    value = {};
    return std::nullopt;
  }
  return node.floatContents(value);
}

/// Sets the parameters of a Resize from sizes and scales that are computed at run time. `sizes` has
/// one element for each axis, which becomes a dim. `scales` has one element for each axis, or one
/// for all axes.
static LogicalResult readSizes(OnnxNode &node, ArrayRef<int64_t> axes, Value sizes, Value scales, Resizing &r) {
  sizes = Composer(node).cast(sizes, node.b.getI64Type()); // rounds toward zero
  std::optional<Dims> read = sizes ? node.contentsOrRead(sizes) : std::nullopt;
  if (!read)
    return failure();
  bool one = getDims(scales)[0].is(1);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    r.scales[axis] = -1;
    r.sizes[axis] = (*read)[i];
    r.given[axis] = elementOf(node, scales, one ? 0 : i);
  }
  return success();
}

/// Applies keep_aspect_ratio_policy of a Resize node: computes one scale for all axes, and the
/// sizes that result from this scale.
static LogicalResult keepAspectRatio(OnnxNode &node, bool least, ArrayRef<DimExpr> dims, ArrayRef<int64_t> axes,
                                     Resizing &r) {
  std::optional<double> scale;
  Dims in, out;
  bool known = true;
  for (int64_t axis : axes) {
    in.push_back(dims[axis]);
    out.push_back(r.sizes[axis]);
    known &= in.back().constant() && out.back().constant();
    if (!known)
      continue;
    if (*in.back().constant() < 1)
      return node.refuse("cannot keep the aspect ratio of an empty dim");
    double own = double(*out.back().constant()) / double(*in.back().constant());
    scale = !scale ? own : least ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (int64_t axis : axes)
    if (known) {
      r.scales[axis] = *scale;
      r.sizes[axis] = DimExpr(int64_t(*scale * double(*dims[axis].constant()) + 0.5));
    }
  if (known)
    return success();
  // The dims of the image are not known at compile time: emits ops that compute the sizes
  // floor(ratio * dim + 0.5) with the smallest or largest ratio of all axes.
  Composer c(node);
  Type wide = node.b.getF64Type();
  Value from = valuesOf(node, in, wide), ratios = c.op<DivOp>({valuesOf(node, out, wide), from});
  Value ratio = least ? c.reduce<ReduceMinOp>(ratios, 0, true) : c.reduce<ReduceMaxOp>(ratios, 0, true);
  Value sizes = c.op<AddOp>({c.op<MulOp>({ratio, from}), c.scalarLike(from, 0.5)});
  return readSizes(node, axes, sizes, ratio, r);
}

/// Sets the parameters of a Resize from scales that are computed at run time. Emits ops that
/// compute the sizes floor(shape * scales), in float64 like `scaledDim`.
static LogicalResult readScales(OnnxNode &node, ArrayRef<DimExpr> dims, ArrayRef<int64_t> axes, Value scales,
                                Resizing &r) {
  Composer c(node);
  Dims scaled;
  for (int64_t axis : axes)
    scaled.push_back(dims[axis]);
  if (hasOpenLength(scales))
    scales = c.reshape(scales, {DimExpr(int64_t(axes.size()))});
  if (!scales || getDims(scales) != Dims{DimExpr(int64_t(axes.size()))})
    return node.refuse("the number of scales differs from the number of axes");
  Type wide = node.b.getF64Type();
  if (!axes.empty()) { // all scales must be positive; negative sizes are rejected, too, but not 0
    Value least = c.reduce<ReduceMinOp>(scales, 0, false);
    if (!least)
      return failure();
    RequireOp::create(node.b, node.loc, c.op<LessOp>({c.scalarLike(least, 0), least}));
  }
  Value sizes = c.op<MulOp>({valuesOf(node, scaled, wide), c.cast(scales, wide)});
  return readSizes(node, axes, sizes, scales, r);
}

/// Reads input `roi` of a Resize node, the region of the image that is resized: its start and end
/// along each axis, as fractions of the dim.
static LogicalResult readRoi(OnnxNode &node, ArrayRef<DimExpr> dims, ArrayRef<int64_t> axes, Resizing &r) {
  Value roi = node.input(1);
  int64_t count = axes.size();
  if (hasOpenLength(roi))
    roi = Composer(node).reshape(roi, {DimExpr(2 * count)});
  if (!roi || getDims(roi) != Dims{DimExpr(2 * count)})
    return node.refuse("tf_crop_and_resize requires a roi with a start and an end for each axis");
  std::optional<SmallVector<double>> known = node.floatContents(roi);
  Composer c(node);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (known) {
      r.roiStart[axis] = (*known)[i];
      r.roiEnd[axis] = (*known)[count + i];
    }
    if (known && !r.given[axis])
      continue;
    Value scale = r.given[axis] ? r.given[axis] : makeSplat(node.b, node.loc, node.b.getF64Type(), 0, {1});
    r.given[axis] = c.concat({scale, elementOf(node, roi, i), elementOf(node, roi, count + i)}, 0);
  }
  return success();
}

static std::optional<Resizing> readResizing(OnnxNode &node, ArrayRef<DimExpr> dims, ArrayRef<int64_t> axes) {
  Resizing r;
  r.scales.assign(dims.size(), 0);
  r.sizes.assign(dims.begin(), dims.end());
  r.roiStart.assign(dims.size(), 0);
  r.roiEnd.assign(dims.size(), 1);
  r.given.assign(dims.size(), Value());
  auto refuse = [&](const Twine &why) {
    (void)node.refuse(why);
    return std::nullopt;
  };
  Value scaleInput;
  std::optional<SmallVector<double>> scales = writtenScales(node, scaleInput);
  std::optional<Dims> sizes;
  if (!scales && scaleInput) {
    if (failed(readScales(node, dims, axes, scaleInput, r)))
      return std::nullopt;
  } else if (!scales && isGiven(node.input(3))) {
    sizes = node.contentsOrRead(node.input(3), axes.size());
    if (!sizes)
      return std::nullopt;
  } else if (!scales) {
    return refuse("needs scales or sizes");
  }
  if ((scales && scales->size() != axes.size()) || (sizes && sizes->size() != axes.size()))
    return refuse("the number of scales or sizes differs from the number of axes");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (sizes)
      r.sizes[axis] = (*sizes)[i];
    if (!scales)
      continue;
    double scale = (*scales)[i];
    if (!(scale > 0 && scale < 1e9))
      return refuse("cannot scale dim " + dims[axis].str() + " by " + Twine(std::to_string(scale)));
    r.scales[axis] = scale;
    r.sizes[axis] = scaledDim(dims[axis], scale);
  }
  std::string policy = node.getString("keep_aspect_ratio_policy", "stretch");
  if (sizes && policy != "stretch" && failed(keepAspectRatio(node, policy == "not_larger", dims, axes, r)))
    return std::nullopt;
  bool crops = node.getString("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  if (crops && failed(readRoi(node, dims, axes, r)))
    return std::nullopt;
  // Operand `given` of graph.resize always has three elements (scale, start and end), even if the
  // op does not use all of them.
  Composer c(node);
  for (Value &given : r.given)
    if (given && !crops)
      given = c.concat({given, makeSplat(node.b, node.loc, node.b.getF64Type(), 0, {2})}, 0);
  return r;
}

LogicalResult buildResize(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  Dims dims = getDims(x);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(dims.size())));
  if (std::optional<SmallVector<int64_t>> written = node.getInts("axes")) {
    axes.clear();
    for (int64_t axis : *written) {
      std::optional<int64_t> dim = node.axis(axis, dims.size());
      if (!dim)
        return failure();
      axes.push_back(*dim);
    }
  }
  bool old = node.opType() == "Upsample" || node.opset() < 11;
  std::string coordinates = node.getString("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  std::string mode = node.getString("mode", "nearest");
  std::string nearest = node.getString("nearest_mode", old ? "floor" : "round_prefer_floor");
  if (mode == "bilinear")
    mode = "linear";
  std::optional<Resizing> r = readResizing(node, dims, axes);
  if (!r)
    return failure();
  Type element = getElementType(x);
  auto integer = dyn_cast<IntegerType>(element);
  bool rounds = mode != "nearest" && integer;
  if (rounds)
    x = c.cast(x, integer.getWidth() <= 8 ? node.b.getF32Type() : node.b.getF64Type());
  double beyond = node.getFloat("extrapolation_value", 0);
  if (integer && integer.getWidth() > 1)
    beyond = saturate(integer, beyond);
  bool antialias = mode != "nearest" && node.getInt("antialias", 0);
  bool crops = coordinates == "tf_crop_and_resize";
  OpBuilder &b = node.b;
  for (int64_t axis : axes) {
    if (!x)
      return failure();
    if (!r->given[axis] && r->sizes[axis] == dims[axis] && (r->scales[axis] == 0 || r->scales[axis] == 1) &&
        (!crops || (r->roiStart[axis] == 0 && r->roiEnd[axis] == 1)))
      continue;
    Dims size = {r->sizes[axis]};
    SmallVector<Value> operands = {x};
    if (r->given[axis])
      operands.push_back(r->given[axis]);
    x = node.make<ResizeOp>(operands, {node.attr("dim", axis), node.attr("size", ArrayRef<DimExpr>(size)),
                                       node.attr("scale", b.getF64FloatAttr(r->scales[axis])),
                                       node.attr("mode", b.getStringAttr(mode)),
                                       node.attr("coordinates", b.getStringAttr(coordinates)),
                                       node.attr("nearest", b.getStringAttr(nearest)),
                                       node.attr("cubic", b.getF64FloatAttr(node.getFloat("cubic_coeff_a", -0.75))),
                                       node.attr("excludeOutside", b.getBoolAttr(node.getInt("exclude_outside", 0))),
                                       node.attr("roiStart", b.getF64FloatAttr(r->roiStart[axis])),
                                       node.attr("roiEnd", b.getF64FloatAttr(r->roiEnd[axis])),
                                       node.attr("extrapolation", b.getF64FloatAttr(beyond))});
    auto resize = x ? x.getDefiningOp<ResizeOp>() : ResizeOp();
    if (!resize || !antialias)
      continue;
    if (tapRangeOf(resize, true).unrolls()) {
      resize.setAntialias(true);
    } else {
      x = composeTaps(c, resize);
      node.discard(resize);
    }
  }
  return node.finish(rounds ? composeSaturate(c, x, integer) : x);
}

} // namespace hewn::graph
