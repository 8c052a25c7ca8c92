// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX's sampling nodes.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/Indexing/Resample/SampleOps.h"
#include "dialects/Graph/Indexing/Resample/Saturate.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildGridSample(OnnxNode &node) {
  std::string mode = node.getString("mode", node.opset() < 20 ? "bilinear" : "linear");
  if (mode == "bilinear" || mode == "bicubic")
    mode = mode.substr(2);
  OpBuilder &b = node.b;
  Composer c(node);
  Value x = node.input(0);
  auto integer = dyn_cast<IntegerType>(getElementType(x));
  if (integer)
    x = c.cast(x, integer.getWidth() <= 8 ? b.getF32Type() : b.getF64Type());
  Value result = node.make<GridSampleOp>(
      {x, node.input(1)}, {node.attr("mode", b.getStringAttr(mode)),
                           node.attr("padding", b.getStringAttr(node.getString("padding_mode", "zeros"))),
                           node.attr("alignCorners", b.getBoolAttr(node.getInt("align_corners", 0)))});
  return node.finish(integer ? composeSaturate(c, result, integer) : result);
}

LogicalResult buildDeformConv(OnnxNode &node) {
  Value x = node.input(0), w = node.input(1), offset = node.input(2), bias = node.input(3), mask = node.input(4);
  std::optional<Window> window = readConvWindow(node, x, w);
  if (!window)
    return failure();
  if (window->kernel.size() != 2)
    return node.refuse("has " + Twine(window->kernel.size()) + " spatial dims; two are supported");
  if (bias && getRank(bias) != 1)
    return node.refuse("needs a bias of rank 1");
  int64_t groups = node.getInt("group", 1);
  Dims weights = getDims(w);
  if (groups < 1 || (weights[0].constant() && *weights[0].constant() % groups != 0))
    return node.refuse(weights[0].str() + " output channels are not divisible by " + Twine(groups) + " groups");
  SmallVector<Value> operands = {x, offset};
  if (mask)
    operands.push_back(mask);
  Value columns = node.make<DeformColumnsOp>(
      operands, {node.attr("kernel", window->kernel), node.attr("strides", window->strides),
                 node.attr("dilations", window->dilations), node.attr("low", ArrayRef<DimExpr>(window->low)),
                 node.attr("offsetGroups", node.getInt("offset_group", 1))});
  if (!columns)
    return failure();
  Composer c(node);
  Dims d = getDims(columns);
  DimExpr g(groups), rows = weights[0].floorDiv(g), summed = weights[1] * weights[2] * weights[3], places = d[4] * d[5];
  Value product = composeMatMul(c, c.reshape(w, {g, rows, summed}), c.reshape(columns, {d[0], g, summed, places}));
  return node.finish(addChannelBias(c, c.reshape(product, {d[0], weights[0], d[4], d[5]}), bias));
}

LogicalResult buildCol2Im(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x);
  // The image and the block have one size for each spatial dim. The result has two more dims.
  std::optional<int64_t> length = knownLength(node, {1, 2});
  if (!length)
    length = node.declaredRank(0) ? *node.declaredRank(0) - 2 : decideLength(node, node.input(1), 1, 3);
  if (!length || *length < 0)
    return length ? node.refuse("declares a result of rank " + Twine(*length + 2)) : failure();
  std::optional<Dims> image = node.contentsOrRead(node.input(1), length);
  // The window sizes of a Col2Im node must be known as dim expressions, because they become dims of
  // a reshape.
  std::optional<Dims> block = node.contentsOrRead(node.input(2), length);
  if (!image || !block)
    return failure();
  size_t n = block->size();
  auto ints = [&](StringRef name, size_t count, int64_t otherwise) {
    return node.getInts(name).value_or(SmallVector<int64_t>(count, otherwise));
  };
  SmallVector<int64_t> strides = ints("strides", n, 1), dilations = ints("dilations", n, 1),
                       pads = ints("pads", 2 * n, 0);
  if (dims.size() != 3 || n == 0 || image->size() != n || strides.size() != n || dilations.size() != n ||
      pads.size() != 2 * n || llvm::any_of(strides, [](int64_t s) { return s < 1; }))
    return node.refuse("mismatch between shapes, strides, dilations and pads");
  Dims apart = {dims[0], dims[1].floorDiv(numElements(*block))};
  llvm::append_range(apart, *block);
  SmallVector<int64_t> order = {0, 1}, taps;
  for (size_t i = 0; i < n; ++i) {
    DimExpr reach = ((*block)[i] - DimExpr(1)) * DimExpr(dilations[i]) + DimExpr(1);
    apart.push_back(((*image)[i] + DimExpr(pads[i] + pads[n + i]) - reach).floorDiv(DimExpr(strides[i])) + DimExpr(1));
  }
  for (size_t i = 0; i < n; ++i)
    order.push_back(2 + n + i);
  for (size_t i = 0; i < n; ++i) {
    order.push_back(2 + i);
    taps.push_back(2 + n + i);
  }
  Composer c(node);
  Value windows = c.transpose(c.reshape(x, apart), order);
  if (!windows)
    return failure();
  Value laid = node.make<UnwindowOp>(windows, {node.attr("strides", strides), node.attr("dilations", dilations),
                                               node.attr("low", ArrayRef<int64_t>(pads).take_front(n)),
                                               node.attr("sizes", ArrayRef<DimExpr>(*image))});
  return node.finish(c.reduce<ReduceSumOp>(laid, taps, false));
}

