// SPDX-License-Identifier: Apache-2.0
//
// What rounding shifts the mean of each column of a contraction's results by, as far as samples tell.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_MEANSHIFT_H
#define HEWN_LIB_COMPILER_QUANTIZATION_MEANSHIFT_H

#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace hewn::quantize {

class MeanShift {
public:
  /// A sample's sums of shifts over `rows` rows, by column.
  void add(llvm::ArrayRef<float> sums, double rows);
  /// The mean m of each column, all of them drawn towards zero by what they may be off: of standard errors e over samples 1 - Σ e² / Σ m² is left,
  /// and nothing where that is below zero (James and Stein, "Estimation with Quadratic Loss", 1961). A single sample is taken at its word. Empty:
  /// there are no rows, or a sum is not finite.
  std::vector<double> estimate() const;

private:
  struct Column {
    /// Of a sample's sum s over n rows: Σ s, Σ s², Σ s n.
    double sum = 0, squares = 0, bySize = 0;
  };
  std::vector<Column> columns;
  double samples = 0, rows = 0, rowSquares = 0;
};

} // namespace hewn::quantize

#endif
