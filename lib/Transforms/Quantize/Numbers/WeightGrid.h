// SPDX-License-Identifier: Apache-2.0
//
// The numbers that integers of few bits stand for: a scale and a zero point, fitted to weights.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_WEIGHTGRID_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_WEIGHTGRID_H

#include "lib/Transforms/Quantize/Quantization.h"
#include "llvm/ADT/ArrayRef.h"
#include <algorithm>

namespace hewn::quantize {

/// (q - zero) * scale for integers q from `low` to `high`.
struct WeightGrid {
  float low = 0, high = 0, scale = 1, zero = 0;
  /// The integer nearest to w, of two that are as near the even one. What has no fractions is added and taken off again, which rounds as
  /// std::nearbyint does where that is a call.
  float round(float w) const {
    constexpr float whole = 3 << 22;
    return std::min(high, std::max(low, w / scale + zero)) + whole - whole;
  }
  float value(float q) const { return (q - zero) * scale; }
  /// What w loses by it.
  float left(float w) const { return w - value(round(w)); }
};

/// The integers that there are, with a scale of 1.
WeightGrid limitsOf(const Weights &how);

/// Fits one to weights that share it. MinMax: the ends are the extremes; Mse: what leaves the least squared error, of some that cut the
/// ends; HalfQuadratic: what leaves the least Σ |left|^0.7, by half-quadratic splitting. Symmetric: zero is 0, and with eight bits both ends are
/// alike, so that sums of products stay small.
WeightGrid fitGrid(llvm::ArrayRef<float> weights, const Weights &how);

} // namespace hewn::quantize

#endif
