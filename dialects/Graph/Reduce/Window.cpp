// SPDX-License-Identifier: Apache-2.0
//
// Pooling: how ONNX's nodes become reductions of windows.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/MoveOps.h"
#include "dialects/Graph/Move/ScatterOps.h"
#include "dialects/Graph/Reduce/Reduce.h"
#include "dialects/Graph/Reduce/ReduceOps.h"
#include "dialects/Graph/Reduce/WindowOps.h"

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------------------------------===//
// Position
//===------------------------------------------------------------------------------------------------------------------===//

LogicalResult WindowPositionOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  size_t n = getKernel().size();
  std::optional<Dims> low = parseDims(getLow()), extents = parseDims(getExtents());
  if (dimsOf(getX()).size() != n + 2 || getStrides().size() != n || getDilations().size() != n || !low || !extents ||
      low->size() != n || extents->size() != n)
    return emitOpError("kernel, strides, dilations, low and extents need one entry a spatial dim");
  results.push_back({dimsOf(getX()), getElementType(getX())});
  return success();
}

Value WindowPositionOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  unsigned n = getKernel().size();
  Dims low = *parseDims(getLow()), extents = *parseDims(getExtents());
  Index within = e.fromElement(e.read(getX(), at));
  SmallVector<Index> position(n);
  for (unsigned i = n; i-- > 0;) {
    Index kernel = e.constant(getKernel()[i]), tap = i == 0 ? within : e.mod(within, kernel);
    within = e.floorDiv(within, kernel);
    position[i] = e.sub(e.add(e.mul(at[2 + i], e.constant(getStrides()[i])), e.mul(tap, e.constant(getDilations()[i]))),
                        e.expression(low[i]));
    // An element of the border is the first of equals only where all are the least there is: the first one inside is meant.
    if (!low[i].is(0))
      position[i] = e.max(position[i], e.mod(position[i], e.constant(getDilations()[i])));
  }
  Index flat = e.add(e.mul(at[0], e.extent(getX(), 1)), at[1]);
  for (unsigned k = 0; k < n; ++k) {
    unsigned i = getColumnMajor() ? n - 1 - k : k;
    flat = e.add(e.mul(flat, e.expression(extents[i])), position[i]);
  }
  return e.toElement(flat, getElementType(getResult()));
}

//===------------------------------------------------------------------------------------------------------------------===//
// Builders
//===------------------------------------------------------------------------------------------------------------------===//

namespace {
/// A pooling node: its window, where that window stops, and x padded as far as padding is not a constant.
struct Pooling {
  Window window;
  Dims extents;                // of x
  Dims sizes;                  // of the result
  SmallVector<DimExpr> beyond; // how far the last window reaches past the padded end (ceil_mode)
};
} // namespace

static std::optional<Pooling> readPool(OnnxNode &node, Value x) {
  Dims dims = getDims(x);
  if (dims.size() < 3) {
    (void)node.refuse("pools over an input of rank " + Twine(dims.size()));
    return std::nullopt;
  }
  Pooling pool;
  pool.extents.assign(dims.begin() + 2, dims.end());
  std::optional<Window> window =
      readWindow(node, pool.extents, node.getInts("kernel_shape").value_or(SmallVector<int64_t>()));
  if (!window)
    return std::nullopt;
  pool.window = *window;
  bool ceil = node.getInt("ceil_mode", 0);
  for (auto [i, extent] : llvm::enumerate(pool.extents)) {
    require(node.b, node.loc, Relation::AtMost, DimExpr(1),
            extent); // a window of padding alone has no largest and no mean
    DimExpr reach((window->kernel[i] - 1) * window->dilations[i] + 1), stride(window->strides[i]), size;
    DimExpr padded = extent + window->low[i] + window->high[i];
    if (window->same)
      size = extent.ceilDiv(stride);
    else if (!ceil)
      size = (padded - reach).floorDiv(stride) + DimExpr(1);
    else // windows that would start in the padding at the end don't count
      size = DimExpr::min((padded - reach).ceilDiv(stride) + DimExpr(1), (extent + window->low[i]).ceilDiv(stride));
    if (size.constant() && *size.constant() < 1) {
      (void)node.refuse("the window is larger than spatial dim " + Twine(i) + " of " + extent.str());
      return std::nullopt;
    }
    pool.sizes.push_back(size);
    pool.beyond.push_back((size - DimExpr(1)) * stride + reach - padded);
  }
  return pool;
}

