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
    whole = fitGpu(weights, how);
  std::vector<double> signal(size_t(layout.columns)), noise(size_t(layout.columns));
  mlir::parallelFor(context, 0, size_t(layout.columns), [&](size_t column) {
    std::vector<float> group(static_cast<size_t>(length));
    double all = 0, lost = 0;
    for (int64_t g = 0; g < groups; ++g) {
      layout.forEach(int64_t(column), g * length, length, [&](size_t i, size_t place) { group[i] = weights[place]; });
      WeightGrid grid = how.perTensor ? whole : fitGpu(group, how);
      size_t at = size_t(g * layout.columns) + column;
      rounded.scales[at] = grid.scale;
      if (!how.symmetric)
        rounded.zeros[at] = int8_t(grid.zero);
      layout.forEach(int64_t(column), g * length, length, [&](size_t i, size_t place) {
        float w = group[i], q = codes.empty() ? grid.round(w) : float(codes[place]);
        rounded.integers[place] = std::isfinite(w) ? int8_t(q) : int8_t(0);
        all += double(w) * w;
        double left = double(w - grid.value(q));
        lost += left * left;
      });
    }
    signal[column] = all;
    noise[column] = lost;
  });
  // The errors are summed in a fixed order, so that the result does not depend on the number of
  // threads.
  for (size_t column = 0; column < signal.size(); ++column) {
    rounded.signal += signal[column];
    rounded.noise += noise[column];
  }
  rounded.isFinite = std::isfinite(rounded.signal);
  return rounded;
}

} // namespace hewn::quantize
