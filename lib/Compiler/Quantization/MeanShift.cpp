// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/MeanShift.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

namespace hewn::quantize {

void MeanShift::add(llvm::ArrayRef<float> sums, double count) {
  columns.resize(sums.size());
  for (auto [column, sum] : llvm::zip(columns, sums)) {
    column.sum += double(sum);
    column.squares += double(sum) * double(sum);
    column.bySize += double(sum) * count;
  }
  samples += count > 0;
  rows += count;
  rowSquares += count * count;
}

std::vector<double> MeanShift::estimate() const {
  std::vector<double> means;
  if (!(rows > 0))
    return means;
  double errors = 0, squares = 0;
  for (const Column &column : columns) {
    double mean = column.sum / rows;
    if (!std::isfinite(mean))
      return {};
    // The numerator of the squared standard error Σ (s - m n)² / (Σ n)² of a mean m over samples
    // with different numbers of rows.
    double left = column.squares - 2 * mean * column.bySize + mean * mean * rowSquares;
    errors += samples > 1 ? std::max(left, 0.0) * samples / (samples - 1) / (rows * rows) : 0;
    squares += mean * mean;
    means.push_back(mean);
  }
  double kept = squares > 0 ? std::max(0.0, 1 - errors / squares) : 0;
  for (double &mean : means)
    mean *= kept;
  return means;
}

} // namespace hewn::quantize