/// graph.window of x, which was padded by `low` already where `padded`.
static Value makeWindow(Composer &c, Value x, const Pooling &pool, double fill, bool padded = false) {
  if (!x)
    return x;
  const Window &w = pool.window;
  SmallVector<int64_t> low(w.kernel.size(), 0);
  bool constant = llvm::all_of(w.low, [](const DimExpr &d) { return d.constant().has_value(); });
  if (!padded && constant) {
    for (auto [i, dim] : llvm::enumerate(w.low))
      low[i] = *dim.constant();
  } else if (!padded) {
    Dims before(getRank(x) - w.low.size(), DimExpr(0)), zero(getRank(x), DimExpr(0));
    llvm::append_range(before, w.low);
    x = c.pad(x, before, zero, "constant", c.scalarLike(x, fill));
    if (!x)
      return x;
  }
  OpBuilder &b = c.b;
  return make<WindowOp>(b, c.loc, x,
                        {b.getNamedAttr("kernel", b.getDenseI64ArrayAttr(w.kernel)),
                         b.getNamedAttr("strides", b.getDenseI64ArrayAttr(w.strides)),
                         b.getNamedAttr("dilations", b.getDenseI64ArrayAttr(w.dilations)),
                         b.getNamedAttr("low", b.getDenseI64ArrayAttr(low)),
                         b.getNamedAttr("sizes", dimsAttr(b.getContext(), pool.sizes)),
                         b.getNamedAttr("fill", b.getF64FloatAttr(fill))});
}

/// Reduces the window dims, the last ones.
template <typename OpTy> static Value reduceWindow(Composer &c, Value window, const Pooling &pool) {
  if (!window)
    return window;
  int64_t rank = getRank(window), n = pool.sizes.size();
  return c.reduce<OpTy>(window, llvm::to_vector(llvm::seq<int64_t>(rank - n, rank)), false);
}

/// Whether large windows are reduced along one dim after the other, the last one first: what is found along it is then found once for all
/// windows that lie over each other, not once for each of them. Sums that are rounded to fewer digits on the way would be others.
static bool isReducedByDims(const Pooling &pool, Type type, bool isSum) {
  constexpr double passes = 4; // what it takes to write and read an element once more, in elements of a window
  const Window &w = pool.window;
  if (isSum && !type.isF32() && !type.isF64())
    return false;
  double together = 1, apart = 0, above = 1; // taps for each element of the result
  for (auto [i, kernel] : llvm::enumerate(w.kernel)) {
    if (!w.low[i].constant())
      return false;
    apart += kernel > 1 ? (double(kernel) + passes) * above : 0;
    std::optional<int64_t> extent = pool.extents[i].constant(), size = pool.sizes[i].constant();
    above *= extent && size ? double(*extent) / double(*size) : double(w.strides[i]);
    together *= double(kernel);
  }
  return apart - passes < 0.6 * together;
}

/// Windows of x and what they are reduced to, as `makeWindow` and `reduceWindow` do.
template <typename OpTy>
static Value reduceWindows(Composer &c, Value x, const Pooling &pool, double fill, bool isSum = true) {
  if (!x || !isReducedByDims(pool, getElementType(x), isSum))
    return reduceWindow<OpTy>(c, makeWindow(c, x, pool, fill), pool);
  size_t n = pool.sizes.size();
  for (size_t i = n; i-- > 0 && x;) {
    if (pool.window.kernel[i] == 1 && pool.window.strides[i] == 1 && pool.sizes[i] == pool.extents[i])
      continue;
    Pooling along = pool;
    for (size_t j = 0; j < n; ++j) {
      if (j == i)
        continue;
      along.window.kernel[j] = along.window.strides[j] = along.window.dilations[j] = 1;
      along.window.low[j] = DimExpr(0);
      along.sizes[j] = j < i ? pool.extents[j] : pool.sizes[j];
    }
    x = reduceWindow<OpTy>(c, makeWindow(c, x, along, fill), along);
  }
  return x;
}

/// The least value of an element type, as a double.
static double lowest(Type type) {
  if (isa<FloatType>(type))
    return -std::numeric_limits<double>::infinity();
  return isUnsigned(type) ? 0.0 : -std::ldexp(1.0, type.getIntOrFloatBitWidth() - 1);
}

LogicalResult buildMaxPool(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  std::optional<Pooling> pool = readPool(node, x);
  if (!pool)
    return failure();
  double least = lowest(getElementType(x));
  if (node.wantsOutput(0)) {
    Value most = reduceWindows<ReduceMaxOp>(c, x, *pool, least, /*isSum=*/false);
    if (!most)
      return failure();
    node.setOutput(0, most);
  }
  if (!node.wantsOutput(1))
    return success();
  Value window = makeWindow(c, x, *pool, least);
  if (!window)
    return failure();
  Dims flat = getDims(window);
  flat.truncate(2 + pool->sizes.size());
  flat.push_back(DimExpr(1));
  for (int64_t k : pool->window.kernel)
    flat.back() = flat.back() * DimExpr(k);
  Value position = c.reduce<ArgMaxOp>(c.reshape(window, flat), int64_t(flat.size()) - 1, false);
  const Window &w = pool->window;
  Value indices = position
                      ? node.make<WindowPositionOp>(
                            position, {node.attr("kernel", w.kernel), node.attr("strides", w.strides),
                                       node.attr("dilations", w.dilations), node.attr("low", ArrayRef<DimExpr>(w.low)),
                                       node.attr("extents", ArrayRef<DimExpr>(pool->extents)),
                                       node.attr("columnMajor", node.b.getBoolAttr(node.getInt("storage_order", 0)))})
                      : Value();
  if (!indices)
    return failure();
  node.setOutput(1, indices);
  return success();
}

