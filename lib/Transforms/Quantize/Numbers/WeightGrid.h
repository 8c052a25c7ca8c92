// SPDX-License-Identifier: Apache-2.0
//
// The values that low-bit integers represent: a scale and a zero point, fitted to weights.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_WEIGHTGRID_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_WEIGHTGRID_H

#include "lib/Transforms/Quantize/Quantization.h"
#include "llvm/ADT/ArrayRef.h"
#include <algorithm>

namespace hewn::quantize {

/// The values that low-bit integers represent: (q - zero) * scale for integers q from `low` to
/// `high`.
struct WeightGrid {
  float low = 0, high = 0, scale = 1, zero = 0;
  /// Returns the integer from `low` to `high` whose value is nearest to the weight w, ties to even.
  /// Adding and subtracting 3 * 2^22 rounds like std::nearbyint, without a function call.
  float round(float w) const {
    constexpr float whole = 3 << 22;
    return std::min(high, std::max(low, w / scale + zero)) + whole - whole;
  }
  float value(float q) const { return (q - zero) * scale; }
  /// Returns the rounding error of the weight w: w minus the value that its integer represents.
  float left(float w) const { return w - value(round(w)); }
};

/// Returns a WeightGrid with a scale of 1 and the integer range of the weight scheme.
WeightGrid limitsOf(const Weights &how);

/// Fits one scale and zero point to all of the weights, by the method how.range. MinMax: the range
/// ends at the extremes. Mse: the least squared error among several clipped ranges. HalfQuadratic:
/// the least Σ |error|^0.7, by half-quadratic splitting. If `how.symmetric`, the zero point is 0;
/// 8-bit integers are then in -127 to 127, so that accumulators stay small.
WeightGrid fitGpu(llvm::ArrayRef<float> weights, const Weights &how);

} // namespace hewn::quantize

#endif
