// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/Distribution.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace hewn::quantize {

using Mapping = Distribution::Mapping;

constexpr double kLevels = 255;

Mapping mappingOf(double from, double to, bool symmetric) {
  from = std::min(from, 0.0);
  to = std::max(to, 0.0);
  Mapping mapping;
  constexpr double middle = 128;
  mapping.scale = symmetric ? std::max(-from, to) / (middle - 1) : (to - from) / kLevels;
  // Rounds the quantization scale to float32, because the quantized model stores it as float32.
  mapping.scale = double(float(mapping.scale));
  if (!(mapping.scale >= double(std::numeric_limits<float>::min())))
    return {1, symmetric ? int64_t(middle) : 0};
  mapping.zero =
      symmetric ? int64_t(middle) : std::clamp<int64_t>(std::llrint(-from / mapping.scale), 0, int64_t(kLevels));
  return mapping;
}

void Distribution::widen(float magnitude) {
  if (bins.empty()) {
    bins.assign(kBins, 0);
    reach = std::exp2(std::floor(std::log2(std::max(double(magnitude), 1e-30))) + 1);
  }
  while (double(magnitude) >= reach)
    widenTwice();
}

/// Doubles the range that the histogram spans, by merging pairs of bins.
void Distribution::widenTwice() {
  std::vector<uint64_t> wider(kBins, 0);
  for (int64_t i = 0; i < kBins; ++i)
    wider[size_t(kBins / 4 + i / 2)] += bins[size_t(i)];
  bins = std::move(wider);
  reach *= 2;
}

void Distribution::add(llvm::ArrayRef<float> elements) {
  float smallest = low, largest = high;
  for (float x : elements) {
    finite &= std::isfinite(x);
    smallest = x < smallest ? x : smallest;
    largest = x > largest ? x : largest;
  }
  if (!finite)
    return;
  low = smallest;
  high = largest;
  widen(std::max(-low, high));
  double perUnit = 1 / width();
  for (float x : elements) {
    double at = double(x) * perUnit; // in [-kBins / 2, kBins / 2)
    // a cast instead of std::floor, which is a function call if the compiler itself is built
    // without SSE4.1
    auto below = int64_t(at);
    below -= double(below) > at;
    ++bins[size_t(std::clamp<int64_t>(below + kBins / 2, 0, kBins - 1))];
  }
  total += elements.size();
}

void Distribution::add(const Distribution &other) {
  finite &= other.finite;
  if (!finite || other.total == 0)
    return;
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  widen(std::max(-low, high));
  Distribution same = other;
  // the ranges of both histograms are powers of two, each the least one that exceeds the counted
  // elements
  while (same.reach < reach)
    same.widenTwice();
  for (size_t i = 0; i < bins.size(); ++i)
    bins[i] += same.bins[i];
  total += same.total;
}

Distribution::Loss Distribution::loss(const Mapping &mapping) const {
  Loss loss;
  for (int64_t i = 0; i < int64_t(bins.size()); ++i) {
    if (!bins[size_t(i)])
      continue;
    double x = center(i), q = std::nearbyint(x / mapping.scale) + double(mapping.zero);
    if (q < 0 || q > kLevels)
      loss.clipped += bins[size_t(i)];
    double left = x - (std::clamp(q, 0.0, kLevels) - double(mapping.zero)) * mapping.scale;
    loss.signal += double(bins[size_t(i)]) * x * x;
    loss.noise += double(bins[size_t(i)]) * left * left;
  }
  return loss;
}

/// Returns a quantile of the histogram: the value below which (or, if `upper`, above which) a
/// fraction of 1 - `share` of the counted elements is.
double Distribution::percentile(double share, bool upper) const {
  double outside = double(total) * (1 - share);
  for (int64_t i = 0; i < kBins; ++i) {
    int64_t bin = upper ? kBins - 1 - i : i;
    outside -= double(bins[size_t(bin)]);
    if (outside < 0)
      return center(bin) + (upper ? 0.5 : -0.5) * width();
  }
  return 0;
}

/// Returns the Kullback-Leibler divergence between two distributions: the observed one, with
/// outliers clipped to [from, to], and the one that integers quantized over [from, to] can
/// represent.
double Distribution::divergence(double from, double to) const {
  auto first = std::clamp<int64_t>(int64_t(std::floor(from / width())) + kBins / 2, 0, kBins - 1);
  auto last = std::clamp<int64_t>(int64_t(std::ceil(to / width())) + kBins / 2 - 1, first, kBins - 1);
  std::vector<double> seen;
  for (int64_t i = first; i <= last; ++i)
    seen.push_back(double(bins[size_t(i)]));
  std::vector<double> inside = seen;
  for (int64_t i = 0; i < kBins; ++i)
    if (i < first || i > last)
      seen[i < first ? 0 : seen.size() - 1] += double(bins[size_t(i)]);
  double sum = 0, each = std::max(1.0, double(seen.size()) / (kLevels + 1));
  for (double begin = 0; begin < double(seen.size()); begin += each) {
    auto end = std::min(seen.size(), size_t(begin + each));
    double mass = 0, taken = 0;
    for (auto i = size_t(begin); i < end; ++i) {
      mass += inside[i];
      taken += inside[i] > 0;
    }
    for (auto i = size_t(begin); i < end; ++i)
      if (seen[i] > 0) {
        // In the distribution that integers can represent, all nonempty bins that are quantized to
        // one integer have the mean of their counts.
        double model = inside[i] > 0 ? mass / taken : 0.1;
        sum += seen[i] / double(total) * std::log(seen[i] / model);
      }
  }
  return sum;
}

/// Searches for the quantized range with the lowest cost among the subranges of [from, to]: first
/// shrinks both ends together, then each end separately.
static std::pair<double, double> search(double from, double to, llvm::function_ref<double(double, double)> cost) {
  constexpr int steps = 32;
  double bestFrom = from, bestTo = to, least = cost(from, to);
  auto tryRange = [&](double f, double t) {
    if (double now = cost(f, t); now < least) {
      least = now;
      bestFrom = f;
      bestTo = t;
    }
  };
  for (int i = 1; i < steps; ++i) // shrinks both ends together
    tryRange(from * (1 - double(i) / steps), to * (1 - double(i) / steps));
  for (int round = 0; round < 2; ++round) {
    double f = bestFrom, t = bestTo;
    for (int i = 1; i < steps && from < 0; ++i)
      tryRange(from * double(i) / steps, t);
    f = bestFrom;
    for (int i = 1; i < steps && to > 0; ++i)
      tryRange(f, to * double(i) / steps);
  }
  return {bestFrom, bestTo};
}

Mapping Distribution::mapping(const Activations &how) const {
  double from = double(low), to = double(high);
  if (how.symmetric) {
    to = std::max(-from, to);
    from = -to;
  }
  if (!total || how.range == Range::MinMax)
    return mappingOf(from, to, how.symmetric);
  if (how.range == Range::Percentile) {
    double share = how.percentile / 100;
    return mappingOf(std::max(from, std::min(0.0, percentile(share, false))), std::min(to, percentile(share, true)),
                     how.symmetric);
  }
  auto [f, t] = search(from, to, [&](double f, double t) {
    return how.range == Range::Mse ? loss(mappingOf(f, t, how.symmetric)).noise : divergence(f, t);
  });
  return mappingOf(f, t, how.symmetric);
}

} // namespace hewn::quantize
