// SPDX-License-Identifier: Apache-2.0
//
// ConvTranspose in other ops. Its meaning: each input element adds its multiple of the kernel to the output. The same
// written as a sum for each output element is a plain convolution of the input, with zeros put between its elements, by
// the kernel turned around. Where the copies of the kernel don't overlap it is a matrix product and a move. Else, with a stride s,
// the results at s*t + p for one p are a convolution of the input by every s-th tap: all of them are one convolution with s times
// the features, and a move ("sub-pixel convolution", Shi et al. 2016, section 3.2). No zeros are multiplied.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/GraphOps.h"

using namespace mlir;

namespace hewn::graph {

/// The padding that `output_shape` or auto_pad SAME_* leads to; the padding written otherwise.
static LogicalResult readOutputPadding(OnnxNode &node, ArrayRef<DimExpr> extents, ArrayRef<int64_t> more, Window &w) {
  size_t n = extents.size();
  std::optional<SmallVector<int64_t>> wanted = node.getInts("output_shape");
  std::string mode = node.getString("auto_pad", "NOTSET");
  if (!wanted && mode == "NOTSET")
    return success();
  // Some exporters write the batch and channel dims too.
  if (wanted && wanted->size() == n + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (wanted && wanted->size() != n)
    return node.refuse("output_shape needs " + Twine(n) + " entries");
  for (size_t i = 0; i < n; ++i) {
    DimExpr stride(w.strides[i]), reach((w.kernel[i] - 1) * w.dilations[i] + 1);
    w.low[i] = w.high[i] = DimExpr(0);
    if (!wanted && mode == "VALID")
      continue;
    DimExpr target = wanted ? DimExpr((*wanted)[i]) : extents[i] * stride;
    // Where the result is wanted larger than it comes out, there are zeros behind it.
    DimExpr total = stride * (extents[i] - DimExpr(1)) + DimExpr(more[i]) + reach - target;
    DimExpr half = total.floorDiv(DimExpr(2));
    w.low[i] = clampToZero(mode == "SAME_UPPER" ? half : total - half);
    w.high[i] = total - w.low[i];
  }
  return success();
}

/// Kernel as large as its stride: the output is tiles, and a position's tile is a row of a matrix product. Written with
/// channels last, where the product's columns are the tile's taps and channels, so that nothing but whole pixels is
/// moved.
static Value composeByTiles(Composer &c, Value x, Value weights, ArrayRef<int64_t> kernel) {
  Dims in = getDims(x), w = getDims(weights);
  int64_t n = kernel.size();
  DimExpr positions = numElements(ArrayRef(in).drop_front(2)), columns = numElements(ArrayRef(w).drop_front(1));
  SmallVector<int64_t> channelsLast = {0}, channelsFirst = {0, n + 1};
  for (int64_t i = 0; i < n; ++i) {
    channelsLast.push_back(2 + i);
    channelsFirst.push_back(1 + i);
  }
  channelsLast.push_back(1);
  // [C, M, k..] -> [C, k.. * M]
  Value matrix = c.reshape(c.transpose(weights, channelsLast), {w[0], columns});
  Value rows = c.reshape(c.transpose(x, channelsLast), {in[0] * positions, in[1]});
  Value tiles = composeMatMul(c, rows, matrix);
  // [N * d.., k.. * M] -> [N, d.., k.., M] -> [N, d1, k1, d2, k2, .., M] -> [N, d1*k1, d2*k2, .., M]
  Dims apart = {in[0]}, shape = {in[0]};
  SmallVector<int64_t> order = {0};
  apart.append(in.begin() + 2, in.end());
  for (int64_t i = 0; i < n; ++i) {
    apart.push_back(DimExpr(kernel[i]));
    order.push_back(1 + i);
    order.push_back(1 + n + i);
    shape.push_back(in[2 + i] * DimExpr(kernel[i]));
  }
  order.push_back(1 + 2 * n);
  apart.push_back(w[1]);
  shape.push_back(w[1]);
  return c.transpose(c.reshape(c.transpose(c.reshape(tiles, apart), order), shape), channelsFirst);
}

/// The first tile (of `strides` results) that is wanted, and how many taps of each phase come behind an input's last element.
struct Phases {
  SmallVector<int64_t> taps, first, last;
};

/// How long the result is along spatial dim `i`.
static DimExpr resultExtent(const Window &w, int64_t i, const DimExpr &extent, int64_t more) {
  int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
  return (extent - DimExpr(1)) * DimExpr(w.strides[i]) + DimExpr(reach + more) - w.low[i] - w.high[i];
}

/// Nothing where a stride is 1 in all dims, taps lie apart, or the padding is known only when run.
static std::optional<Phases> readPhases(const Window &w, ArrayRef<int64_t> more) {
  if (llvm::all_of(w.strides, [](int64_t s) { return s == 1; }) ||
      llvm::any_of(w.dilations, [](int64_t d) { return d != 1; }))
    return std::nullopt;
  Phases phases;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    std::optional<int64_t> low = w.low[i].constant(), high = w.high[i].constant();
    if (!low || !high || *low < 0)
      return std::nullopt;
    phases.taps.push_back(llvm::divideCeil(w.kernel[i], w.strides[i]));
    phases.first.push_back(*low / w.strides[i]);
    phases.last.push_back(llvm::divideCeilSigned(w.kernel[i] - *high + more[i], w.strides[i]) - 1);
  }
  return phases;
}

/// One convolution for all phases, then each pixel's features to the places that they stand for.
static Value composeByPhases(Composer &c, Value x, Value weights, const Window &w, const Phases &phases,
                             ArrayRef<int64_t> more, int64_t groups) {
  Dims in = getDims(x), from = getDims(weights);
  int64_t n = w.kernel.size();
  DimExpr features = from[1], perGroup = from[0].floorDiv(DimExpr(groups));
  // [C, M, k..] -> [G, C/G, M, taps, phases, ..], taps from the last on -> [G, phases.., M, C/G, taps..] together
  Dims none(2 + n, DimExpr(0)), filled = none, apart = {DimExpr(groups), perGroup, features};
  SmallVector<int64_t> phasesFirst = {0}, tapsLast;
  DimExpr all(groups);
  for (int64_t i = 0; i < n; ++i) {
    filled[2 + i] = DimExpr(phases.taps[i] * w.strides[i] - w.kernel[i]);
    apart.push_back(DimExpr(phases.taps[i]));
    apart.push_back(DimExpr(w.strides[i]));
    phasesFirst.push_back(4 + 2 * i);
    tapsLast.push_back(3 + 2 * i);
    all = all * DimExpr(w.strides[i]);
  }
  phasesFirst.append({2, 1});
  phasesFirst.append(tapsLast);
  weights = c.reshape(c.pad(weights, none, filled), apart);
  for (int64_t i = 0; i < n; ++i)
    weights = c.slice(weights, 3 + 2 * i, DimExpr(phases.taps[i] - 1), DimExpr(phases.taps[i]), -1);
  Dims together = {all * features, perGroup};
  together.append(phases.taps.begin(), phases.taps.end());
  weights = c.reshape(c.transpose(weights, phasesFirst), together);
  Window plain{phases.taps, SmallVector<int64_t>(n, 1), SmallVector<int64_t>(n, 1), {}, {}};
  for (int64_t i = 0; i < n; ++i) {
    plain.low.push_back(DimExpr(phases.taps[i] - 1 - phases.first[i]));
    plain.high.push_back(DimExpr(phases.last[i]));
  }
  Value tiles = composeConv(c, x, weights, plain, groups);
  if (!tiles)
    return {};
  // [N, G * phases.. * M, t..] -> [N, G, M, t1, phases1, t2, ..] -> [N, G * M, t1 * phases1, ..]
  Dims counts = getDims(tiles), split = {in[0], DimExpr(groups)}, shape = {in[0], DimExpr(groups) * features};
  SmallVector<int64_t> order = {0, 1, 2 + n};
  for (int64_t i = 0; i < n; ++i) {
    split.push_back(DimExpr(w.strides[i]));
    order.append({3 + n + i, 2 + i});
    shape.push_back(counts[2 + i] * DimExpr(w.strides[i]));
  }
  split.push_back(features);
  split.append(counts.begin() + 2, counts.end());
  Value whole = c.reshape(c.transpose(c.reshape(tiles, split), order), shape);
  for (int64_t i = 0; i < n; ++i)
    whole = c.slice(whole, 2 + i, w.low[i] - DimExpr(phases.first[i] * w.strides[i]),
                    resultExtent(w, i, in[2 + i], more[i]));
  return whole;
}

/// [C, M/groups, k..] turned around: [M, C/groups, k..] with every kernel dim reversed.
static Value turnWeights(Composer &c, Value weights, int64_t groups) {
  Dims w = getDims(weights);
  DimExpr perGroup = w[0].floorDiv(DimExpr(groups));
  Dims apart = {DimExpr(groups), perGroup, w[1]}, together = {w[1] * DimExpr(groups), perGroup};
  SmallVector<int64_t> order = {0, 2, 1};
  for (size_t i = 2; i < w.size(); ++i) {
    apart.push_back(w[i]);
    together.push_back(w[i]);
    order.push_back(i + 1);
  }
  weights = c.reshape(c.transpose(c.reshape(weights, apart), order), together);
  for (size_t i = 2; i < w.size(); ++i)
    if (!w[i].is(1))
      weights = c.slice(weights, i, w[i] - DimExpr(1), w[i], -1);
  return weights;
}

LogicalResult buildConvTranspose(OnnxNode &node) {
  Value x = node.input(0), weights = node.input(1), bias = node.input(2);
  std::optional<Window> window = readConvWindow(node, x, weights);
  if (!window)
    return failure();
  Window &w = *window;
  size_t n = w.kernel.size();
  int64_t groups = node.getInt("group", 1);
  Dims in = getDims(x), weightDims = getDims(weights);
  SmallVector<int64_t> more = node.getInts("output_padding").value_or(SmallVector<int64_t>(n, 0));
  if (more.size() != n || groups < 1 || (bias && getRank(bias) != 1))
    return node.refuse("output_padding, group or bias do not fit the weights");
  if (weightDims[0].constant() && *weightDims[0].constant() % groups != 0)
    return node.refuse(Twine(groups) + " groups do not divide " + weightDims[0].str() + " channels");
  if (failed(readOutputPadding(node, ArrayRef(in).drop_front(2), more, w)))
    return failure();
  for (size_t i = 0; i < n; ++i) {
    DimExpr extent = resultExtent(w, int64_t(i), in[2 + i], more[i]);
    if (more[i] < 0 || (extent.constant() && *extent.constant() < 1))
      return node.refuse("pads and output_padding leave " + extent.str() + " elements along spatial dim " + Twine(i));
  }
  Composer c(node);
  auto isOne = [](int64_t v) { return v == 1; };
  auto isZero = [](const DimExpr &d) { return d.is(0); };
  bool tiles = groups == 1 && w.kernel == w.strides && llvm::all_of(w.dilations, isOne) &&
               llvm::all_of(w.low, isZero) && llvm::all_of(w.high, isZero) &&
               llvm::all_of(more, [](int64_t v) { return v == 0; });
  if (tiles)
    return node.finish(addChannelBias(c, composeByTiles(c, x, weights, w.kernel), bias));
  if (std::optional<Phases> phases = readPhases(w, more))
    return node.finish(addChannelBias(c, composeByPhases(c, x, weights, w, *phases, more, groups), bias));
  if (!llvm::all_of(w.strides, isOne)) {
    SmallVector<int64_t> factors = {1, 1};
    llvm::append_range(factors, w.strides);
    x = node.make<DilateOp>(x, node.attr("factors", factors));
  }
  // Every position that the turned kernel may stand at: it hangs over by all but one element, less the padding.
  Window plain = w;
  plain.strides.assign(n, 1);
  for (size_t i = 0; i < n; ++i) {
    DimExpr over((w.kernel[i] - 1) * w.dilations[i]);
    plain.low[i] = over - w.low[i];
    plain.high[i] = over - w.high[i] + DimExpr(more[i]);
  }
  return node.finish(addChannelBias(c, composeConv(c, x, turnWeights(c, weights, groups), plain, groups), bias));
}

} // namespace hewn::graph
