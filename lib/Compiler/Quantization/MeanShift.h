// SPDX-License-Identifier: Apache-2.0
//
// Estimates by how much quantization shifts the mean of each result column of a contraction.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_MEANSHIFT_H
#define HEWN_LIB_COMPILER_QUANTIZATION_MEANSHIFT_H

#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace hewn::quantize {

class MeanShift {
public:
  /// Adds the result columns of one sample. `sums`: for each column, the sum over all rows of the
  /// quantized result minus the float result. `rows`: number of rows of the result.
  void add(llvm::ArrayRef<float> sums, double rows);
  /// Returns the mean shift of each column, shrunk towards zero by the James-Stein factor 1 - Σ e²
  /// / Σ m², or 0 if that is negative. m are the mean shifts of the columns, e their standard
  /// errors over samples (James and Stein, "Estimation with Quadratic Loss", 1961). With a single
  /// sample, the means are not shrunk. Returns an empty list if there are no rows or a sum is not
  /// finite.
  std::vector<double> estimate() const;

private:
  struct Column {
    /// The sums Σ s, Σ s² and Σ s n over all samples, where s is the sum of shifts of the column
    /// over the n rows of a sample.
    double sum = 0, squares = 0, bySize = 0;
  };
  std::vector<Column> columns;
  double samples = 0, rows = 0, rowSquares = 0;
};

} // namespace hewn::quantize

#endif
