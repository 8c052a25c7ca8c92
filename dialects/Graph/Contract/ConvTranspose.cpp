// SPDX-License-Identifier: Apache-2.0
//
// Decomposes ConvTranspose. By definition, each input element adds a multiple of the kernel to the
// output. Computed for each output element, this is a convolution of the zero-dilated input with
// the flipped kernel.
//
// | case | decomposition |
// | --- | --- |
// | kernel size = stride: copies of the kernel do not overlap | a matmul and an indexing op |
// | stride s | one convolution for each phase, then interleaving |
// | few output features or many phases | one convolution for all phases, then an indexing op |
// | otherwise | a convolution of the dilated input |
//
// Phase p of stride s consists of the results at s*t + p, which only use every s-th tap of the
// kernel ("sub-pixel convolution", Shi et al. 2016, section 3.2). Measurements are in
// docs/decisions/kernels/transposed-convolutions.md.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Indexing/IndexOps.h"
#include "dialects/Graph/Indexing/Interleave.h"

#include <numeric>

using namespace mlir;

namespace hewn::graph {

/// Computes the padding of a ConvTranspose node that has `output_shape` or the auto_pad mode SAME_*
/// or VALID. Otherwise, keeps the padding of the attribute `pads`.
static LogicalResult readOutputPadding(OnnxNode &node, ArrayRef<DimExpr> extents, ArrayRef<int64_t> more, Window &w) {
  size_t n = extents.size();
  std::optional<SmallVector<int64_t>> wanted = node.getInts("output_shape");
  std::string mode = node.getString("auto_pad", "NOTSET");
  if (!wanted && mode == "NOTSET")
    return success();
  // Drops the batch and channel dims, which some exporters include in output_shape.
  if (wanted && wanted->size() == n + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (wanted && wanted->size() != n)
    return node.refuse("output_shape must have " + Twine(n) + " entries");
  for (size_t i = 0; i < n; ++i) {
    DimExpr stride(w.strides[i]), reach((w.kernel[i] - 1) * w.dilations[i] + 1);
    w.low[i] = w.high[i] = DimExpr(0);
    if (!wanted && mode == "VALID")
      continue;
    DimExpr target = wanted ? DimExpr((*wanted)[i]) : extents[i] * stride;
    // The total padding is negative if the required output extent is larger than the unpadded
    // result: zeros are then appended to the output.
    DimExpr total = stride * (extents[i] - DimExpr(1)) + DimExpr(more[i]) + reach - target;
    DimExpr half = total.floorDiv(DimExpr(2));
    w.low[i] = clampToZero(mode == "SAME_UPPER" ? half : total - half);
    w.high[i] = total - w.low[i];
  }
  return success();
}

/// Decomposes a ConvTranspose whose kernel size is equal to the stride: each input position has its
/// own tile of the output, which is a row of a matmul result. The matmul is in NHWC. Its columns
/// are the taps and channels of a tile, so that the indexing op after it copies full pixels.
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
  // Reshapes the weights: [C, M, k..] -> [C, k.. * M]
  Value matrix = c.reshape(c.transpose(weights, channelsLast), {w[0], columns});
  Value rows = c.reshape(c.transpose(x, channelsLast), {in[0] * positions, in[1]});
  Value tiles = composeMatMul(c, rows, matrix);
  // Converts the rows of the matmul result to tiles of the output: [N * d.., k.. * M] -> [N, d..,
  // k.., M] -> [N, d1, k1, d2, k2, .., M] -> [N, d1*k1, d2*k2, .., M]
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

/// The attributes of a transposed convolution: window, output padding (`more`) and groups, and its
/// bias, which may be null.
struct Transposed {
  Window window;
  SmallVector<int64_t> more;
  int64_t groups;
  Value bias;
};

//===------------------------------------------------------------------------------------------===//
// One convolution for all phases
//===------------------------------------------------------------------------------------------===//

/// The phases of a transposed convolution. For each spatial dim: the number of taps of a phase, the
/// number of the first tile (of `strides` results each) that is required, and the number of taps
/// after the last input element.
struct Phases {
  SmallVector<int64_t> taps, first, last;
};

/// Returns the extent of a transposed convolution's result along spatial dim `i`.
static DimExpr resultExtent(const Window &w, int64_t i, const DimExpr &extent, int64_t more) {
  int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
  return (extent - DimExpr(1)) * DimExpr(w.strides[i]) + DimExpr(reach + more) - w.low[i] - w.high[i];
}

/// Returns the phases of a transposed convolution, or nullopt if the kernel is dilated or the
/// padding is dynamic.
static std::optional<Phases> readPhases(const Window &w, ArrayRef<int64_t> more) {
  if (llvm::any_of(w.dilations, [](int64_t d) { return d != 1; }))
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

/// Emits a transposed convolution as one convolution whose features are those of all phases, and an
/// indexing op that copies the results of each phase to their pixels. Phases with fewer taps get
/// additional taps of zero weights.
static Value composeTogether(Composer &c, Value x, Value weights, const Transposed &t, const Phases &phases) {
  const Window &w = t.window;
  int64_t groups = t.groups;
  Dims in = getDims(x), from = getDims(weights);
  int64_t n = w.kernel.size();
  DimExpr features = from[1], perGroup = from[0].floorDiv(DimExpr(groups));
  // Converts the weights: [C, M, k..] -> [G, C/G, M, taps, phases, ..] -> (flip taps) [G, phases..,
  // M, C/G, taps..]
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
  // Interleaves the phases: [N, G * phases.. * M, t..] -> [N, G, M, t1, phases1, t2, ..] -> [N, G *
  // M, t1 * phases1, ..]
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
                    resultExtent(w, i, in[2 + i], t.more[i]));
  return addChannelBias(c, whole, t.bias);
}

//===------------------------------------------------------------------------------------------===//
// One convolution a phase
//===------------------------------------------------------------------------------------------===//

/// Phase p of a transposed convolution along a spatial dim: the `extent` results at stride * t + p.
/// The result for t is the sum over j of tap number `tap` + stride * j, for `taps` taps in
/// descending order, times the input elements at t + `shift`, t + `shift` + dilation, and so on.
struct Phase {
  int64_t tap, taps, shift;
  DimExpr extent;
};

/// Returns the phases of a transposed convolution for each spatial dim. Returns an empty list if
/// the padding is dynamic, if a phase has no results, or if stride and dilation of a dim have a
/// common factor.
static SmallVector<SmallVector<Phase>> phasesOf(const Transposed &t, ArrayRef<DimExpr> extents) {
  const Window &w = t.window;
  SmallVector<SmallVector<Phase>> phases;
  for (auto [i, in] : llvm::enumerate(extents)) {
    int64_t stride = w.strides[i], dilation = w.dilations[i];
    std::optional<int64_t> low = w.low[i].constant();
    DimExpr whole = resultExtent(w, int64_t(i), in, t.more[i]);
    std::optional<int64_t> rest = (whole - in * DimExpr(stride)).constant();
    if (!low || !rest || std::gcd(stride, dilation) != 1)
      return {};
    phases.emplace_back();
    for (int64_t p = 0; p < stride; ++p) {
      // If the input's extent is dynamic, all phases get the extent of the longest one.
      DimExpr extent = in + DimExpr(llvm::divideCeilSigned(*rest - (in.constant() ? p : 0), stride));
      if (extent.constant() && *extent.constant() < 1)
        return {};
      int64_t tap = 0;
      while ((p + *low - tap * dilation) % stride != 0)
        ++tap;
      int64_t taps = tap < w.kernel[i] ? llvm::divideCeil(w.kernel[i] - tap, stride) : 0;
      phases.back().push_back({tap, taps, (p + *low - tap * dilation) / stride - (taps - 1) * dilation, extent});
    }
  }
  return phases;
}

/// Emits a convolution that computes the results of one phase of each spatial dim, from weights [M,
/// C/groups, k..].
static Value composePhase(Composer &c, Value x, Value weights, const Transposed &t, ArrayRef<Phase> phases) {
  Dims in = getDims(x), shape = {in[0], getDims(weights)[0]};
  Window plain;
  for (auto [i, phase] : llvm::enumerate(phases)) {
    int64_t stride = t.window.strides[i], dilation = t.window.dilations[i];
    shape.push_back(phase.extent);
    if (phase.taps > 0)
      weights = c.slice(weights, int64_t(2 + i), DimExpr(phase.tap + stride * (phase.taps - 1)), DimExpr(phase.taps),
                        -stride);
    plain.kernel.push_back(phase.taps);
    plain.strides.push_back(1);
    plain.dilations.push_back(phase.taps > 1 ? dilation : 1);
    plain.low.push_back(DimExpr(-phase.shift));
    plain.high.push_back(phase.extent + DimExpr(phase.shift + (phase.taps - 1) * dilation) - in[2 + i]);
  }
  bool none = llvm::is_contained(plain.kernel, 0);
  Value result = none ? c.filled(shape, getElementType(x), 0) : composeConv(c, x, weights, plain, t.groups);
  return addChannelBias(c, result, t.bias);
}

/// Converts the weights of a transposed convolution, [C, M/groups, k..], to those of a convolution,
/// [M, C/groups, k..].
static Value featuresFirst(Composer &c, Value weights, int64_t groups) {
  Dims w = getDims(weights);
  DimExpr perGroup = w[0].floorDiv(DimExpr(groups));
  Dims apart = {DimExpr(groups), perGroup, w[1]}, together = {w[1] * DimExpr(groups), perGroup};
  SmallVector<int64_t> order = {0, 2, 1};
  for (size_t i = 2; i < w.size(); ++i) {
    apart.push_back(w[i]);
    together.push_back(w[i]);
    order.push_back(i + 1);
  }
  return c.reshape(c.transpose(c.reshape(weights, apart), order), together);
}

/// Converts the weights of a transposed convolution, [C, M/groups, k..], to those of a convolution,
/// [M, C/groups, k..], and flips every kernel dim.
static Value turnWeights(Composer &c, Value weights, int64_t groups) {
  weights = featuresFirst(c, weights, groups);
  Dims w = getDims(weights);
  for (size_t i = 2; i < w.size(); ++i)
    if (!w[i].is(1))
      weights = c.slice(weights, int64_t(i), w[i] - DimExpr(1), w[i], -1);
  return weights;
}

static Value composeInterleaved(Composer &c, Value x, Value weights, const Transposed &t,
                                ArrayRef<SmallVector<Phase>> phases) {
  Assembly spatial{0, t.window.strides};
  Dims in = getDims(x), shape = {in[0], getDims(weights)[1] * DimExpr(t.groups)};
  for (size_t i = 0; i < phases.size(); ++i)
    shape.push_back(resultExtent(t.window, int64_t(i), in[2 + i], t.more[i]));
  weights = featuresFirst(c, weights, t.groups);
  SmallVector<Value> operands;
  for (int64_t number = 0; number < spatial.numInterleaved(); ++number) {
    SmallVector<Phase> own;
    for (auto [of, p] : llvm::zip(phases, spatial.firstOf(number)))
      own.push_back(of[p]);
    operands.push_back(composePhase(c, x, weights, t, own));
    if (!operands.back())
      return {};
  }
  SmallVector<int64_t> steps = {1, 1};
  llvm::append_range(steps, t.window.strides);
  return make<InterleaveOp>(c.b, c.loc, operands,
                            {c.b.getNamedAttr("shape", dimsAttr(c.b.getContext(), shape)),
                             c.b.getNamedAttr("steps", c.b.getDenseI64ArrayAttr(steps))});
}

//===------------------------------------------------------------------------------------------===//
// Selection of a decomposition
//===------------------------------------------------------------------------------------------===//

static Value compose(Composer &c, Value x, Value weights, const Transposed &t);

/// Inserts `factors[d]` - 1 zeros between the elements of x along each spatial dim d.
static Value spread(Composer &c, Value x, ArrayRef<int64_t> factors) {
  if (!x || llvm::all_of(factors, [](int64_t factor) { return factor == 1; }))
    return x;
  SmallVector<int64_t> all = {1, 1};
  llvm::append_range(all, factors);
  return make<DilateOp>(c.b, c.loc, {x}, {c.b.getNamedAttr("factors", c.b.getDenseI64ArrayAttr(all))});
}

/// Decomposes a transposed convolution whose stride and dilation have a common factor: emits the
/// transposed convolution with both divided by the factor, and dilates its results by the factor.
static Value composeApart(Composer &c, Value x, Value weights, const Transposed &t) {
  size_t n = t.window.kernel.size();
  Transposed near = t;
  near.bias = {};
  near.more.assign(n, 0);
  SmallVector<int64_t> factors;
  Dims low(2, DimExpr(0)), high(2, DimExpr(0));
  for (size_t i = 0; i < n; ++i) {
    factors.push_back(std::gcd(t.window.strides[i], t.window.dilations[i]));
    near.window.strides[i] /= factors[i];
    near.window.dilations[i] /= factors[i];
    near.window.low[i] = near.window.high[i] = DimExpr(0);
    low.push_back(DimExpr(0) - t.window.low[i]);
    high.push_back(DimExpr(t.more[i]) - t.window.high[i]);
  }
  Value results = spread(c, compose(c, x, weights, near), factors);
  return addChannelBias(c, c.pad(results, low, high), t.bias);
}

/// Emits a transposed convolution as a convolution of the zero-dilated input with the flipped
/// kernel. The input is padded by (kernel size - 1) * dilation minus the node's padding.
static Value composeWithZeros(Composer &c, Value x, Value weights, const Transposed &t) {
  Window plain = t.window;
  plain.strides.assign(plain.kernel.size(), 1);
  for (size_t i = 0; i < plain.kernel.size(); ++i) {
    DimExpr over((plain.kernel[i] - 1) * plain.dilations[i]);
    plain.low[i] = over - t.window.low[i];
    plain.high[i] = over - t.window.high[i] + DimExpr(t.more[i]);
  }
  x = spread(c, x, t.window.strides);
  return x ? addChannelBias(c, composeConv(c, x, turnWeights(c, weights, t.groups), plain, t.groups), t.bias) : Value();
}

static Value compose(Composer &c, Value x, Value weights, const Transposed &t) {
  // Bounds for one convolution per phase. With at most `fewFeatures` features, most vector lanes
  // would be empty. With more than `mostPhases` convolutions, the compile time would outweigh their
  // gain.
  constexpr int64_t fewFeatures = 4, mostPhases = 16;
  const Window &w = t.window;
  auto isOne = [](int64_t v) { return v == 1; };
  auto isZero = [](const DimExpr &d) { return d.is(0); };
  bool dense = llvm::all_of(w.dilations, isOne);
  if (llvm::all_of(w.strides, isOne))
    return composeWithZeros(c, x, weights, t);
  if (t.groups == 1 && w.kernel == w.strides && dense && llvm::all_of(w.low, isZero) && llvm::all_of(w.high, isZero) &&
      llvm::all_of(t.more, [](int64_t v) { return v == 0; }))
    return addChannelBias(c, composeByTiles(c, x, weights, w.kernel), t.bias);
  auto shareFactor = [](auto pair) { return std::gcd(std::get<0>(pair), std::get<1>(pair)) != 1; };
  if (llvm::any_of(llvm::zip(w.strides, w.dilations), shareFactor))
    return composeApart(c, x, weights, t);
  bool many = Assembly{0, w.strides}.numInterleaved() > mostPhases;
  bool few = t.groups == 1 && getDims(weights)[1].constant().value_or(fewFeatures + 1) <= fewFeatures;
  if (many || few)
    if (std::optional<Phases> phases = readPhases(w, t.more))
      return composeTogether(c, x, weights, t, *phases);
  if (!many)
    if (SmallVector<SmallVector<Phase>> phases = phasesOf(t, ArrayRef(getDims(x)).drop_front(2)); !phases.empty())
      return composeInterleaved(c, x, weights, t, phases);
  return composeWithZeros(c, x, weights, t);
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
    return node.refuse("output_padding, group or bias does not match the weights");
  if (weightDims[0].constant() && *weightDims[0].constant() % groups != 0)
    return node.refuse(weightDims[0].str() + " channels are not divisible by " + Twine(groups) + " groups");
  if (failed(readOutputPadding(node, ArrayRef(in).drop_front(2), more, w)))
    return failure();
  for (size_t i = 0; i < n; ++i) {
    DimExpr extent = resultExtent(w, int64_t(i), in[2 + i], more[i]);
    if (more[i] < 0 || (extent.constant() && *extent.constant() < 1))
      return node.refuse("pads and output_padding leave " + extent.str() + " elements along spatial dim " + Twine(i));
  }
  Composer c(node);
  return node.finish(compose(c, x, weights, {w, more, groups, bias}));
}

} // namespace hewn::graph
