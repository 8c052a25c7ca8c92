// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX's pooling nodes, as reductions of sliding windows.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Indexing/ScatterOps.h"
#include "dialects/Graph/Reduce/Reduce.h"
#include "dialects/Graph/Reduce/ReduceOps.h"
#include "dialects/Graph/Reduce/WindowOps.h"

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------===//
// Index in the pooled tensor
//===------------------------------------------------------------------------------------------===//

LogicalResult WindowPositionOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  size_t n = getKernel().size();
  std::optional<Dims> low = parseDims(getLow()), extents = parseDims(getExtents());
  if (dimsOf(getX()).size() != n + 2 || getStrides().size() != n || getDilations().size() != n || !low || !extents ||
      low->size() != n || extents->size() != n)
    return emitOpError("kernel, strides, dilations, low and extents must have one entry per spatial dim");
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
    // If all elements of a MaxPool window have the lowest value, the first of the equal elements
    // may be padding. The index of the first element inside of the tensor is then returned.
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

//===------------------------------------------------------------------------------------------===//
// Builders
//===------------------------------------------------------------------------------------------===//

namespace {
/// The window of a pooling node, and the sizes of its operand and result.
struct Pooling {
  Window window;
  Dims extents; // spatial dims of the pooled tensor x
  Dims sizes;   // spatial dims of the result
  // for each spatial dim: the number of elements by which the last window extends beyond the end of
  // the padding (ceil_mode)
  SmallVector<DimExpr> beyond;
};
} // namespace

static std::optional<Pooling> readPool(OnnxNode &node, Value x) {
  Dims dims = getDims(x);
  if (dims.size() < 3) {
    (void)node.refuse("pooling requires an input of rank 3 or more, not " + Twine(dims.size()));
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
            extent); // if x is empty, windows have no maximum and no mean
    DimExpr reach((window->kernel[i] - 1) * window->dilations[i] + 1), stride(window->strides[i]), size;
    DimExpr padded = extent + window->low[i] + window->high[i];
    if (window->same)
      size = extent.ceilDiv(stride);
    else if (!ceil)
      size = (padded - reach).floorDiv(stride) + DimExpr(1);
    else // ceil_mode: windows that start in the padding at the end are not computed
      size = DimExpr::min((padded - reach).ceilDiv(stride) + DimExpr(1), (extent + window->low[i]).ceilDiv(stride));
    if (size.constant() && *size.constant() < 1) {
      (void)node.refuse("the window is larger than spatial dim " + Twine(i) + " (size " + extent.str() + ")");
      return std::nullopt;
    }
    pool.sizes.push_back(size);
    pool.beyond.push_back((size - DimExpr(1)) * stride + reach - padded);
  }
  return pool;
}

/// Emits the sliding windows of x (graph.window), with `fill` as padding. If `padded` is set, x has
/// already been padded.
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

/// Reduces the elements of each pooling window, which are in the last dims of the window tensor.
template <typename OpTy> static Value reduceWindow(Composer &c, Value window, const Pooling &pool) {
  if (!window)
    return window;
  int64_t rank = getRank(window), n = pool.sizes.size();
  return c.reduce<OpTy>(window, llvm::to_vector(llvm::seq<int64_t>(rank - n, rank)), false);
}

namespace {
/// A window along one dim that is reduced as part of a long one: its size, and the distance between
/// its elements.
struct WindowStep {
  int64_t kernel, dilation;
};
} // namespace

/// Cost of storing and loading a partial result, in window elements.
constexpr double kPassCost = 4;
/// Windows are reduced in steps if that costs less than this part of reading all elements of each.
constexpr double kWorthwhile = 0.7;

/// Returns the cost of the steps, in window elements per result of the last step.
static double stepsCost(ArrayRef<WindowStep> steps, int64_t stride) {
  double cost = 0;
  for (const WindowStep &step : steps)
    cost += (double(step.kernel) + kPassCost) * double(&step == &steps.back() ? 1 : stride);
  return cost;
}

