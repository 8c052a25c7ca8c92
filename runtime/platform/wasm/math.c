// SPDX-License-Identifier: Apache-2.0
// The math functions to which LLVM lowers its intrinsics where WebAssembly has no instruction, and
// which the math library (lib/Codegen/Math/Device/libm.c) calls. Functions of float32 that the math
// library has for float64 only: code that is not optimized calls them.

#include <stdint.h>

#pragma STDC FP_CONTRACT OFF

double fma(double x, double y, double z);
float fmaf(float x, float y, float z);
double round(double x);
float roundf(float x);

static uint64_t bitsOf(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

static double fromBits(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

/// A finite number other than 0. Its absolute value is significand * 2^exponent. The significand
/// has 53 bits, followed by a zero bit.
typedef struct number {
  uint64_t significand;
  int exponent;
  int isNegative;
} number;

static number split(double x) {
  int shift = 0;
  uint64_t bits = bitsOf(x);
  if ((bits >> 52 & 0x7ff) == 0) { // subnormal
    bits = bitsOf(x * 0x1p63);
    shift = 63;
  }
  int exponent = (int)(bits >> 52 & 0x7ff) - shift;
  number parts = {(bits & ((UINT64_C(1) << 52) - 1)) << 1 | UINT64_C(1) << 53, exponent - 0x3ff - 52 - 1,
                  (int)(bits >> 63)};
  return parts;
}

/// Shifts the 128-bit number `*high`:`*low` to the right. The lowest bit becomes 1 if any bit that
/// is shifted out is 1 (the sticky bit), so that rounding the result later is correct.
static void shiftRight(uint64_t *high, uint64_t *low, int by) {
  if (by >= 128) {
    *low = (*high | *low) != 0;
    *high = 0;
    return;
  }
  if (by >= 64) {
    *low = *high | (*low != 0);
    *high = 0;
    by -= 64;
  }
  if (by == 0)
    return;
  uint64_t lost = *low << (64 - by);
  *low = *high << (64 - by) | *low >> by | (lost != 0);
  *high >>= by;
}

/// Returns significand * 2^exponent, rounded to nearest. The significand is at least 2^62, and its
/// lowest bit is a sticky bit.
static double compose(uint64_t significand, int exponent, int isNegative) {
  while (significand >> 63 == 0) {
    significand <<= 1;
    --exponent;
  }
  int biased = exponent + 63 + 0x3ff;
  if (biased >= 0x7ff)
    return isNegative ? -__builtin_inf() : __builtin_inf();
  int dropped = biased > 0 ? 11 : 12 - biased; // subnormal results have fewer bits
  uint64_t high = 0;
  if (dropped > 64)
    return isNegative ? -0.0 : 0.0;
  uint64_t kept = dropped == 64 ? 0 : significand >> dropped, half = UINT64_C(1) << (dropped - 1);
  uint64_t rest = dropped == 64 ? significand : significand & ((half << 1) - 1);
  kept += rest > half || (rest == half && (kept & 1));
  high = (biased > 0 ? (uint64_t)(biased - 1) << 52 : 0) + kept; // a carry increments the exponent
  return fromBits(high | (uint64_t)isNegative << 63);
}

double fma(double x, double y, double z) {
  const uint64_t magnitude = INT64_MAX, infinity = UINT64_C(0x7ff) << 52;
  uint64_t xBits = bitsOf(x) & magnitude, yBits = bitsOf(y) & magnitude, zBits = bitsOf(z) & magnitude;
  int isFinite = xBits < infinity && yBits < infinity;
  if (isFinite && zBits >= infinity)
    return z;
  if (!isFinite || xBits == 0 || yBits == 0 || zBits == 0)
    return x * y + z;
  number a = split(x), b = split(y), c = split(z);
  const uint64_t half = UINT32_MAX;
  uint64_t low = (a.significand & half) * (b.significand & half);
  uint64_t left = (a.significand >> 32) * (b.significand & half),
           right = (a.significand & half) * (b.significand >> 32);
  uint64_t middle = (low >> 32) + (left & half) + (right & half);
  uint64_t high = (a.significand >> 32) * (b.significand >> 32) + (left >> 32) + (right >> 32) + (middle >> 32);
  low = middle << 32 | (low & half);
  // The product has 107 or 108 bits. Both operands of the sum get their highest bits below bit 126,
  // so that the sum has no carry out.
  int exponent = a.exponent + b.exponent, isNegative = a.isNegative ^ b.isNegative;
  high = high << 16 | low >> 48;
  low <<= 16;
  exponent -= 16;
  uint64_t otherHigh = c.significand << 8, otherLow = 0; // 62 bits, times 2^64
  int otherExponent = c.exponent - 8 - 64;
  if (exponent < otherExponent) {
    shiftRight(&high, &low, otherExponent - exponent);
    exponent = otherExponent;
  } else {
    shiftRight(&otherHigh, &otherLow, exponent - otherExponent);
  }
  if (isNegative == c.isNegative) {
    uint64_t sum = low + otherLow;
    high += otherHigh + (sum < low);
    low = sum;
  } else {
    if (high < otherHigh || (high == otherHigh && low < otherLow)) {
      uint64_t swap = high;
      high = otherHigh;
      otherHigh = swap;
      swap = low;
      low = otherLow;
      otherLow = swap;
      isNegative = c.isNegative;
    }
    high -= otherHigh + (low < otherLow);
    low -= otherLow;
  }
  if ((high | low) == 0)
    return 0;
  if (high == 0) {
    high = low;
    low = 0;
    exponent -= 64;
  }
  while (high >> 62 == 0) {
    high = high << 1 | low >> 63;
    low <<= 1;
    --exponent;
  }
  return compose(high | (low != 0), exponent + 64, isNegative);
}

float fmaf(float x, float y, float z) {
  double product = (double)x * y, sum = product + z; // the product is exact
  double back = sum - product, error = (product - (sum - back)) + ((double)z - back);
  uint64_t bits = bitsOf(sum);
  // Rounds the sum to odd, so that rounding to float afterwards is correct.
  if (error != 0 && (bits & 1) == 0 && (bits >> 52 & 0x7ff) != 0x7ff)
    sum = fromBits((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
  return (float)sum;
}

double round(double x) {
  double whole = __builtin_trunc(x);
  if (__builtin_fabs(x - whole) >= 0.5)
    whole += __builtin_copysign(1.0, x);
  return __builtin_copysign(whole, x);
}

float roundf(float x) {
  float whole = __builtin_truncf(x);
  if (__builtin_fabsf(x - whole) >= 0.5f)
    whole += __builtin_copysignf(1.0f, x);
  return __builtin_copysignf(whole, x);
}

#define HEWN_FLOAT32(name)                                                                                             \
  double name(double x);                                                                                               \
  float name##f(float x);                                                                                              \
  float name##f(float x) { return (float)name(x); }
#define HEWN_FLOAT32_PAIR(name)                                                                                        \
  double name(double x, double y);                                                                                     \
  float name##f(float x, float y);                                                                                     \
  float name##f(float x, float y) { return (float)name(x, y); }

HEWN_FLOAT32(exp)
HEWN_FLOAT32(exp2)
HEWN_FLOAT32(expm1)
HEWN_FLOAT32(log)
HEWN_FLOAT32(log2)
HEWN_FLOAT32(log10)
HEWN_FLOAT32(log1p)
HEWN_FLOAT32(sinh)
HEWN_FLOAT32(cosh)
HEWN_FLOAT32(tanh)
HEWN_FLOAT32(asinh)
HEWN_FLOAT32(acosh)
HEWN_FLOAT32(atanh)
HEWN_FLOAT32(asin)
HEWN_FLOAT32(acos)
HEWN_FLOAT32(atan)
HEWN_FLOAT32(erf)
HEWN_FLOAT32_PAIR(pow)
HEWN_FLOAT32_PAIR(atan2)