/// Sums of windows over the number of elements that count in each: those of x, or of x and its padding.
static Value averageWithCounts(Composer &c, Value x, const Pooling &pool, bool countPadding) {
  Value sum = reduceWindows<ReduceSumOp>(c, x, pool, 0);
  Dims dims = {DimExpr(1), DimExpr(1)};
  for (auto [i, extent] : llvm::enumerate(pool.extents))
    dims.push_back(countPadding ? extent + pool.window.low[i] + pool.window.high[i] : extent);
  Value ones = c.filled(dims, getElementType(x), 1);
  Value counts = reduceWindow<ReduceSumOp>(c, makeWindow(c, ones, pool, 0, countPadding), pool);
  return sum && counts ? c.op<DivOp>({sum, counts}) : Value();
}

LogicalResult buildAveragePool(OnnxNode &node) { return node.finish(importAveragePool(node, node.input(0))); }

Value importAveragePool(OnnxNode &node, Value x) {
  Composer c(node);
  std::optional<Pooling> pool = readPool(node, x);
  if (!pool)
    return {};
  bool countPadding = node.getInt("count_include_pad", 0);
  auto none = [](const DimExpr &d) { return d.is(0); };
  // Where every window counts all its elements, the mean is plain.
  bool whole = llvm::all_of(pool->beyond, [](const DimExpr &d) { return isNonNegative(d * DimExpr(-1)); }) ||
               !node.getInt("ceil_mode", 0);
  if (whole && (countPadding || (llvm::all_of(pool->window.low, none) && llvm::all_of(pool->window.high, none))))
    return reduceWindows<ReduceMeanOp>(c, x, *pool, 0);
  return averageWithCounts(c, x, *pool, countPadding);
}

LogicalResult buildLpPool(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  std::optional<Pooling> pool = readPool(node, x);
  if (!pool)
    return failure();
  double p = node.opset() < 2 ? node.getFloat("p", 2) : double(node.getInt("p", 2));
  Value power = p == 2 ? c.op<MulOp>({x, x}) : c.op<AbsOp>(x);
  if (p != 1 && p != 2)
    power = c.op<PowOp>({power, c.scalarLike(x, p)});
  Value sum = reduceWindows<ReduceSumOp>(c, power, *pool, 0);
  if (p == 1 || !sum)
    return node.finish(sum);
  return node.finish(p == 2 ? c.op<SqrtOp>(sum) : c.op<PowOp>({sum, c.scalarLike(x, 1 / p)}));
}

LogicalResult buildMaxUnpool(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0), indices = node.input(1);
  Dims dims = getDims(x);
  SmallVector<int64_t> kernel = node.getInts("kernel_shape").value_or(SmallVector<int64_t>());
  if (dims.size() < 3 || kernel.size() != dims.size() - 2)
    return node.refuse("kernel_shape needs one entry a spatial dim");
  std::optional<Window> window = readWindow(node, ArrayRef(dims).drop_front(2), kernel);
  if (!window)
    return failure();
  Dims shape = {dims[0], dims[1]};
  for (size_t i = 0; i < kernel.size(); ++i)
    shape.push_back((dims[2 + i] - DimExpr(1)) * DimExpr(window->strides[i]) + DimExpr(kernel[i]) - window->low[i] -
                    window->high[i]);
  Dims flat = {numElements(shape)}, count = {numElements(dims)};
  Value zeros = c.filled(flat, getElementType(x), 0);
  Value spread = makeNamed(node.b, node.loc, ScatterElementsOp::getOperationName(),
                           {zeros, c.reshape(indices, count), c.reshape(x, count)}, node.attr("axis", int64_t(0)));
  spread = c.reshape(spread, shape);
  if (!spread || !node.input(2))
    return node.finish(spread);
  std::optional<Dims> wanted = node.contentsOrRead(node.input(2));
  if (!wanted || wanted->size() != shape.size())
    return wanted ? node.refuse("output_shape differs in rank") : failure();
  Dims low(shape.size(), DimExpr(0)), high;
  for (auto [i, want, have] : llvm::enumerate(*wanted, shape)) {
    require(node.b, node.loc, i < 2 ? Relation::Equal : Relation::AtMost, have, want);
    high.push_back(want - have);
  }
  return node.finish(c.pad(spread, low, high));
}

} // namespace hewn::graph
