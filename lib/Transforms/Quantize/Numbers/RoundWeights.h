// SPDX-License-Identifier: Apache-2.0
//
// Weights as integers: the numbers.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_ROUNDWEIGHTS_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_ROUNDWEIGHTS_H

#include "lib/Transforms/Quantize/Numbers/WeightGrid.h"
#include "mlir/IR/MLIRContext.h"

namespace hewn::quantize {

/// Where element `depth` of column `column` lies among weights: the columns' stride and length are given, what is left makes the depth, in
/// order.
struct ColumnLayout {
  int64_t columns = 0, columnStride = 0, depth = 0;
  /// `visit` with each of `count` elements of a column from `from` on, by its number among these, and where it lies.
  template <typename Visit> void forEach(int64_t column, int64_t from, int64_t count, Visit visit) const {
    for (int64_t k = from, end = from + count; k < end;) {
      int64_t next = std::min(end, (k / columnStride + 1) * columnStride); // they lie together up to there
      for (size_t place = at(column, k); k < next; ++k, ++place)
        visit(size_t(k - from), place);
    }
  }
  size_t at(int64_t column, int64_t k) const {
    return size_t(k / columnStride * columnStride * columns + column * columnStride + k % columnStride);
  }
};

/// w ≈ (integer - zero) * scale, or table[integer] * scale with integers that are bytes without a sign. Integers lie as the weights do; scales
/// and zeros are [depth / group, columns].
struct RoundedWeights {
  std::vector<int8_t> integers;
  std::vector<float> scales;
  /// Empty: all are 0.
  std::vector<int8_t> zeros;
  /// Empty: numbers are the integers.
  std::vector<float> table;
  /// Σ w² and Σ (w - (integer - zero) * scale)².
  double signal = 0, noise = 0;
  bool isFinite = true;
};

/// Rounds to signed integers of `how.bits`, with a scale for each group of a column (or one for all), as `how.range` has it; to `codes`
/// where there are as many, as to the nearest.
RoundedWeights roundWeights(llvm::ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                            llvm::ArrayRef<int8_t> codes, mlir::MLIRContext *context);

/// 10 log10(signal / noise), at most `most`.
double decibels(double signal, double noise, double most = 200);

} // namespace hewn::quantize

#endif
