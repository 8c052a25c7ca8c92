// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Numbers/Smoothing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

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

/// max|x| of each channel.
std::vector<double> seenPeaks(const Evidence &evidence) {
  std::vector<double> peaks;
  for (const Channel &channel : evidence.channels)
    peaks.push_back(double(std::max(-channel.low, channel.high)));
  return peaks;
}

/// max|x| of each channel, as other runs may have it. The less runs agree on a channel's peak, by their coefficient of variation v, the further it
/// goes beyond what they showed, and the nearer it comes to the mean of all channels (v² / (1 + v²) of that is the least): one that slept in these
/// runs but may wake in others is likely to be as large as its neighbours then, and what its factor leaves no room for is cut.
std::vector<double> likelyPeaks(const Evidence &evidence) {
  std::vector<double> peaks = seenPeaks(evidence);
  if (evidence.runs < 2)
    return peaks;
  double mean = std::accumulate(peaks.begin(), peaks.end(), 0.0) / double(peaks.size());
  for (auto [channel, peak] : llvm::zip(evidence.channels, peaks)) {
    double usual = channel.peaks / evidence.runs;
    double variance = std::max((channel.peakSquares - usual * channel.peaks) / (evidence.runs - 1), 0.0);
    double all = variance + usual * usual;
    peak = all > 0 ? std::max(peak * (1 + std::sqrt(variance) / usual), mean * variance / all) : mean;
  }
  return peaks;
}

std::vector<double> factorsOf(ArrayRef<double> peaks, ArrayRef<double> largestWeights, double strength) {
  constexpr double most = 1e4;
  std::vector<double> factors;
  double logarithms = 0, alive = 0;
  for (auto [peak, weight] : llvm::zip(peaks, largestWeights)) {
    bool isAlive = peak > 0 && weight > 0;
    double factor = isAlive ? std::pow(peak, strength) / std::pow(weight, 1 - strength) : 0;
    factors.push_back(factor);
    alive += isAlive;
    logarithms += isAlive ? std::log(factor) : 0;
  }
  double mean = alive > 0 ? std::exp(logarithms / alive) : 1;
  for (double &factor : factors)
    factor = factor > 0 ? double(float(std::clamp(factor / mean, 1 / most, most))) : 1;
  return factors;
}

/// Of each channel the squared error, expected of a number of another run, of being cut at the ends of what these runs showed of all channels. One
/// of n numbers more is beyond the largest of n with a chance of 1 / (n + 1) a side, by as much as is usual between the largest ones of normal numbers
/// (Gumbel, "Statistics of Extremes", 1958, 5.3): the more channels end where the range does, the more are cut.
std::vector<double> cutOff(const Evidence &evidence, ArrayRef<double> factors) {
  double range = 0, logarithm = std::log(std::max(evidence.count, 3.0));
  std::vector<double> peaks = seenPeaks(evidence), errors;
  for (auto [peak, factor] : llvm::zip(peaks, factors))
    range = std::max(range, peak / factor);
  for (auto [peak, factor] : llvm::zip(peaks, factors)) {
    double scaled = peak / factor, usual = scaled / (2 * logarithm);
    double chance = usual > 0 ? 2 * std::exp((scaled - range) / usual) / (evidence.count + 1) : 0;
    errors.push_back(chance * 2 * usual * usual);
  }
  return errors;
}

/// Σ of the squared errors that rounding and cutting add to the sums, expected of errors that are even over a step and independent.
double expectedNoise(const Evidence &evidence, ArrayRef<double> peaks, ArrayRef<ChannelWeights> readers,
                     ArrayRef<double> factors, bool shiftsAreKnown) {
  double low = 0, high = 0, squares = 0;
  for (auto [channel, peak, factor] : llvm::zip(evidence.channels, peaks, factors)) {
    auto seen = double(std::max(-channel.low, channel.high));
    double beyond = seen > 0 ? peak / seen / factor : 0;
    low = std::min(low, double(channel.low) * beyond);
    high = std::max(high, double(channel.high) * beyond);
    double mean = shiftsAreKnown && evidence.count > 0 ? channel.sum / evidence.count : 0;
    squares += std::max(channel.squares - mean * mean * evidence.count, 0.0) / (factor * factor);
  }
  std::vector<double> cut = cutOff(evidence, factors);
  double step = (high - low) / kSteps, noise = 0;
  constexpr double evenSpread = 1.0 / 12;
  for (const ChannelWeights &w : readers) {
    std::vector<double> largest(size_t(w.columns()));
    double energy = 0, lost = 0;
    eachElement(w, [&](size_t channel, size_t column, double value) {
      double scaled = std::fabs(value * factors[channel]);
      largest[column] = std::max(largest[column], scaled);
      energy += scaled * scaled;
      lost += scaled * scaled * cut[channel];
    });
    noise += (step * step * evenSpread * energy + lost) * evidence.count;
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
    return factorsOf(seenPeaks(evidence), largestWeights, strength);
  std::vector<double> peaks = likelyPeaks(evidence);
  // What is expected is not exact: less than a decibel is no reason to change a model.
  constexpr double worthwhile = 0.8;
  std::vector<double> best, none(evidence.channels.size(), 1);
  double least = expectedNoise(evidence, peaks, readers, none, shiftsAreKnown) * worthwhile;
  for (double tried : {0.25, 0.4, 0.5, 0.6, 0.75}) {
    std::vector<double> factors = factorsOf(peaks, largestWeights, tried);
    if (double noise = expectedNoise(evidence, peaks, readers, factors, shiftsAreKnown); noise < least) {
      least = noise;
      best = std::move(factors);
    }
  }
  return best;
}

} // namespace hewn::quantize
