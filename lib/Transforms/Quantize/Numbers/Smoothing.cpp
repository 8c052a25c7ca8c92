// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Numbers/Smoothing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <cmath>

using llvm::ArrayRef;

namespace hewn::quantize {

namespace {

/// Steps of 8 bits in a range, and from zero to an end of weights.
constexpr double kSteps = 255, kHalfSteps = 127;

void eachElement(const ChannelWeights &w, llvm::function_ref<void(size_t channel, size_t column, double value)> visit) {
  size_t at = 0;
  for (int64_t o = 0; o < w.outer; ++o)
    for (int64_t a = 0; a < w.first; ++a)
      for (int64_t m = 0; m < w.between; ++m)
        for (int64_t b = 0; b < w.second; ++b)
          for (int64_t i = 0; i < w.inner; ++i, ++at)
            visit(size_t(w.columnsFirst ? b : a), size_t(w.columnsFirst ? a : b), double(w.elements[at]));
}

std::vector<double> factorsOf(const Evidence &evidence, ArrayRef<double> largestWeights, double strength) {
  constexpr double most = 1e4;
  std::vector<double> factors;
  double logarithms = 0, alive = 0;
  for (auto [channel, weight] : llvm::zip(evidence.channels, largestWeights)) {
    auto largest = double(std::max(-channel.low, channel.high));
    bool isAlive = largest > 0 && weight > 0;
    double factor = isAlive ? std::pow(largest, strength) / std::pow(weight, 1 - strength) : 0;
    factors.push_back(factor);
    alive += isAlive;
    logarithms += isAlive ? std::log(factor) : 0;
  }
  double mean = alive > 0 ? std::exp(logarithms / alive) : 1;
  for (double &factor : factors)
    factor = factor > 0 ? double(float(std::clamp(factor / mean, 1 / most, most))) : 1;
  return factors;
}

/// Σ of the squared errors that rounding adds to the sums, expected of errors that are even over a step and independent.
double expectedNoise(const Evidence &evidence, ArrayRef<ChannelWeights> readers, ArrayRef<double> factors,
                     bool shiftsAreKnown) {
  double low = 0, high = 0, squares = 0;
  for (auto [channel, factor] : llvm::zip(evidence.channels, factors)) {
    low = std::min(low, double(channel.low) / factor);
    high = std::max(high, double(channel.high) / factor);
    double mean = shiftsAreKnown && evidence.count > 0 ? channel.sum / evidence.count : 0;
    squares += std::max(channel.squares - mean * mean * evidence.count, 0.0) / (factor * factor);
  }
  double step = (high - low) / kSteps, noise = 0;
  constexpr double evenSpread = 1.0 / 12;
  for (const ChannelWeights &w : readers) {
    std::vector<double> largest(size_t(w.columns()));
    double energy = 0;
    eachElement(w, [&](size_t channel, size_t column, double value) {
      double scaled = std::fabs(value * factors[channel]);
      largest[column] = std::max(largest[column], scaled);
      energy += scaled * scaled;
    });
    noise += step * step * evenSpread * energy * evidence.count;
    auto taps = double(w.outer * w.between * w.inner);
    for (double most : largest)
      noise += most / kHalfSteps * most / kHalfSteps * evenSpread * squares * taps;
  }
  return noise;
}

} // namespace

std::vector<double> chooseFactors(const Evidence &evidence, ArrayRef<ChannelWeights> readers, double strength,
                                  bool shiftsAreKnown) {
  std::vector<double> largestWeights(evidence.channels.size());
  for (const ChannelWeights &w : readers)
    eachElement(w, [&](size_t channel, size_t, double value) {
      largestWeights[channel] = std::max(largestWeights[channel], std::fabs(value));
    });
  if (strength >= 0)
    return factorsOf(evidence, largestWeights, strength);
  // What is expected is not exact: less than a decibel is no reason to change a model.
  constexpr double worthwhile = 0.8;
  std::vector<double> best, none(evidence.channels.size(), 1);
  double least = expectedNoise(evidence, readers, none, shiftsAreKnown) * worthwhile;
  for (double tried : {0.25, 0.4, 0.5, 0.6, 0.75}) {
    std::vector<double> factors = factorsOf(evidence, largestWeights, tried);
    if (double noise = expectedNoise(evidence, readers, factors, shiftsAreKnown); noise < least) {
      least = noise;
      best = std::move(factors);
    }
  }
  return best;
}

} // namespace hewn::quantize
