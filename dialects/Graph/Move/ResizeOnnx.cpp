// SPDX-License-Identifier: Apache-2.0
//
// How ONNX's Resize and Upsample become one graph.resize a dim.
#include "dialects/Graph/Compose.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/OnnxNode.h"

using namespace mlir;

namespace hewn::graph {

namespace {
/// What a node says, one entry for each dim of the input.
struct Resizing {
  SmallVector<double> scales; // 0: by sizes
  Dims sizes;
  SmallVector<double> roiStart, roiEnd;
};
} // namespace

/// floor(dim * scale), the scale being a fraction of small numbers where the dim is a symbol.
static std::optional<DimExpr> scaledDim(const DimExpr &dim, double scale) {
  if (dim.constant())
    return DimExpr(int64_t(double(*dim.constant()) * scale));
  for (int64_t denominator = 1; denominator <= 64; ++denominator) {
    double numerator = scale * double(denominator);
    if (numerator == std::floor(numerator) && numerator < 1e9)
      return (dim * DimExpr(int64_t(numerator))).floorDiv(DimExpr(denominator));
  }
  return std::nullopt;
}

/// Where `scales` are computed when the model runs, so are the sizes: floor(shape * scales), by ops.
static std::optional<Dims> readScaledSizes(OnnxNode &node, ArrayRef<DimExpr> dims, Value scales) {
  Composer c(node);
  Value shape = c.cast(node.make<DimValueOp>({}, node.attr("values", dims)), getElementType(scales));
  Value sizes = c.cast(c.op("graph.mul", {shape, scales}), node.b.getI64Type()); // rounds toward zero
  return sizes ? node.contentsOrRead(sizes) : std::nullopt;
}

static bool isGiven(Value value) { return value && (getRank(value) == 0 || !getDims(value)[0].is(0)); }

/// Scales of the node: by attribute or input, as the version has it; `value` stays null where there are none.
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

/// keep_aspect_ratio_policy: one scale for all axes, and the sizes that it gives.
static LogicalResult keepAspectRatio(OnnxNode &node, StringRef policy, ArrayRef<DimExpr> dims, ArrayRef<int64_t> axes,
                                     Resizing &r) {
  std::optional<double> scale;
  for (int64_t axis : axes) {
    std::optional<int64_t> in = dims[axis].constant(), out = r.sizes[axis].constant();
    if (!in || !out || *in < 1)
      return node.refuse("keeps an aspect ratio that is not known when compiling");
    double own = double(*out) / double(*in);
    scale = !scale ? own : policy == "not_larger" ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (int64_t axis : axes) {
    r.scales[axis] = *scale;
    r.sizes[axis] = DimExpr(int64_t(*scale * double(*dims[axis].constant()) + 0.5));
  }
  return success();
}

static std::optional<Resizing> readResizing(OnnxNode &node, ArrayRef<DimExpr> dims, ArrayRef<int64_t> axes) {
  Resizing r;
  r.scales.assign(dims.size(), 0);
  r.sizes.assign(dims.begin(), dims.end());
  r.roiStart.assign(dims.size(), 0);
  r.roiEnd.assign(dims.size(), 1);
  auto refuse = [&](const Twine &why) {
    (void)node.refuse(why);
    return std::nullopt;
  };
  Value scaleInput;
  std::optional<SmallVector<double>> scales = writtenScales(node, scaleInput);
  std::optional<Dims> sizes;
  if (!scales && scaleInput)
    sizes = readScaledSizes(node, dims, scaleInput);
  else if (!scales && isGiven(node.input(3)))
    sizes = node.contentsOrRead(node.input(3));
  else if (!scales)
    return refuse("needs scales or sizes");
  if ((!scales && !sizes) || (scales ? scales->size() : sizes->size()) != axes.size())
    return refuse("has not as many scales or sizes as axes");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (!scales) {
      r.sizes[axis] = (*sizes)[i];
      continue;
    }
    double scale = (*scales)[i];
    std::optional<DimExpr> size = scale > 0 && scale < 1e9 ? scaledDim(dims[axis], scale) : std::nullopt;
    if (!size)
      return refuse("scales dim " + dims[axis].str() + " by " + Twine(std::to_string(scale)));
    r.scales[axis] = scale;
    r.sizes[axis] = *size;
  }
  std::string policy = node.getString("keep_aspect_ratio_policy", "stretch");
  if (!scales && policy != "stretch" && failed(keepAspectRatio(node, policy, dims, axes, r)))
    return std::nullopt;
  if (node.getString("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    std::optional<SmallVector<double>> roi = node.input(1) ? node.floatContents(node.input(1)) : std::nullopt;
    if (!roi || roi->size() != 2 * axes.size())
      return refuse("crops by a roi that is not known when compiling");
    for (auto [i, axis] : llvm::enumerate(axes)) {
      r.roiStart[axis] = (*roi)[i];
      r.roiEnd[axis] = (*roi)[axes.size() + i];
    }
  }
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
  // tf_half_pixel_for_nn (opset 11 and 12): the pixel whose centre is at or before the position.
  if (coordinates == "tf_half_pixel_for_nn")
    return node.refuse("coordinate_transformation_mode tf_half_pixel_for_nn");
  std::optional<Resizing> r = readResizing(node, dims, axes);
  if (!r)
    return failure();
  Type element = getElementType(x);
  if (mode != "nearest" && !isa<FloatType>(element))
    x = c.cast(x, node.b.getF32Type());
  bool crops = coordinates == "tf_crop_and_resize";
  OpBuilder &b = node.b;
  for (int64_t axis : axes) {
    if (!x)
      return failure();
    if (r->sizes[axis] == dims[axis] && (r->scales[axis] == 0 || r->scales[axis] == 1) &&
        (!crops || (r->roiStart[axis] == 0 && r->roiEnd[axis] == 1)))
      continue;
    Dims size = {r->sizes[axis]};
    x = node.make<ResizeOp>(
        x, {node.attr("dim", axis), node.attr("size", ArrayRef<DimExpr>(size)),
            node.attr("scale", b.getF64FloatAttr(r->scales[axis])), node.attr("mode", b.getStringAttr(mode)),
            node.attr("coordinates", b.getStringAttr(coordinates)), node.attr("nearest", b.getStringAttr(nearest)),
            node.attr("cubic", b.getF64FloatAttr(node.getFloat("cubic_coeff_a", -0.75))),
            node.attr("excludeOutside", b.getBoolAttr(node.getInt("exclude_outside", 0))),
            node.attr("antialias", b.getBoolAttr(node.getInt("antialias", 0))),
            node.attr("roiStart", b.getF64FloatAttr(r->roiStart[axis])),
            node.attr("roiEnd", b.getF64FloatAttr(r->roiEnd[axis])),
            node.attr("extrapolation", b.getF64FloatAttr(node.getFloat("extrapolation_value", 0)))});
  }
  return node.finish(c.cast(x, element));
}

} // namespace hewn::graph
