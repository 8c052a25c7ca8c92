// SPDX-License-Identifier: Apache-2.0
//
// Exponential and hyperbolic functions.
//
// x = n ln 2 + r with integer n and |r| <= ln 2 / 2, so exp(x) = 2^n exp(r). A polynomial
// approximates exp(r). Adding 1.5 * 2^23 to x / ln 2 rounds it to n and leaves n in the low bits of
// the sum. Shifting these bits into the exponent field yields 2^n without a float-to-integer
// conversion, which would be undefined for NaN.
//
// Subnormal results of exp and exp2 are flushed to 0 (docs/decisions/numbers/denormals.md). All
// normal results are accurate.
//
// If the target has a table lookup within a vector and an instruction for 2^n, n is a multiple of
// 1/16, and 2^(n mod 1) is looked up. The polynomial for |r| <= ln 2 / 32 has half as many
// coefficients (P. T. P. Tang, "Table-driven implementation of the exponential function in IEEE
// floating-point arithmetic", 1989).
#include "lib/Codegen/Math/VectorMath.h"

#include <array>
#include <cmath>

namespace hewn::codegen::vecmath {

static constexpr double kLog2E = 1.44269504088896341;
/// ln 2 as a sum of two parts. The high part is so short that its product with n is exact.
static constexpr double kLn2High = 0.693145751953125, kLn2Low = 1.42860682030941723e-6;
static constexpr double kRound = 0x1.8p23;

namespace {
/// A number rounded to an integer: as a float, and in the low bits of its sum with kRound.
struct Whole {
  Num value, bits;
};
} // namespace

static Whole roundSum(Num sum) { return {sum - kRound, toBits(sum)}; }

/// Returns 2^(n + bias), where n + bias must be the exponent of a normal number.
static Num powerOfTwo(Whole n, int64_t bias = 0) { return fromBits(shiftLeft(n.bits + n.bits(127 + bias), 23)); }

/// Returns value * 2^(n + bias), also if the result overflows or is subnormal. Without a hardware
/// instruction, multiplies by two powers of two, both of which are normal numbers.
static Num scale(Num value, Whole n, int64_t bias = 0) {
  // 0x4B400000 is the bit pattern of kRound, which is 1.5 * 2^23.
  Num whole = n.bits - n.bits(int64_t(0x4B400000) - bias);
  if (value.f->machine.scale && value.f->isOfVectors(value.type()))
    return ldexp(value, intToFloat(whole));
  Num half = shiftRight(whole, 1);
  auto power = [](Num exponent) { return fromBits(shiftLeft(exponent + exponent(int64_t(127)), 23)); };
  return value * power(half) * power(whole - half);
}

/// Adding this constant rounds to an integer n, as kRound does, and leaves n + 127, the biased
/// exponent of 2^n, in the low bits.
static constexpr double kRoundBiased = kRound + 127;

/// Returns value * 2^n for n in [-126, 127], where n is in the low bits of `sum` (kRoundBiased).
/// For other n, the result is undefined.
static Num scaleBiased(Num value, Num sum) { return value * fromBits(shiftLeft(toBits(sum), 23)); }

static Num reduce(Num x, Num n) { return fma(n, -kLn2Low, fma(n, -kLn2High, x)); }

/// Returns exp(r) for |r| <= ln 2 / 2.
static Num expNearZero(Num r) {
  Num q = polynomial(
      r, {0.4999999403953552, 0.1666652113199234, 0.04166826605796814, 0.008368677459657192, 0.001382073387503624});
  return fma(r * r, q, r) + 1.0;
}

/// The powers 2^(i/16), rounded to float32, and the relative errors of this rounding.
struct Sixteenths {
  std::array<double, 16> powers, rests;
};

static Sixteenths sixteenths(double factor) {
  Sixteenths table;
  for (int i = 0; i < 16; ++i) {
    double exact = std::exp2(i / 16.0), rounded = float(exact);
    table.powers[i] = factor * rounded;
    table.rests[i] = exact / rounded - 1;
  }
  return table;
}

/// Adding this constant rounds to a multiple of 1/16 and leaves the number of sixteenths in the low
/// bits.
static constexpr double kRoundSixteenths = 0x1.8p19;

static bool hasSixteenths(Num x) { return x.f->machine.scale && looksUp(x, 16); }

/// Returns factor * exp(x) for x up to 89, by a table lookup. If exp(x) is subnormal or 0, the
/// result is undefined.
static Num expBySixteenths(Num x, double factor) {
  Sixteenths table = sixteenths(factor);
  Num sum = fma(x, kLog2E, kRoundSixteenths), n = sum - kRoundSixteenths;
  Num r = reduce(x, n), places = toBits(sum);
  Num power = lookUp(places, table.powers), rest = lookUp(places, table.rests);
  Num q = fma(polynomial(r, {1, 0.5, 0.16666667}), r, rest);
  return ldexp(fma(q, power, power), n);
}

/// The least float32 for which exp is a normal number, 2^-126 or more.
static constexpr double kLeastNormal = -87.33654;
/// For x up to this bound, 127.5 ln 2, exp(x) is 2^n exp(r) with n <= 127.
static constexpr double kLargestCentered = 88.376;

/// Returns factor * exp(x) for x in `range`. If exp(x) is subnormal or 0, the result is undefined.
/// The polynomial's coefficients are multiplied by `factor`.
static Num expByPolynomial(Num x, Range range, double factor) {
  Num sum = fma(x, kLog2E, kRoundBiased);
  if (range.high <= kLargestCentered) {
    Num r = reduce(x, sum - kRoundBiased);
    Num power =
        polynomial(r, {factor, factor, factor * 0.4999999403953552, factor * 0.1666652113199234,
                       factor * 0.04166826605796814, factor * 0.008368677459657192, factor * 0.001382073387503624});
    return scaleBiased(power, sum);
  }
  // Results from 2^127.5 on would need n = 128, but 2^128 is not a float32. With n = 127, r is in
  // [-ln 2 / 2, ln 2], which takes one more coefficient. For larger x, exp(r) is at least 2, and
  // the result is infinity.
  sum = atMost(sum, kRoundBiased + 127);
  Num r = reduce(x, sum - kRoundBiased);
  Num power = polynomial(r, {factor, factor, factor * 0.49999994, factor * 0.16666697, factor * 0.0416681841,
                             factor * 0.00832693558, factor * 0.00138334371, factor * 0.00023280381});
  return scaleBiased(power, sum);
}

Num exp(Num x, Range range, double factor) {
  bool looksUp = hasSixteenths(x);
  if (looksUp && range.high > 89)
    x = atMost(x, 89);
  Num power = looksUp ? expBySixteenths(x, factor) : expByPolynomial(x, range, factor);
  return range.low < kLeastNormal ? select(x < kLeastNormal, power(0.0), power) : power;
}

Num exp2(Num x) {
  Num sum = atMost(x + kRoundBiased, kRoundBiased + 127);
  Num r = x - (sum - kRoundBiased);
  Num power = polynomial(
      r, {1, 0.693147182, 0.240226492, 0.0555041991, 0.00961839501, 0.00133238162, 0.000153553454, 1.77925285e-05});
  return select(x < -126.0, x(0.0), scaleBiased(power, sum));
}

Num expm1(Num x) {
  Num clamped = atLeast(atMost(x, 89), -30);
  Whole n = roundSum(fma(clamped, kLog2E, kRound));
  Num r = reduce(clamped, n.value);
  Num q = polynomial(r, {0.5, 0.1666666716337204, 0.04166648909449577, 0.008333208039402962, 0.0013932674191892147,
                         0.0001994426711462438});
  Num p = fma(r * r, q, r);
  Num half = powerOfTwo(n, -1); // half of 2^n, which may overflow
  Num large = 2.0 * fma(half, p, half - 0.5);
  return select(abs(x) < 0x1p-25, x, large); // x itself for -0 and subnormals
}

Num sinh(Num x) {
  Num a = abs(x), s = x * x;
  Num small = fma(a * s, polynomial(s, {0.166666672, 0.00833331048, 0.000198428956, 2.78221319e-06}), a);
  Num clamped = atMost(a, 90);
  Whole n = roundSum(fma(clamped, kLog2E, kRound));
  Num half = scale(expNearZero(reduce(clamped, n.value)), n, -1);
  return copysign(select(a < 1.0, small, half - 0.25 / half), x);
}

Num cosh(Num x) {
  Num clamped = atMost(abs(x), 90);
  Whole n = roundSum(fma(clamped, kLog2E, kRound));
  Num half = scale(expNearZero(reduce(clamped, n.value)), n, -1);
  return half + 0.25 / half;
}

} // namespace hewn::codegen::vecmath