/// Returns the `size` coordinates of an AffineGrid along one dim, from -1 to 1, as a float tensor
/// [size]. They are computed at run time if the size is dynamic.
static Value spreadPositions(Composer &c, const DimExpr &size, bool alignCorners) {
  OpBuilder &b = c.b;
  Type f32 = b.getF32Type();
  Value start, step;
  if (std::optional<int64_t> known = size.constant()) {
    double count = double(*known), width = alignCorners ? (count > 1 ? 2 / (count - 1) : 0) : 2 / std::max(count, 1.0);
    step = makeSplat(b, c.loc, f32, width);
    start = makeSplat(b, c.loc, f32, alignCorners ? -1 : -1 + width / 2);
  } else {
    Value one = makeSplat(b, c.loc, f32, 1), two = makeSplat(b, c.loc, f32, 2);
    Value count = c.cast(c.number(size), f32);
    step = c.op<DivOp>({two, alignCorners ? c.op<MaximumOp>({c.op<SubOp>({count, one}), one}) : count});
    start = makeSplat(b, c.loc, f32, -1);
    if (!alignCorners)
      start = c.op<AddOp>({start, c.op<DivOp>({step, two})});
  }
  return c.range(start, step, size);
}

LogicalResult buildAffineGrid(OnnxNode &node) {
  Composer c(node);
  Value theta = node.input(0);
  // theta is [batch, 2, 3] for a size of 4 dims, and [batch, 3, 4] for one of 5
  bool isVolume = getRank(theta) == 3 && (getDims(theta)[1].is(3) || getDims(theta)[2].is(4));
  std::optional<Dims> size = node.contentsOrRead(node.input(1), isVolume ? 5 : 4);
  if (!size)
    return failure();
  if (getRank(theta) != 3 || (size->size() != 4 && size->size() != 5))
    return node.refuse("requires theta of rank 3 and a size of 4 or 5 dims");
  size_t n = size->size() - 2;
  bool alignCorners = node.getInt("align_corners", 0);
  Dims spatial(size->begin() + 2, size->end()), column = spatial;
  column.push_back(DimExpr(1));
  // Homogeneous coordinates of each grid point of an AffineGrid: x, y, (z,) 1, where x belongs to
  // the last dim.
  SmallVector<Value> columns;
  for (size_t d = n; d-- > 0;) {
    Dims alone(n + 1, DimExpr(1));
    alone[d] = spatial[d];
    columns.push_back(c.expand(c.reshape(spreadPositions(c, spatial[d], alignCorners), alone), column));
  }
  columns.push_back(c.filled(column, node.b.getF32Type(), 1));
  Type element = getElementType(theta);
  Value base = c.reshape(c.concat(columns, n), {numElements(spatial), DimExpr(int64_t(n) + 1)});
  Value turned = c.transpose(c.cast(theta, node.b.getF32Type()), {0, 2, 1});
  Value grid = composeMatMul(c, base, turned);
  Dims shape = {(*size)[0]};
  llvm::append_range(shape, spatial);
  shape.push_back(DimExpr(int64_t(n)));
  return node.finish(c.cast(c.reshape(grid, shape), element));
}

} // namespace hewn::graph
