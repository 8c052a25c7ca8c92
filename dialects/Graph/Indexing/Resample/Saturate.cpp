// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Indexing/Resample/Saturate.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"

using namespace mlir;

namespace hewn::graph {

/// Returns the smallest and the largest number of an integer type that are float64 numbers.
static std::pair<double, double> rangeOf(IntegerType type) {
  constexpr unsigned significand = 53;
  unsigned bits = type.getWidth() - !type.isUnsigned();
  double end = std::ldexp(1.0, int(bits));
  return {type.isUnsigned() ? 0 : -end, end - (bits > significand ? std::ldexp(1.0, int(bits - significand)) : 1)};
}

double saturate(IntegerType type, double value) {
  auto [low, high] = rangeOf(type);
  return std::clamp(std::nearbyint(value), low, high);
}

Value composeSaturate(Composer &c, Value x, IntegerType type) {
  if (!x || type.getWidth() == 1)
    return c.cast(x, type);
  auto [low, high] = rangeOf(type);
  Value least = c.scalarLike(x, low), most = c.scalarLike(x, high);
  return c.cast(c.op<MinimumOp>({c.op<MaximumOp>({c.op<RoundOp>(x), least}), most}), type);
}

} // namespace hewn::graph
