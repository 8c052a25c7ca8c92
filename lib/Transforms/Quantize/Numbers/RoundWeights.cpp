// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using llvm::ArrayRef;

namespace hewn::quantize {

double decibels(double signal, double noise, double most) {
  if (!(noise > 0))
    return most;
  return signal > 0 ? std::min(most, 10 * std::log10(signal / noise)) : -most;
}

RoundedWeights roundWeights(ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                            ArrayRef<int8_t> codes, mlir::MLIRContext *context) {
  int64_t length = how.group ? how.group : layout.depth, groups = layout.depth / length;
  RoundedWeights rounded;
  rounded.integers.resize(weights.size());
  rounded.scales.resize(size_t(groups * layout.columns));
  if (!how.symmetric)
    rounded.zeros.resize(rounded.scales.size());
  WeightGrid whole;
  if (how.perTensor)
    whole = fitGrid(weights, how);
  std::vector<double> signal(size_t(layout.columns)), noise(size_t(layout.columns));
  mlir::parallelFor(context, 0, size_t(layout.columns), [&](size_t column) {
    std::vector<float> group(static_cast<size_t>(length));
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t i = 0; i < length; ++i)
        group[size_t(i)] = weights[layout.at(int64_t(column), g * length + i)];
      WeightGrid grid = how.perTensor ? whole : fitGrid(group, how);
      size_t at = size_t(g * layout.columns) + column;
      rounded.scales[at] = grid.scale;
      if (!how.symmetric)
        rounded.zeros[at] = int8_t(grid.zero);
      for (int64_t i = 0; i < length; ++i) {
        size_t here = layout.at(int64_t(column), g * length + i);
        float w = group[size_t(i)], q = codes.empty() ? grid.round(w) : float(codes[here]);
        rounded.integers[here] = std::isfinite(w) ? int8_t(q) : int8_t(0);
        signal[column] += double(w) * w;
        double left = double(w - grid.value(q));
        noise[column] += left * left;
      }
    }
  });
  for (size_t column = 0; column < signal.size(); ++column) { // in one order, whatever the threads' was
    rounded.signal += signal[column];
    rounded.noise += noise[column];
  }
  rounded.isFinite = std::isfinite(rounded.signal);
  return rounded;
}

} // namespace hewn::quantize