/// Returns the steps that compute the maxima of windows of `kernel` elements. Elements may be read
/// more than once. Step i reduces windows over the results of step i - 1. Returns a single step if
/// that is cheaper.
static SmallVector<WindowStep> maximumSteps(int64_t kernel, int64_t stride) {
  constexpr int64_t mostAtOnce = 8;
  SmallVector<WindowStep> steps;
  int64_t span = 1; // number of window elements that a result of the steps covers
  while (span * 2 <= kernel) {
    int64_t count = std::min(mostAtOnce, kernel / span);
    steps.push_back({count, span});
    span *= count;
  }
  if (span < kernel) // the last two windows overlap
    steps.push_back({2, kernel - span});
  if (steps.empty() || stepsCost(steps, stride) - kPassCost >= kWorthwhile * double(kernel))
    return {{kernel, 1}};
  return steps;
}

namespace {
/// How windows along one dim are reduced: from partial results of `part` elements each, and the
/// rest of the window. `part` is 0 if they are reduced from their elements. If `isStrided` is true,
/// a partial result starts at every `part`-th element only.
struct WindowParts {
  int64_t part = 0;
  bool isStrided = false;
  double cost = 0; // in window elements per result
};
} // namespace

/// Returns the cheapest way to reduce windows of `kernel` elements that reads each element once.
/// Overlapping windows share partial results. `isDense`: the elements of a window are adjacent.
/// `levels`: how often the parts may be reduced from parts in turn, which bounds the search.
static WindowParts bestParts(int64_t kernel, int64_t stride, bool isDense, int64_t levels = 2) {
  constexpr int64_t shortest = 16, longestPart = 64;
  WindowParts best{0, false, double(kernel)};
  if (kernel < shortest || levels == 0)
    return best;
  for (int64_t part = 2; part <= std::min(longestPart, kernel / 2); ++part) {
    int64_t rest = kernel % part;
    for (bool isStrided : {false, true}) {
      if (isStrided && (!isDense || stride % part != 0))
        continue;
      int64_t apart = isStrided ? stride / part : stride;
      double cost = (double(part) + kPassCost) * double(apart) +
                    bestParts(kernel / part, apart, isStrided, levels - 1).cost +
                    (rest > 0 ? double(rest) + kPassCost : 0);
      if (cost < best.cost && cost < kWorthwhile * double(kernel))
        best = {part, isStrided, cost};
    }
  }
  return best;
}

/// Returns true if maxima of windows take fewer operations in the steps of maximumSteps than in
/// parts that read each element once.
static bool prefersSteps(int64_t kernel, int64_t stride, bool isDense) {
  return stepsCost(maximumSteps(kernel, stride), stride) - kPassCost < bestParts(kernel, stride, isDense).cost;
}

/// Returns the cost of reducing windows along one dim, in window elements per result.
static double costAlong(int64_t kernel, int64_t stride, bool isDense, bool isSum) {
  return isSum || !prefersSteps(kernel, stride, isDense) ? bestParts(kernel, stride, isDense).cost
                                                         : stepsCost(maximumSteps(kernel, stride), stride) - kPassCost;
}

/// Returns true if a pooling window is so large that it is reduced one dim at a time, the last dim
/// last, so that overlapping windows share partial results. Vectors run along the last dim, whose
/// strided windows are read element by element, then from the smallest tensor. Sums of types below
/// 32 bits are excluded, because rounding of partial sums would change the result.
static bool isReducedByDims(const Pooling &pool, Type type, bool isSum) {
  const Window &w = pool.window;
  if (isSum && !type.isF32() && !type.isF64())
    return false;
  double together = 1, apart = 0, above = 1; // window elements read per result element
  for (size_t i = w.kernel.size(); i-- > 0;) {
    int64_t kernel = w.kernel[i];
    if (!w.low[i].constant())
      return false;
    if (kernel > 1)
      apart += (costAlong(kernel, w.strides[i], w.dilations[i] == 1, isSum) + kPassCost) * above;
    std::optional<int64_t> extent = pool.extents[i].constant(), size = pool.sizes[i].constant();
    above *= extent && size ? double(*extent) / double(*size) : double(w.strides[i]);
    together *= double(kernel);
  }
  return apart - kPassCost < kWorthwhile * together;
}

