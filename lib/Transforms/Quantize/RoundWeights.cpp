// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/RoundWeights.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>

using llvm::ArrayRef;

namespace hewn::quantize {

double decibels(double signal, double noise, double most) {
  if (!(noise > 0))
    return most;
  return signal > 0 ? std::min(most, 10 * std::log10(signal / noise)) : -most;
}

namespace {

/// The integers of `bits` that a number may become. With eight of them both ends are alike, so that sums of products stay small.
struct Limits {
  explicit Limits(int64_t bits) : high(float((1 << (bits - 1)) - 1)), low(bits == 8 ? -high : -high - 1) {}
  float high, low;
  float round(float scaled) const { return std::min(high, std::max(low, std::nearbyint(scaled))); }
};

double errorOf(ArrayRef<float> group, float scale, const Limits &limits) {
  double error = 0;
  for (float w : group) {
    float left = w - limits.round(w / scale) * scale;
    error += double(left) * left;
  }
  return error;
}

float chooseScale(ArrayRef<float> group, Range range, const Limits &limits) {
  float largest = 0;
  for (float w : group)
    largest = std::max(largest, std::fabs(w));
  float whole = largest / limits.high;
  if (!(whole >= std::numeric_limits<float>::min())) // nothing but zeros, or what is one for this type
    return 1;
  if (range == Range::MinMax)
    return whole;
  constexpr int tried = 24;
  constexpr float step = 0.02f;
  float best = whole;
  double least = errorOf(group, whole, limits);
  for (int i = 1; i <= tried; ++i) {
    float scale = whole * (1 - step * float(i));
    if (double error = errorOf(group, scale, limits); error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

} // namespace

RoundedWeights roundWeights(ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                            mlir::MLIRContext *context) {
  int64_t length = how.group ? how.group : layout.depth, groups = layout.depth / length;
  Limits limits(how.bits);
  RoundedWeights rounded;
  rounded.integers.resize(weights.size());
  rounded.scales.resize(size_t(groups * layout.columns));
  std::vector<double> signal(size_t(layout.columns)), noise(size_t(layout.columns));
  mlir::parallelFor(context, 0, size_t(layout.columns), [&](size_t column) {
    std::vector<float> group(static_cast<size_t>(length));
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t i = 0; i < length; ++i)
        group[size_t(i)] = weights[layout.at(int64_t(column), g * length + i)];
      float scale = chooseScale(group, how.range, limits);
      rounded.scales[size_t(g * layout.columns) + column] = scale;
      for (int64_t i = 0; i < length; ++i) {
        float w = group[size_t(i)], q = limits.round(w / scale);
        rounded.integers[layout.at(int64_t(column), g * length + i)] = std::isfinite(w) ? int8_t(q) : int8_t(0);
        signal[column] += double(w) * w;
        noise[column] += double(w - q * scale) * (w - q * scale);
      }
    }
  });
  for (size_t column = 0; column < signal.size(); ++column) { // in one order, whatever the threads' was
    rounded.signal += signal[column];
    rounded.noise += noise[column];
  }
  rounded.isFinite = std::isfinite(rounded.signal);
  return rounded;
}

} // namespace hewn::quantize
