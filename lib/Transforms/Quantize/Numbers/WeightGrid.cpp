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

/// |x|^-0.3, with which |x|^0.7 is |x| * |x|^-0.3, and what is shrunk from |x| is |x|^-0.3 / beta; 0 of 0.
float inversePower(float size) {
  constexpr float power = 0.7F;
  return size > 0 ? std::exp2(std::log2(size) * (power - 1)) : 0;
}

/// What one look at the weights on a grid tells: Σ |left|^0.7, and the sums of the regression of w - shrink(left) on q.
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

/// The scale (and zero point) that fit the integers of `grid` best to weights less what is far off.
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

/// Each round looks at the weights once: what a grid costs and where it leads to.
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

WeightGrid fitGrid(ArrayRef<float> weights, const Weights &how) {
  if (how.range == Range::Mse)
    return leastSquares(weights, how);
  return how.range == Range::HalfQuadratic ? halfQuadratic(weights, how) : gridOver(weights, how, 1);
}

} // namespace hewn::quantize