/// Emits the maxima of windows along spatial dim `i`, in the steps that maximumSteps returns.
static Value maximumAlong(Composer &c, Value x, const Pooling &pool, size_t i, double fill) {
  const Window &w = pool.window;
  int64_t covered = 1;
  SmallVector<WindowStep> steps = maximumSteps(w.kernel[i], w.strides[i]);
  for (const WindowStep &step : steps) {
    Pooling part = pool;
    covered += (step.kernel - 1) * step.dilation;
    part.window.kernel[i] = step.kernel;
    part.window.dilations[i] = step.dilation * w.dilations[i];
    if (&step != &steps.front())
      part.window.low[i] = DimExpr(0);
    if (&step != &steps.back()) {
      part.window.strides[i] = 1;
      part.sizes[i] =
          (pool.sizes[i] - DimExpr(1)) * DimExpr(w.strides[i]) + DimExpr((w.kernel[i] - covered) * w.dilations[i] + 1);
    }
    x = reduceWindow<ReduceMaxOp>(c, makeWindow(c, x, part, fill), part);
  }
  return x;
}

/// Emits the reduction of windows along spatial dim `i`, in the parts that bestParts returns.
template <typename OpTy, typename MergeOp>
static Value partsAlong(Composer &c, Value x, const Pooling &pool, size_t i, double fill) {
  const Window &w = pool.window;
  int64_t kernel = w.kernel[i], stride = w.strides[i], dilation = w.dilations[i];
  WindowParts best = bestParts(kernel, stride, dilation == 1);
  if (best.part == 0)
    return reduceWindow<OpTy>(c, makeWindow(c, x, pool, fill), pool);
  int64_t count = kernel / best.part, covered = count * best.part;
  Pooling parts = pool, main = pool, rest = pool;
  parts.window.kernel[i] = best.part;
  main.window.kernel[i] = count;
  main.window.low[i] = DimExpr(0);
  if (best.isStrided) {
    parts.window.strides[i] = best.part;
    main.window.strides[i] = stride / best.part;
  } else {
    parts.window.strides[i] = 1;
    main.window.dilations[i] = best.part * dilation;
  }
  parts.sizes[i] = (pool.sizes[i] - DimExpr(1)) * DimExpr(main.window.strides[i]) +
                   DimExpr((count - 1) * main.window.dilations[i] + 1);
  Value partial = reduceWindow<OpTy>(c, makeWindow(c, x, parts, fill), parts);
  Value result = partial ? partsAlong<OpTy, MergeOp>(c, partial, main, i, fill) : partial;
  if (covered == kernel)
    return result;
  rest.window.kernel[i] = kernel - covered;
  rest.window.low[i] = w.low[i] - DimExpr(covered * dilation);
  Value last = reduceWindow<OpTy>(c, makeWindow(c, x, rest, fill), rest);
  return result && last ? c.op<MergeOp>({result, last}) : Value();
}

/// Emits the pooling windows of x and their sums or maxima, one dim at a time if that is cheaper.
static Value reduceWindows(Composer &c, Value x, const Pooling &pool, double fill, bool isSum = true) {
  if (!x)
    return x;
  if (!isReducedByDims(pool, getElementType(x), isSum)) {
    Value window = makeWindow(c, x, pool, fill);
    return isSum ? reduceWindow<ReduceSumOp>(c, window, pool) : reduceWindow<ReduceMaxOp>(c, window, pool);
  }
  size_t n = pool.sizes.size();
  for (size_t i = 0; i < n && x; ++i) {
    if (pool.window.kernel[i] == 1 && pool.window.strides[i] == 1 && pool.sizes[i] == pool.extents[i])
      continue;
    Pooling along = pool;
    for (size_t j = 0; j < n; ++j) {
      if (j == i)
        continue;
      along.window.kernel[j] = along.window.strides[j] = along.window.dilations[j] = 1;
      along.window.low[j] = DimExpr(0);
      along.sizes[j] = j > i ? pool.extents[j] : pool.sizes[j];
    }
    const Window &w = along.window;
    if (isSum)
      x = partsAlong<ReduceSumOp, AddOp>(c, x, along, i, fill);
    else if (prefersSteps(w.kernel[i], w.strides[i], w.dilations[i] == 1))
      x = maximumAlong(c, x, along, i, fill);
    else
      x = partsAlong<ReduceMaxOp, MaximumOp>(c, x, along, i, fill);
  }
  return x;
}

/// Returns the lowest value of an element type, as a double.
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
    Value most = reduceWindows(c, x, *pool, least, /*isSum=*/false);
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

/// Emits the averages of windows that all have equally many elements, which count as padding too.
static Value meanOfWindows(Composer &c, Value x, const Pooling &pool) {
  if (!x || !isReducedByDims(pool, getElementType(x), /*isSum=*/true))
    return reduceWindow<ReduceMeanOp>(c, makeWindow(c, x, pool, 0), pool);
  double count = 1;
  for (int64_t kernel : pool.window.kernel)
    count *= double(kernel);
  Value sum = reduceWindows(c, x, pool, 0);
  return sum ? c.op<DivOp>({sum, c.scalarLike(x, count)}) : Value();
}

