// SPDX-License-Identifier: Apache-2.0
//
// float64 versions of the exponential, hyperbolic, logarithmic and trigonometric functions.
//
// The formulas follow fdlibm (K. C. Ng, Sun Microsystems, 1993), without its branches: constants
// of fdlibm are marked by their names there. All formulas rely on FMA instructions.
#include "lib/Codegen/Math/VectorMath.h"

namespace hewn::codegen::vecmath::wide {

static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
static constexpr double kLog2E = 1.44269504088896338700;
/// ln 2 as a sum of two parts. The high part has 32 bits, so that its product with an exponent is
/// exact (ln2HI and ln2LO).
static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
/// Adding this constant rounds to an integer, which is then in the low bits of the sum.
static constexpr double kRound = 0x1.8p52;
/// Bit pattern of kRound.
static constexpr int64_t kRoundBits = 0x4338000000000000;
/// Bit patterns of sqrt(1/2) and of 1.
static constexpr int64_t kRootBits = 0x3fe6a09e667f3bcd, kOneBits = 0x3ff0000000000000;
static constexpr int64_t kMantissaMask = 0x000fffffffffffff;

namespace {
/// x = n ln 2 + r with |r| <= ln 2 / 2.
struct Reduced {
  Num r, n; // n is an i64
};
} // namespace

/// Requires |x| < 2^20.
static Reduced reduce(Num x) {
  Num sum = fma(x, kLog2E, kRound), n = sum - kRound;
  Num bits = toBits(sum);
  return {fma(n, -kLn2Low, fma(n, -kLn2High, x)), bits - bits(kRoundBits)};
}

/// Returns exp(r) - 1 for |r| <= ln 2 / 2: the Taylor series, whose first omitted term is below
/// 2^-57.
static Num expm1NearZero(Num r) {
  Num q = polynomial(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
                         1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800});
  return fma(r * r, q, r);
}

/// Returns 2^n for an i64 n from -1022 to 1023.
static Num powerOfTwo(Num n) { return fromBits(shiftLeft(n + n(int64_t(1023)), 52)); }

/// Returns value * 2^n for |n| <= 2000, also if the result overflows or is subnormal: multiplies by
/// two powers of two, both of which are normal numbers. The first product is exact.
static Num scale(Num value, Num n) {
  // The logical shift of a positive number replaces an arithmetic shift, which older vector units
  // do not have for 64-bit lanes.
  constexpr int64_t bias = 2048;
  Num half = shiftRightLogical(n + n(bias), 1) - n(bias / 2);
  return value * powerOfTwo(half) * powerOfTwo(n - half);
}

Num exp(Num x) {
  Reduced reduced = reduce(atLeast(atMost(x, 710), -746));
  return scale(expm1NearZero(reduced.r) + 1.0, reduced.n);
}

Num expm1(Num x) {
  Reduced reduced = reduce(atLeast(atMost(x, 710), -40));
  Num half = powerOfTwo(reduced.n - reduced.n(int64_t(1))); // half of 2^n, which may overflow
  Num large = 2.0 * fma(half, expm1NearZero(reduced.r), half - 0.5);
  return select(abs(x) < 0x1p-54, x, large); // x itself for -0 and subnormals
}

Num tanh(Num x) {
  Num a = atMost(abs(x), 22); // tanh(22) rounds to 1
  Num grown = wide::expm1(a + a);
  return copysign(grown / (grown + 2.0), x);
}

Num sinh(Num x) {
  // sinh(a) = (e + e / (e + 1)) / 2 with e = exp(a) - 1. For large a, exp(a) overflows before
  // sinh(a) does: exp(a) = 2^n exp(r) is multiplied by half of 2^n.
  Num a = abs(x), e = wide::expm1(atMost(a, 40));
  Num small = 0.5 * (e + e / (e + 1.0));
  Reduced reduced = reduce(atMost(a, 711));
  Num large = scale(expm1NearZero(reduced.r) + 1.0, reduced.n - reduced.n(int64_t(1)));
  return copysign(select(a < 0x1p-28, a, select(a < 22.0, small, large)), x);
}

