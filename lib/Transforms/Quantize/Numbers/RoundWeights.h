// SPDX-License-Identifier: Apache-2.0
//
// Rounds weights to integers.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_ROUNDWEIGHTS_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_ROUNDWEIGHTS_H

#include "lib/Transforms/Quantize/Numbers/WeightGrid.h"
#include "mlir/IR/MLIRContext.h"

namespace hewn::quantize {

/// Where the elements of a column are in a weight tensor. The column dim has `columns` elements at
/// a distance of `columnStride`; the other dims, in order, form the reduction dim `depth`.
struct ColumnLayout {
  int64_t columns = 0, columnStride = 0, depth = 0;
  /// Calls `visit` for `count` elements of a column, starting at element `from`. `visit` gets the
  /// number of the element, counted from `from`, and its position in the tensor.
  template <typename Visit> void forEach(int64_t column, int64_t from, int64_t count, Visit visit) const {
    for (int64_t k = from, end = from + count; k < end;) {
      // the column's elements up to here are contiguous
      int64_t next = std::min(end, (k / columnStride + 1) * columnStride);
      for (size_t place = at(column, k); k < next; ++k, ++place)
        visit(size_t(k - from), place);
    }
  }
  size_t at(int64_t column, int64_t k) const {
    return size_t(k / columnStride * columnStride * columns + column * columnStride + k % columnStride);
  }
};

/// Quantized weights: w ≈ (integer - zero) * scale, or w ≈ table[integer] * scale with unsigned
/// bytes as integers. `integers` has the order of the weights; `scales` and `zeros` are [depth /
/// group, columns].
struct RoundedWeights {
  std::vector<int8_t> integers;
  std::vector<float> scales;
  /// Zero points of the quantized weights. Empty if all are 0.
  std::vector<int8_t> zeros;
  /// Lookup table of a codebook. Empty if the integers are not indices into a table.
  std::vector<float> table;
  /// The weights' signal and noise: Σ w² and Σ (w - rounded w)².
  double signal = 0, noise = 0;
  bool isFinite = true;
};

/// Rounds weights to signed integers of `how.bits` bits. `how.range` gives the method that fits the
/// scale of each group of a column (or of all weights). If `codes` is not empty, it has the
/// integers; otherwise weights are rounded to nearest.
RoundedWeights roundWeights(llvm::ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                            llvm::ArrayRef<int8_t> codes, mlir::MLIRContext *context);

/// Returns the signal-to-noise ratio of rounded weights in decibels, 10 log10(signal / noise), but
/// at most `most`.
double decibels(double signal, double noise, double most = 200);

} // namespace hewn::quantize

#endif
