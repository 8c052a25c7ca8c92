// SPDX-License-Identifier: Apache-2.0
//
// Logarithms, powers and inverse hyperbolic functions.
//
// x = 2^k m with m in [sqrt(1/2), sqrt(2)). In float32, log(m) = f - f^2/2 + f^3 q(f) with f = m -
// 1, where q is a polynomial; the largest summands are added last. Functions that need more than
// float32 precision internally use float64 and log(m) = 2 artanh((m - 1) / (m + 1)). An example is
// the power, which multiplies the logarithm's error by up to 128.
#include "lib/Codegen/Math/VectorMath.h"

#include <limits>

namespace hewn::codegen::vecmath {

static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Bit patterns of sqrt(1/2) as a float32 and as a float64.
static constexpr int64_t kRootBits = 0x3f3504f3, kRootBits64 = 0x3fe6a09e667f3bcd;

namespace {
struct Split {
  Num m;
  Num k; // i32
};
} // namespace

/// Splits a positive normal number into m and k with x = 2^k m.
static Split splitNormal(Num x) {
  Num bits = toBits(x);
  Num above = bits - bits(kRootBits);
  return {fromBits((above & bits(int64_t(0x7fffff))) + bits(kRootBits)), shiftRight(above, 23)};
}

/// Splits a positive number, which may be subnormal, into m and k with x = 2^k m. Returns k as a
/// float.
static Split split(Num x) {
  Num denormal = x < 0x1p-126;
  Split parts = splitNormal(select(denormal, x * 0x1p23, x));
  Num k = intToFloat(parts.k);
  return {parts.m, select(denormal, k - 23.0, k)};
}

/// Returns `inside`, the logarithm for ordinary x, with the limits handled: -inf for x = `zero`,
/// NaN for x below it, and x itself for infinity and NaN.
static Num withLimits(Num x, double zero, Num inside) {
  Num outside = select(equal(x, zero), x(-kInfinity), x(kNaN));
  Num finite = select(x < kInfinity, inside, x);
  return select(x <= zero, outside, finite);
}

/// Returns log(1 + f) - f.
static Num logTail(Num f) {
  Num q = polynomial(
      f, {0.333333313, -0.250008196, 0.200012416, -0.166234091, 0.142015815, -0.131596133, 0.127621979, -0.076363951});
  return (f * f) * fma(f, q, -0.5);
}

/// Returns k ln 2 + log(1 + f). ln 2 is split into two parts, so that k times the high part is
/// exact.
static Num naturalLog(Num k, Num f) {
  Num tail = fma(k, -2.12194440e-4, logTail(f));
  return fma(k, 0.693359375, f + tail);
}

/// Returns (k ln 2 + log(1 + f)) / ln(base). The sum scaleHigh + scaleLow is 1 / ln(base), and
/// twoHigh + twoLow is log_base(2).
static Num logToBase(Num k, Num f, double scaleHigh, double scaleLow, double twoHigh, double twoLow) {
  Num tail = logTail(f);
  Num high = f + tail, low = tail - (high - f);
  Num product = high * scaleHigh;
  Num rest = fma(high, high(scaleHigh), -product) + fma(high, scaleLow, low * scaleHigh);
  return fma(k, twoHigh, product + fma(k, twoLow, rest));
}

Num log(Num x) {
  Split parts = split(x);
  return withLimits(x, 0, naturalLog(parts.k, parts.m - 1.0));
}

Num log2(Num x) {
  Split parts = split(x);
  return withLimits(x, 0, logToBase(parts.k, parts.m - 1.0, 1.44269502162933349609, 1.92596299112661746887e-8, 1, 0));
}

Num log10(Num x) {
  Split parts = split(x);
  return withLimits(x, 0,
                    logToBase(parts.k, parts.m - 1.0, 0.434294492006301879883, -1.01030498233e-8, 0.30078125,
                              2.48745663981195213739e-4));
}

Num log1p(Num x) {
  // Compute log1p(x) as the logarithm of u = 1 + x. The rounding error of this addition is `lost`
  // (u + lost = 1 + x exactly), which is later added to f. For tiny x, the result is x itself,
  // since f² would be subnormal.
  Num tiny = abs(x) < 0x1p-25, inner = select(tiny, x(0.0), x);
  Num u = inner + 1.0;
  Num added = u - inner;
  Num lost = (inner - (u - added)) + (1.0 - added);
  Split parts = splitNormal(u);
  Num unscale = fromBits(shiftLeft(parts.k(int64_t(127)) - parts.k, 23));
  // For u near 2^128, the scale 2^-128 would not be a normal number; `lost` is negligible there.
  Num broughtBack = select(u < 0x1p60, lost * unscale, x(0.0));
  Num f = (parts.m - 1.0) + broughtBack;
  Num inside = withLimits(x, -1, naturalLog(intToFloat(parts.k), f));
  return select(tiny, x, inside); // x itself for -0 and subnormals
}

Num log1pOfFraction(Num x) {
  // Evaluate log1p(x) for x in [0, 1] as x (1 + x q(x)). This needs no exponent split and avoids
  // x^2, which would be subnormal for small x.
  Num q = polynomial(x, {-0.499999315, 0.333304703, -0.24958156, 0.196931928, -0.153490975, 0.10670013, -0.0575615279,
                         0.0201503318, -0.00330653763});
  return x * fma(x, q, 1.0);
}

//===----------------------------------------------------------------------------------------===//
// float64
//===----------------------------------------------------------------------------------------===//

/// Returns log(m) / 2 for m in [sqrt(1/2), sqrt(2)) with an error of 2e-14.
static Num halfLogNearOne(Num m) {
  Num t = (m - 1.0) / (m + 1.0), s = t * t;
  Num q = polynomial(s, {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17});
  return fma(t * s, q, t);
}

/// Returns the logarithm of a positive normal float64. Infinity and NaN pass through.
static Num logDouble(Num x) {
  Num bits = toBits(x);
  Num above = bits + bits(0x3ff0000000000000 - kRootBits64);
  // Older vector units have no arithmetic shift of 64-bit lanes, so use a logical shift.
  Num exponent = toInt32(shiftRightLogical(above, 52));
  Num k = intToDouble(exponent - exponent(int64_t(1023)));
  Num m = fromBits((above & bits(0x000fffffffffffff)) + bits(kRootBits64));
  return select(x < kInfinity, fma(k, 0.693147180559945309, 2.0 * halfLogNearOne(m)), x);
}

/// Returns 2^x for |x| <= 1000 with an error of 1e-11. NaN passes through.
static Num exp2Double(Num x) {
  Num sum = x + 0x1.8p52; // rounds x to an integer, which is in the low bits
  Num r = x - (sum - 0x1.8p52);
  Num p = polynomial(r, {1.0, 0.693147180559945309, 0.240226506959100712, 0.0555041086648215800, 0.00961812910762847716,
                         0.00133335581464284434, 0.000154035303933816099, 1.52527338040598403e-5,
                         1.32154867901443095e-6, 1.01780860092396997e-7});
  Num bits = toBits(sum);
  return p * fromBits(shiftLeft(bits + bits(int64_t(1023)), 52));
}

Num withPowerLimits(Num x, Num y, Num magnitude) {
  Num a = abs(x), whole = equal(roundeven(y), y), half = y * 0.5;
  Num odd = whole & logicalNot(equal(roundeven(half), half));
  Num negative = toBits(x) < toBits(x)(int64_t(0));
  Num result = select(negative & odd, -magnitude, magnitude);
  Num undefined = logicalNot(whole) & (x < 0.0) & (a < kInfinity);
  result = select(undefined, x(kNaN), result);
  Num one = equal(y, 0.0) | equal(x, 1.0) | (equal(a, 1.0) & equal(abs(y), kInfinity));
  return select(one, x(1.0), result);
}

Num pow(Num x, Num y) {
  Num a = abs(x);
  Split parts = split(a);
  Num l = fma(halfLogNearOne(toDouble(parts.m)), 2 * 1.44269504088896341, toDouble(parts.k)); // log2 |x|
  Num wide = toDouble(a);
  l = select(equal(a, 0.0), l(-kInfinity), select(a < kInfinity, l, wide));
  Num magnitude = toFloat(exp2Double(atLeast(atMost(toDouble(y) * l, 200), -200)));

  return withPowerLimits(x, y, magnitude);
}

Num asinh(Num x) {
  Num a = abs(x), d = toDouble(a);
  Num small = fma(a * a * a, -1.0 / 6, a);
  Num large = toFloat(logDouble(d + sqrt(fma(d, d, 1.0))));
  return copysign(select(a < 0x1p-10, small, large), x);
}

Num acosh(Num x) {
  Num d = toDouble(x);
  Num result = toFloat(logDouble(d + sqrt(fma(d, d, -1.0))));
  return select(x < 1.0, x(kNaN), result);
}

Num atanh(Num x) {
  Num a = abs(x), d = toDouble(a);
  Num small = fma(a * a * a, 1.0 / 3, a);
  Num large = toFloat(0.5 * logDouble((1.0 + d) / (1.0 - d)));
  Num inside = select(a < 0x1p-10, small, large);
  Num limited = select(a > 1.0, x(kNaN), inside);
  return copysign(limited, x);
}

} // namespace hewn::codegen::vecmath
