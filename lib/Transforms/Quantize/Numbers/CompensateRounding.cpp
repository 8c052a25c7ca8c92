// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Numbers/CompensateRounding.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

using llvm::ArrayRef;

namespace hewn::quantize {

/// Number of weight columns that one task of the error compensation rounds together.
static constexpr int64_t kColumnsAtOnce = 8;

namespace {

/// A square matrix in row-major order.
struct Square {
  explicit Square(int64_t size) : size(size), elements(size_t(size * size)) {}
  double *row(int64_t i) { return &elements[size_t(i * size)]; }
  const double *row(int64_t i) const { return &elements[size_t(i * size)]; }
  int64_t size;
  std::vector<double> elements;
};

/// Returns the dot product, computed with eight accumulators so that the compiler can vectorize it.
double dot(const double *a, const double *b, int64_t count) {
  constexpr int64_t lanes = 8;
  double sums[lanes] = {}, sum = 0;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  for (; i < count; ++i)
    sum += a[i] * b[i];
  for (double part : sums)
    sum += part;
  return sum;
}

/// Cholesky factorization: writes L of A = L Lᵀ to the lower triangle. Returns false if A is not
/// positive definite.
bool factorize(Square &a) {
  for (int64_t j = 0; j < a.size; ++j) {
    double *own = a.row(j);
    double diagonal = own[j] - dot(own, own, j);
    if (!(diagonal > 0))
      return false;
    own[j] = std::sqrt(diagonal);
    for (int64_t i = j + 1; i < a.size; ++i) {
      double *other = a.row(i);
      other[j] = (other[j] - dot(other, own, j)) / own[j];
    }
  }
  return true;
}

/// Returns the inverse of a lower triangular matrix.
Square inverted(const Square &l) {
  Square inverse(l.size);
  for (int64_t i = 0; i < l.size; ++i) {
    double *own = inverse.row(i);
    for (int64_t k = 0; k < i; ++k) {
      const double *other = inverse.row(k);
      double factor = l.row(i)[k];
      for (int64_t j = 0; j <= k; ++j)
        own[j] -= factor * other[j];
    }
    own[i] += 1;
    double diagonal = l.row(i)[i];
    for (int64_t j = 0; j <= i; ++j)
      own[j] /= diagonal;
  }
  return inverse;
}

/// Returns the upper triangle U with Uᵀ U = H⁻¹, where H is the matrix of second moments in order
/// `order`. Row i of U distributes the rounding error of weight row i over later rows. Factorizing
/// H in reversed order as L Lᵀ, and reversing the order of L⁻¹, gives U without computing H⁻¹.
std::optional<Square> successors(const SecondMoments &moments, ArrayRef<int64_t> order) {
  int64_t size = moments.size;
  Square reversed(size);
  double diagonal = 0;
  for (int64_t i = 0; i < size; ++i)
    diagonal += double(moments.sums[size_t(i * size + i)]);
  constexpr double damping = 0.01;
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j)
      reversed.row(size - 1 - i)[size - 1 - j] =
          double(moments.sums[size_t(order[size_t(i)] * size + order[size_t(j)])]) +
          (i == j ? damping * diagonal / double(size) : 0);
  if (!factorize(reversed))
    return std::nullopt;
  Square lower = inverted(reversed), upper(size);
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = i; j < size; ++j)
      upper.row(i)[j] = lower.row(size - 1 - i)[size - 1 - j];
  return upper;
}

} // namespace

std::vector<int8_t> compensateRounding(ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                                       SecondMoments moments, ArrayRef<double> factors, mlir::MLIRContext *context) {
  int64_t depth = layout.depth;
  for (size_t i = 0; i < factors.size(); ++i)
    for (size_t j = 0; j < factors.size(); ++j)
      moments.sums[i * size_t(depth) + j] /= float(factors[i] * factors[j]);
  // If second moments are infinite or NaN, neither the order of rows nor the matrix U is defined.
  if (!llvm::all_of(moments.sums, [](float sum) { return std::isfinite(sum); }))
    return {};
  std::vector<int64_t> order(static_cast<size_t>(depth));
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    float first = moments.sums[size_t(a * depth + a)], second = moments.sums[size_t(b * depth + b)];
    return first != second ? first > second : a < b;
  });
  std::optional<Square> upper = successors(moments, order);
  if (!upper)
    return {};
  RoundedWeights nearest = roundWeights(weights, layout, how, {}, context);
  int64_t length = how.group ? how.group : depth;
  std::vector<int8_t> codes(weights.size());
  // Weight columns are rounded in blocks, so that the matrix U is read once per block, and a row of
  // the block fills vectors.
  int64_t blocks = (layout.columns + kColumnsAtOnce - 1) / kColumnsAtOnce;
  mlir::parallelFor(context, 0, size_t(blocks), [&](size_t block) {
    int64_t first = int64_t(block) * kColumnsAtOnce, count = std::min(kColumnsAtOnce, layout.columns - first);
    std::vector<std::array<double, kColumnsAtOnce>> left(static_cast<size_t>(depth));
    for (int64_t i = 0; i < depth; ++i)
      for (int64_t c = 0; c < count; ++c)
        left[size_t(i)][size_t(c)] = double(weights[layout.at(first + c, order[size_t(i)])]);
    for (int64_t i = 0; i < depth; ++i) {
      int64_t k = order[size_t(i)];
      const double *row = upper->row(i);
      std::array<double, kColumnsAtOnce> lost{};
      for (int64_t c = 0; c < count; ++c) {
        auto at = size_t(k / length * layout.columns + first + c);
        WeightGrid grid = limitsOf(how);
        grid.scale = nearest.scales[at];
        grid.zero = nearest.zeros.empty() ? 0 : float(nearest.zeros[at]);
        double now = left[size_t(i)][size_t(c)];
        float q = grid.round(float(now));
        codes[layout.at(first + c, k)] = int8_t(q);
        lost[size_t(c)] = (now - double(grid.value(q))) / row[i];
      }
      for (int64_t j = i + 1; j < depth; ++j)
        for (size_t c = 0; c < kColumnsAtOnce; ++c)
          left[size_t(j)][c] -= lost[c] * row[j];
    }
  });
  return codes;
}

} // namespace hewn::quantize
