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

/// Two numbers of steps of 8-bit rounding: in the full range of activations, and from zero to the
/// largest weight.
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

/// Returns the largest |x| that calibration observed in each channel of the activations.
std::vector<double> seenPeaks(const Evidence &evidence) {
  std::vector<double> peaks;
  for (const Channel &channel : evidence.channels)
    peaks.push_back(double(std::max(-channel.low, channel.high)));
  return peaks;
}

/// Estimates the max|x| of each channel in other runs than the observed ones. With v the
/// coefficient of variation of a channel's peak over the runs, the estimate is at least (1 + v)
/// times the observed peak and at least v² / (1 + v²) times the mean peak of all channels. The
/// second bound is needed because a channel that was inactive in the observed runs may become as
/// large as its neighbours; values beyond the range that its smoothing factor leaves are clipped.
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

/// Returns the expected squared clipping error per element of each channel in another run, if the
/// quantized range ends at the largest observed value of all channels. After n observed values, the
/// next value exceeds the largest of them with probability 1 / (n + 1) per side. It exceeds it by
/// about the distance between the largest values of a normal distribution (Gumbel, "Statistics of
/// Extremes", 1958, 5.3). The more channels reach the end of the range, the more values are
/// clipped.
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

/// Returns the expected sum of squared errors that rounding and clipping cause in the accumulators
/// of a contraction. Errors are assumed to be independent and uniform over a rounding step.
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
  // Because the estimate of the noise is not exact, smoothing is used only if it gains about one
  // decibel.
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
