// SPDX-License-Identifier: Apache-2.0
//
// Conversions between float16 bits and double, for finite numbers. They are implemented here for
// speed, because constants have millions of elements: the compiler itself is built without the F16C
// instructions, and the library call that converts _Float16 would take six times as long.
#ifndef HEWN_LIB_SUPPORT_HALFFLOATS_H
#define HEWN_LIB_SUPPORT_HALFFLOATS_H

#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hewn {

inline double doubleOfHalf(uint16_t bits) {
  constexpr int mantissaBits = 10, bias = 15;
  int exponent = bits >> mantissaBits & 0x1f, mantissa = bits & 0x3ff;
  if (exponent > 0)
    mantissa += 1 << mantissaBits;
  double size = std::ldexp(double(mantissa), std::max(exponent, 1) - bias - mantissaBits);
  return bits & 0x8000 ? -size : size;
}

/// Rounds a double to the nearest float16, ties to even. Returns infinity on overflow.
inline uint16_t halfOfDouble(double x) {
  constexpr double leastNormal = 0x1p-14, steps = 0x1p24;
  constexpr uint64_t dropped = 52 - 10, exponents = uint64_t(1023 - 15) << 10, infinite = 0x7c00;
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  double size = std::fabs(x);
  // rounds a subnormal float16; a carry out of its significand yields the smallest normal number
  if (size < leastNormal)
    return sign | uint16_t(std::nearbyint(size * steps));
  auto bits = llvm::bit_cast<uint64_t>(size);
  uint64_t rounded = (bits + (uint64_t(1) << (dropped - 1)) - 1 + (bits >> dropped & 1)) >> dropped;
  return sign | uint16_t(std::min(rounded - exponents, infinite));
}

} // namespace hewn

#endif
