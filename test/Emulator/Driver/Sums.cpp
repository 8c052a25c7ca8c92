// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Driver/Sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace emulator {

namespace {

constexpr int64_t kBias = 1023, kFractionBits = 52;

/// Returns the exponent of a double's leading bit. For zero, it is smaller than for any normal
/// double.
int64_t exponentOf(double value) { return int64_t(std::bit_cast<uint64_t>(value) >> kFractionBits & 0x7ff) - kBias; }

/// Returns 2^exponent. The exponent must be that of a normal double.
double power(int64_t exponent) { return std::bit_cast<double>(uint64_t(exponent + kBias) << kFractionBits); }

/// Truncates a double to float32, as the tensor core truncates a sum.
float cutOff(double value) {
  auto rounded = float(value);
  bool away = std::abs(double(rounded)) > std::abs(value) && std::abs(value) < power(128);
  return away ? std::nextafter(rounded, 0.0f) : rounded;
}

} // namespace

float addProducts(float sum, const double *left, const double *right, int64_t count, int64_t atOnce, int64_t moreBits) {
  constexpr int64_t bits = 23, least = -133; // smallest exponent to which operands are aligned
  for (int64_t i = 0; i < count; i += atOnce) {
    double exact = double(sum);
    int64_t largest = sum != 0 ? exponentOf(double(sum)) : least;
    for (int64_t j = i; j < i + atOnce; ++j) {
      exact += left[j] * right[j];
      if (left[j] != 0 && right[j] != 0)
        largest = std::max(largest, exponentOf(left[j]) + exponentOf(right[j]));
    }
    if (!std::isfinite(exact)) { // infinity or NaN
      sum = float(exact);
      continue;
    }
    double unit = power(std::max(largest, least) - bits - moreBits), units = std::trunc(double(sum) / unit);
    for (int64_t j = i; j < i + atOnce; ++j)
      units += std::trunc(left[j] * right[j] / unit);
    sum = cutOff(units * unit);
  }
  return sum;
}

} // namespace emulator