Num cosh(Num x) {
  Reduced reduced = reduce(atMost(abs(x), 711));
  Num half = scale(expm1NearZero(reduced.r) + 1.0, reduced.n - reduced.n(int64_t(1)));
  return half + 0.25 / half;
}

namespace {
/// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
struct Split {
  Num k, f;     // k is a float64
  Num exponent; // k as an i64, plus 1023
};
} // namespace

/// Splits a positive normal number.
static Split splitNormal(Num x) {
  Num bits = toBits(x);
  Num above = bits + bits(kOneBits - kRootBits);
  Num exponent = shiftRightLogical(above, 52);
  // 0x433 in the exponent field makes the integer the last bits of 2^52 + exponent.
  Num k = fromBits(exponent | exponent(int64_t(0x4330000000000000))) - (0x1p52 + 1023);
  Num m = fromBits((above & bits(kMantissaMask)) + bits(kRootBits));
  return {k, m - 1.0, exponent};
}

/// Returns k ln 2 + log(1 + f).
static Num logOf(Num k, Num f) {
  Num s = f / (f + 2.0), z = s * s, half = 0.5 * f * f;
  // Lg1 to Lg7
  Num r = z * polynomial(z, {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                             2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                             1.479819860511658591e-01});
  return fma(k, kLn2High, f - (half - fma(s, half + r, k * kLn2Low)));
}

/// Returns `inside`, the logarithm for ordinary x, with the limits handled: -inf for x = `zero`,
/// NaN for x below it, and x itself for infinity and NaN.
static Num withLimits(Num x, double zero, Num inside) {
  Num outside = select(equal(x, zero), x(-kInfinity), x(kNaN));
  return select(x <= zero, outside, select(x < kInfinity, inside, x));
}

Num log(Num x) {
  Num denormal = x < 0x1p-1022;
  Split parts = splitNormal(select(denormal, x * 0x1p54, x));
  return withLimits(x, 0, logOf(select(denormal, parts.k - 54.0, parts.k), parts.f));
}

Num log1p(Num x) {
  // The logarithm of u = 1 + x. The rounding error of this addition is `lost` (u + lost = 1 + x
  // exactly), which is added to f in the scale of f. For tiny x, the result is x itself.
  Num tiny = abs(x) < 0x1p-54, inner = select(tiny, x(0.0), x);
  Num u = inner + 1.0, added = u - inner;
  Num lost = (inner - (u - added)) + (1.0 - added);
  Split parts = splitNormal(u);
  // 2^-k; for u near 2^1024 it is no normal number, but `lost` is negligible there
  Num unscale = fromBits(shiftLeft(parts.exponent(int64_t(2046)) - parts.exponent, 52));
  Num f = parts.f + select(u < 0x1p100, lost * unscale, x(0.0));
  return select(tiny, x, withLimits(x, -1, logOf(parts.k, f)));
}

namespace {
/// The sum of two float64 numbers, of which `low` is at most half an ulp of `high`, or a few.
struct Sum {
  Num high, low;
};
} // namespace

/// Returns a + b exactly. Requires |a| >= |b| or a = 0 (T. J. Dekker's FastTwoSum).
static Sum fastTwoSum(Num a, Num b) {
  Num high = a + b;
  return {high, (a - high) + b};
}

/// Returns a * b with an error of about 2^-104.
static Sum product(Sum a, Sum b) {
  Num high = a.high * b.high;
  return {high, fma(a.high, b.low, fma(a.low, b.high, fma(a.high, b.high, -high)))};
}

