// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Numbers/WeightGrid.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>

using llvm::ArrayRef;

namespace hewn::quantize {

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

/// Returns the scale and zero point for a clipped range: the range of the weights multiplied by
/// `share`.
WeightGrid gridOver(ArrayRef<float> weights, const Weights &how, float share) {
  WeightGrid grid = limitsOf(how);
  float from = 0, to = 0;
  for (float w : weights) {
    from = std::min(from, w);
    to = std::max(to, w);
  }
  float scale = how.symmetric ? std::max(-from, to) / grid.high * share : (to - from) / (grid.high - grid.low) * share;
  if (!(scale >= std::numeric_limits<float>::min())) // all weights are zero or subnormal
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

/// Returns size^-0.3 for the magnitude `size` of an error, or 0 if it is 0. One call serves for
/// both the cost size^0.7 = size * size^-0.3 and the shrinkage size^-0.3 / beta of half-quadratic
/// splitting.
float inversePower(float size) {
  constexpr float power = 0.7F;
  return size > 0 ? std::exp2(std::log2(size) * (power - 1)) : 0;
}

/// Sums for half-quadratic splitting, over all weights w with integers q: the cost Σ |error|^0.7,
/// and the sums for the linear regression of w - shrink(error) on q.
struct HalfQuadraticSums {
  double cost = 0, sumQ = 0, sumW = 0, sumQQ = 0, sumQW = 0;
};

HalfQuadraticSums lookAt(ArrayRef<float> weights, const WeightGrid &grid, float beta) {
  HalfQuadraticSums sums;
  float perScale = 1 / grid.scale, perBeta = 1 / beta;
  for (float w : weights) {
    float q = grid.round(w), left = w - grid.value(q), size = std::fabs(left * perScale), power = inversePower(size);
    float kept = std::max(0.0F, size - power * perBeta);
    double target = double(w) - double(std::copysign(kept, left) * grid.scale);
    sums.cost += double(size * power);
    sums.sumQ += double(q);
    sums.sumW += target;
    sums.sumQQ += double(q) * double(q);
    sums.sumQW += double(q) * target;
  }
  sums.cost *= std::pow(double(grid.scale), 0.7);
  return sums;
}

/// Fits a new scale and zero point to the integers of `grid`, by linear regression on the weights
/// after their outlier errors are subtracted.
WeightGrid refit(const HalfQuadraticSums &sums, double count, const Weights &how, const WeightGrid &grid) {
  WeightGrid next = grid;
  double sumQQ = sums.sumQQ, sumQW = sums.sumQW;
  if (!how.symmetric) {
    double spread = count * sumQQ - sums.sumQ * sums.sumQ,
           slope = spread > 0 ? (count * sumQW - sums.sumQ * sums.sumW) / spread : 0;
    if (!(slope > 0))
      return grid;
    double zero = (sums.sumQ - sums.sumW / slope) / count;
    next.zero = float(std::clamp(std::nearbyint(zero), double(grid.low), double(grid.high)));
    double z = double(next.zero);
    sumQW -= z * sums.sumW;
    sumQQ += z * z * count - 2 * z * sums.sumQ;
  }
  auto scale = float(sumQQ > 0 ? sumQW / sumQQ : 0);
  if (!(scale >= std::numeric_limits<float>::min()))
    return grid;
  next.scale = scale;
  return next;
}

/// Fits scale and zero point by half-quadratic splitting. Each iteration reads the weights once,
/// for the cost of the present scale and zero point and for the next ones.
WeightGrid halfQuadratic(ArrayRef<float> weights, const Weights &how) {
  constexpr int rounds = 20;
  constexpr float growth = 1.1F;
  float beta = 10;
  WeightGrid grid = gridOver(weights, how, 1), best = grid;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= rounds; ++i, beta *= growth) {
    HalfQuadraticSums sums = lookAt(weights, grid, beta);
    if (sums.cost < least) {
      least = sums.cost;
      best = grid;
    }
    WeightGrid next = refit(sums, double(weights.size()), how, grid);
    if (next.scale == grid.scale && next.zero == grid.zero)
      break;
    grid = next;
  }
  return best;
}

} // namespace

WeightGrid fitGpu(ArrayRef<float> weights, const Weights &how) {
  if (how.range == Range::Mse)
    return leastSquares(weights, how);
  return how.range == Range::HalfQuadratic ? halfQuadratic(weights, how) : gridOver(weights, how, 1);
}

} // namespace hewn::quantize
