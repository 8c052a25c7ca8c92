// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Numbers/WeightGrid.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>

using llvm::ArrayRef;

namespace hewn::quantize {

float WeightGrid::round(float w) const { return std::min(high, std::max(low, std::nearbyint(w / scale + zero))); }

WeightGrid limitsOf(const Weights &how) {
  WeightGrid grid;
  grid.high = float((1 << (how.bits - 1)) - 1);
  grid.low = how.bits == 8 && how.symmetric ? -grid.high : -grid.high - 1;
  return grid;
}

namespace {

double sumOf(ArrayRef<float> weights, const WeightGrid &grid, llvm::function_ref<double(double)> cost) {
  double sum = 0;
  for (float w : weights)
    sum += cost(double(grid.left(w)));
  return sum;
}

/// The grid over `share` of what lies between the extremes.
WeightGrid gridOver(ArrayRef<float> weights, const Weights &how, float share) {
  WeightGrid grid = limitsOf(how);
  float from = 0, to = 0;
  for (float w : weights) {
    from = std::min(from, w);
    to = std::max(to, w);
  }
  float scale = how.symmetric ? std::max(-from, to) / grid.high * share : (to - from) / (grid.high - grid.low) * share;
  if (!(scale >= std::numeric_limits<float>::min())) // nothing but zeros, or what is one for this type
    return grid;
  grid.scale = scale;
  if (!how.symmetric)
    grid.zero = std::clamp(std::nearbyint(grid.low - from * share / scale), grid.low, grid.high);
  return grid;
}

WeightGrid leastSquares(ArrayRef<float> weights, const Weights &how) {
  constexpr int tried = 24;
  constexpr float step = 0.02f;
  auto square = [](double x) { return x * x; };
  WeightGrid best = gridOver(weights, how, 1);
  double least = sumOf(weights, best, square);
  for (int i = 1; i <= tried; ++i) {
    WeightGrid grid = gridOver(weights, how, 1 - step * float(i));
    if (double error = sumOf(weights, grid, square); error < least) {
      least = error;
      best = grid;
    }
  }
  return best;
}

/// The scale (and zero point) that fit the integers of `grid` best to weights less what is far off: a regression of w - shrink(w - value) on q,
/// where shrink takes |x|^(p - 1) / beta from |x|, in units of the scale.
WeightGrid refit(ArrayRef<float> weights, const Weights &how, const WeightGrid &grid, double beta, double power) {
  double count = 0, sumQ = 0, sumW = 0, sumQQ = 0, sumQW = 0;
  for (float w : weights) {
    double q = double(grid.round(w)), x = double(grid.left(w)) / double(grid.scale), size = std::fabs(x);
    double kept = size > 0 ? std::max(0.0, size - std::pow(size, power - 1) / beta) : 0;
    double target = double(w) - std::copysign(kept, x) * double(grid.scale);
    count += 1;
    sumQ += q;
    sumW += target;
    sumQQ += q * q;
    sumQW += q * target;
  }
  WeightGrid next = grid;
  if (!how.symmetric) {
    double spread = count * sumQQ - sumQ * sumQ, slope = spread > 0 ? (count * sumQW - sumQ * sumW) / spread : 0;
    if (!(slope > 0))
      return grid;
    double zero = (sumQ - sumW / slope) / count;
    next.zero = float(std::clamp(std::nearbyint(zero), double(grid.low), double(grid.high)));
    double z = double(next.zero);
    sumQW -= z * sumW;
    sumQQ += z * z * count - 2 * z * sumQ;
  }
  auto scale = float(sumQQ > 0 ? sumQW / sumQQ : 0);
  if (!(scale >= std::numeric_limits<float>::min()))
    return grid;
  next.scale = scale;
  return next;
}

WeightGrid halfQuadratic(ArrayRef<float> weights, const Weights &how) {
  constexpr int rounds = 20;
  constexpr double power = 0.7, growth = 1.1;
  double beta = 10;
  auto cost = [](double x) { return x == 0 ? 0 : std::pow(std::fabs(x), power); };
  WeightGrid best = gridOver(weights, how, 1), grid = best;
  double least = sumOf(weights, best, cost);
  for (int i = 0; i < rounds; ++i, beta *= growth) {
    grid = refit(weights, how, grid, beta, power);
    if (double error = sumOf(weights, grid, cost); error < least) {
      least = error;
      best = grid;
    }
  }
  return best;
}

} // namespace

WeightGrid fitGrid(ArrayRef<float> weights, const Weights &how) {
  if (how.range == Range::Mse)
    return leastSquares(weights, how);
  return how.range == Range::HalfQuadratic ? halfQuadratic(weights, how) : gridOver(weights, how, 1);
}

} // namespace hewn::quantize