/// Returns k ln 2 + log(1 + f) with a relative error of about 2^-65: the first two summands of
/// 2 artanh(s) with s = f / (2 + f), 2 s and 2/3 s^3, are sums of two numbers.
static Sum preciseLog(Num k, Num f) {
  Num t = f + 2.0, tLow = f - (t - 2.0), s = f / t;
  Sum quotient = {s, (fma(-s, t, f) - s * tLow) / t}, square = product(quotient, quotient);
  Num z = square.high;
  Num rest = z * polynomial(z, {2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21,
                                2.0 / 23, 2.0 / 25, 2.0 / 27});
  constexpr double third = 2.0 / 3, thirdLow = 3.70074341541718826e-17; // 2/3 as a sum
  Sum factor = fastTwoSum(z(third), rest);
  Sum cubic = product(quotient, product(square, {factor.high, factor.low + thirdLow}));
  Sum near = fastTwoSum(quotient.high + quotient.high, cubic.high);
  Sum sum = fastTwoSum(k * kLn2High, near.high);
  return {sum.high, sum.low + (near.low + (fma(quotient.low, 2.0, cubic.low) + k * kLn2Low))};
}

Num pow(Num x, Num y) {
  Num a = abs(x), denormal = a < 0x1p-1022;
  Split parts = splitNormal(select(denormal, a * 0x1p54, a));
  Sum log = preciseLog(select(denormal, parts.k - 54.0, parts.k), parts.f);
  Num ordinary = (a < kInfinity) & logicalNot(equal(a, 0.0));
  Num high = select(ordinary, log.high, select(equal(a, 0.0), x(-kInfinity), a));
  Num exponent = high * y;
  Num low = fma(high, y, -exponent) + log.low * y;
  low = select(ordinary & (abs(exponent) < 800.0), low, x(0.0));
  Reduced reduced = reduce(atLeast(atMost(exponent, 710), -746));
  return withPowerLimits(x, y, scale(expm1NearZero(reduced.r + low) + 1.0, reduced.n));
}

/// The first three parts of pi/2, each rounded to float64.
static constexpr double kHalfPi[] = {1.57079632679489656, 6.12323399573676604e-17, -1.49738490485916983e-33};

namespace {
struct Angle {
  Num quadrant; // i64; only the two lowest bits count
  Num sine, cosine;
};
} // namespace

/// Reduces x to r + low with |r| <= pi/4. x - n pi/2 is exact for the first part of pi/2, because
/// both numbers are multiples of 2^-53 and their difference is below 1. `low` consists of the third
/// part and of the rounding errors of r.
static Angle reduceAngle(Num x) {
  Num sum = fma(x, 0.636619772367581343, kRound), n = kRound - sum;
  Num first = fma(n, kHalfPi[0], x), second = n * kHalfPi[1], r = first + second;
  // the rounding errors of the product and of the sum (D. E. Knuth's TwoSum)
  Num productError = fma(n, n(kHalfPi[1]), -second), added = r - first;
  Num sumError = (first - (r - added)) + (second - added);
  Num low = fma(n, kHalfPi[2], sumError + productError);
  Num z = r * r, v = z * r;
  // S2 to S6, and S1
  Num q = polynomial(z, {8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                         -2.50507602534068634195e-08, 1.58969099521155010221e-10});
  Num sine = r - (fma(z, 0.5 * low - v * q, -low) - v * -1.66666666666666324348e-01);
  // C1 to C6
  Num p = z * polynomial(z, {4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                             -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11});
  Num half = 0.5 * z, w = 1.0 - half;
  Num cosine = w + ((1.0 - w - half) + (z * p - r * low));
  return {toBits(sum), sine, cosine};
}

/// Returns the sine of the angle plus `ahead` times pi/2.
static Num sineAt(const Angle &angle, int64_t ahead) {
  Num q = ahead ? angle.quadrant + angle.quadrant(ahead) : angle.quadrant;
  Num isCosine = equal(q & q(int64_t(1)), q(int64_t(1)));
  Num value = select(isCosine, angle.cosine, angle.sine);
  return fromBits(toBits(value) ^ shiftLeft(q & q(int64_t(2)), 62));
}

Num sin(Num x) { return select(equal(x, 0.0), x, sineAt(reduceAngle(x), 0)); } // x itself for -0
Num cos(Num x) { return sineAt(reduceAngle(x), 1); }

} // namespace hewn::codegen::vecmath::wide
