// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Numbers/NarrowFloats.h"
#include <algorithm>
#include <cmath>

using llvm::ArrayRef;

namespace hewn::quantize {

namespace {

/// Describes a float type smaller than float32: bits of the mantissa, bits of the type, exponent
/// bias, and largest finite value.
struct Format {
  int mantissa, width, bias;
  double largest;
};

Format formatOf(Storage storage) {
  if (storage == Storage::Float8)
    return {3, 8, 7, 448};
  if (storage == Storage::BFloat16)
    return {7, 16, 127, 0x1.FEp127};
  return {10, 16, 15, 65504};
}

struct Narrow {
  unsigned bits;
  double value;
};

Narrow narrow(double w, const Format &f) {
  double size = std::min(std::fabs(w), f.largest);
  int exponent = size > 0 ? std::max(std::ilogb(size), 1 - f.bias) : 1 - f.bias;
  // Round the float to units of the last mantissa bit of the smaller type. If the mantissa
  // overflows, the carry increments the exponent.
  auto steps = std::nearbyint(std::ldexp(size, f.mantissa - exponent));
  double value = std::min(std::ldexp(steps, exponent - f.mantissa), f.largest);
  exponent = value > 0 ? std::max(std::ilogb(value), 1 - f.bias) : 1 - f.bias;
  steps = std::ldexp(value, f.mantissa - exponent);
  auto bits = (unsigned(exponent + f.bias - 1) << f.mantissa) + unsigned(steps);
  bool isNegative = std::signbit(w);
  return {bits | unsigned(isNegative) << (f.width - 1), isNegative ? -value : value};
}

} // namespace

NarrowedWeights narrowWeights(ArrayRef<float> weights, const ColumnLayout &layout, Storage storage) {
  Format format = formatOf(storage);
  auto bytes = size_t(format.width / 8);
  NarrowedWeights result;
  result.bytes.resize(weights.size() * bytes);
  bool scaled = storage == Storage::Float8;
  if (scaled)
    result.scales.assign(size_t(layout.columns), 1);
  for (int64_t column = 0; column < layout.columns; ++column) {
    float largest = 0, scale = 1;
    for (int64_t k = 0; scaled && k < layout.depth; ++k)
      largest = std::max(largest, std::fabs(weights[layout.at(column, k)]));
    if (float wanted = largest / float(format.largest); scaled && std::isnormal(wanted))
      result.scales[size_t(column)] = scale = wanted;
    for (int64_t k = 0; k < layout.depth; ++k) {
      size_t at = layout.at(column, k);
      float w = weights[at];
      result.isFinite &= bool(std::isfinite(w));
      Narrow rounded = narrow(std::isfinite(w) ? double(w / scale) : 0, format);
      for (size_t i = 0; i < bytes; ++i)
        result.bytes[at * bytes + i] = char(rounded.bits >> (8 * i) & 0xff);
      double left = double(w) - rounded.value * double(scale);
      result.signal += double(w) * double(w);
      result.noise += left * left;
    }
  }
  return result;
}

} // namespace hewn::quantize