/// Emits the number of elements of each window along spatial dim `i`, as a list of i64: the
/// elements before the end of the dim, at most all, less those before its start.
static Value countElements(Composer &c, const Pooling &pool, size_t i, bool countPadding) {
  const Window &w = pool.window;
  DimExpr low = countPadding ? DimExpr(0) : w.low[i], dilation(w.dilations[i]);
  DimExpr extent = countPadding ? pool.extents[i] + w.low[i] + w.high[i] : pool.extents[i];
  Value zero = c.number(DimExpr(0)), step = c.number(dilation), kernel = c.number(DimExpr(w.kernel[i]));
  Value starts = c.range(zero, c.number(DimExpr(w.strides[i])), pool.sizes[i]);
  // ceil((end - start of the window) / dilation), or 0: a division rounds toward zero
  auto before = [&](DimExpr end) {
    end = end + low + dilation - DimExpr(1);
    Value last = end.constant()
                     ? c.number(end)
                     : make<DimValueOp>(c.b, c.loc, {}, c.b.getNamedAttr("values", dimsAttr(c.b.getContext(), {end})));
    Value distance = c.sub({last, starts}), above = distance ? c.op<MaximumOp>({distance, zero}) : Value();
    return above && !dilation.is(1) ? c.op<DivOp>({above, step}) : above;
  };
  Value atEnd = before(extent), atStart = before(DimExpr(0));
  Value most = atEnd && kernel ? c.op<MinimumOp>({atEnd, kernel}) : Value();
  return most && atStart ? c.op<MaximumOp>({c.sub({most, atStart}), zero}) : Value();
}

/// Emits the averages of windows: their sums, divided by the number of elements in each window.
/// Padding elements only count if `countPadding` is set.
static Value averageWithCounts(Composer &c, Value x, const Pooling &pool, bool countPadding) {
  Value sum = reduceWindows(c, x, pool, 0);
  // Multiply the counts along each dim: a window has as many elements as their product.
  Value counts;
  size_t n = pool.sizes.size();
  for (size_t i = 0; i < n; ++i) {
    Dims dims(2 + n, DimExpr(1));
    dims[2 + i] = pool.sizes[i];
    Value own = c.reshape(c.cast(countElements(c, pool, i, countPadding), getElementType(x)), dims);
    if (!own)
      return {};
    counts = counts ? c.op<MulOp>({counts, own}) : own;
  }
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
  // If the number of counted elements is equal for all windows of an AveragePool, one mean
  // reduction over the window computes the result.
  bool whole = llvm::all_of(pool->beyond, [](const DimExpr &d) { return isNonNegative(d * DimExpr(-1)); }) ||
               !node.getInt("ceil_mode", 0);
  if (whole && (countPadding || (llvm::all_of(pool->window.low, none) && llvm::all_of(pool->window.high, none))))
    return meanOfWindows(c, x, *pool);
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
  Value sum = reduceWindows(c, power, *pool, 0);
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
    return node.refuse("kernel_shape must have one entry per spatial dim");
  std::optional<Window> window = readWindow(node, ArrayRef(dims).drop_front(2), kernel);
  if (!window)
    return failure();
  Dims shape = {dims[0], dims[1]};
  for (size_t i = 0; i < kernel.size(); ++i)
    shape.push_back((dims[2 + i] - DimExpr(1)) * DimExpr(window->strides[i]) + DimExpr(kernel[i]) - window->low[i] -
                    window->high[i]);
  Dims flat = {numElements(shape)}, count = {numElements(dims)};
  if (failed(checkIndices(node, indices, flat, IndexRange::Position)))
    return failure();
  Value zeros = c.filled(flat, getElementType(x), 0);
  Value spread = makeNamed(node.b, node.loc, ScatterElementsOp::getOperationName(),
                           {zeros, c.reshape(indices, count), c.reshape(x, count)}, node.attr("axis", int64_t(0)));
  spread = c.reshape(spread, shape);
  if (!spread || !node.input(2))
    return node.finish(spread);
  std::optional<Dims> wanted = node.contentsOrRead(node.input(2), shape.size());
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
