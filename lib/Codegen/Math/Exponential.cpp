// SPDX-License-Identifier: Apache-2.0
//
// exp and what is made of it.
//
// x = n ln 2 + r with n whole and |r| <= ln 2 / 2; exp(x) = 2^n exp(r), exp(r) by a polynomial. Adding 1.5 * 2^23
// rounds to a whole number and leaves n in the low bits of the sum, from where it becomes an exponent without a
// conversion (which would be undefined for NaN).
//
// No power is denormal: what would be is 0, by the way 2^n is made (`scaleTwice`; docs/decisions/numbers/denormals.md).
//
// Where the machine looks numbers up in a vector and has an instruction for 2^n, n goes in sixteenths, and 2^(n mod 1) is looked up: |r| <= ln 2 / 32
// needs half of the polynomial (P. T. P. Tang, "Table-driven implementation of the exponential function in IEEE floating-point arithmetic", 1989).
#include "lib/Codegen/Math/VectorMath.h"

#include <array>
#include <cmath>

namespace hewn::codegen::vecmath {

static constexpr double kLog2E = 1.44269504088896341;
/// ln 2 in two parts, the first short enough that n times it is exact.
static constexpr double kLn2High = 0.693145751953125, kLn2Low = 1.42860682030941723e-6;
static constexpr double kRound = 0x1.8p23;

namespace {
/// A rounded number twice: as a float and in the low bits of an integer above kRound's.
struct Whole {
  Num value, bits;
};
} // namespace

static Whole roundSum(Num sum) { return {sum - kRound, toBits(sum)}; }

/// 2^(n + bias); n + bias within the exponents of normal numbers.
static Num powerOfTwo(Whole n, int64_t bias = 0) { return fromBits(shiftLeft(n.bits + n.bits(127 + bias), 23)); }

/// value * 2^(n + bias), right where the result overflows or is denormal: in two steps that do not, where no instruction does it.
static Num scale(Num value, Whole n, int64_t bias = 0) {
  Num whole = n.bits - n.bits(int64_t(0x4B400000) - bias); // the bits of kRound
  if (value.f->machine.scale && value.f->isOfVectors(value.type()))
    return ldexp(value, intToFloat(whole));
  Num half = shiftRight(whole, 1);
  auto power = [](Num exponent) { return fromBits(shiftLeft(exponent + exponent(int64_t(127)), 23)); };
  return value * power(half) * power(whole - half);
}

/// Rounds as kRound does, and leaves n + 126 in the low bits.
static constexpr double kRoundBiased = kRound + 126;

static Whole roundBiased(Num sum) { return {sum - kRoundBiased, toBits(sum)}; }

/// twice / 2 * 2^n for n from -126 to 128, `twice` from sqrt(2) to 2 sqrt(2): infinity where that overflows, and 0 for n = -126, whose
/// power has the exponent that zero has. So no product is denormal, and none takes two steps.
static Num scaleTwice(Num twice, Whole n) { return twice * fromBits(shiftLeft(n.bits, 23)); }

static Num reduce(Num x, Num n) { return fma(n, -kLn2Low, fma(n, -kLn2High, x)); }

/// exp(r) for |r| <= ln 2 / 2.
static Num expNearZero(Num r) {
  Num q = polynomial(
      r, {0.4999999403953552, 0.1666652113199234, 0.04166826605796814, 0.008368677459657192, 0.001382073387503624});
  return fma(r * r, q, r) + 1.0;
}

/// Powers of two by sixteenths, as float32s, and what their rounding took off, as a share.
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

/// Rounds to sixteenths, of which it leaves the number in the low bits.
static constexpr double kRoundSixteenths = 0x1.8p19;

static bool hasSixteenths(Num x) { return x.f->machine.scale && looksUp(x, 16); }

/// factor * exp(x) for x from -87.3 to 89, by a table.
static Num expBySixteenths(Num x, double factor) {
  Sixteenths table = sixteenths(factor);
  Num sum = fma(x, kLog2E, kRoundSixteenths), n = sum - kRoundSixteenths;
  Num r = reduce(x, n), places = toBits(sum);
  Num power = lookUp(places, table.powers), rest = lookUp(places, table.rests);
  Num q = fma(polynomial(r, {1, 0.5, 0.16666667}), r, rest);
  return ldexp(fma(q, power, power), n);
}

/// factor * exp(x) for x of which n is from -126 to 128. By twice the coefficients of expNearZero, and one sum of products: sums of two
/// powers would be two more instructions.
static Num expByPolynomial(Num x, double factor) {
  double twice = 2 * factor;
  Whole n = roundBiased(fma(x, kLog2E, kRoundBiased));
  Num r = reduce(x, n.value);
  Num q = polynomial(r, {twice, twice * 0.4999999403953552, twice * 0.1666652113199234, twice * 0.04166826605796814,
                         twice * 0.008368677459657192, twice * 0.001382073387503624});
  return scaleTwice(fma(r, q, twice), n);
}

Num exp(Num x, Range range, double factor) {
  if (range.high > 89)
    x = atMost(x, 89);
  if (!hasSixteenths(x))
    return expByPolynomial(range.low < -87.3 ? atLeast(x, -87.3) : x, factor);
  constexpr double kLeast = -86.989967; // the logarithm of 2^-125.5, from where the other form has zeros
  Num power = expBySixteenths(x, factor);
  return range.low < kLeast ? select(x < kLeast, power(0.0), power) : power;
}

Num exp2(Num x) {
  x = atLeast(atMost(x, 128.25), -126);
  Whole n = roundBiased(x + kRoundBiased);
  Num r = x - n.value;
  Num q = polynomial(
      r, {2 * 0.693147182, 2 * 0.240226477, 2 * 0.0555035956, 2 * 0.00961849932, 2 * 0.00133909693, 2 * 0.00015329264});
  return scaleTwice(fma(r, q, 2.0), n);
}

Num expm1(Num x) {
  Num clamped = atLeast(atMost(x, 89), -30);
  Whole n = roundSum(fma(clamped, kLog2E, kRound));
  Num r = reduce(clamped, n.value);
  Num q = polynomial(r, {0.5, 0.1666666716337204, 0.04166648909449577, 0.008333208039402962, 0.0013932674191892147,
                         0.0001994426711462438});
  Num p = fma(r * r, q, r);
  Num half = powerOfTwo(n, -1); // 2^n itself may overflow
  Num large = 2.0 * fma(half, p, half - 0.5);
  return select(abs(x) < 0x1p-25, x, large); // -0 and denormals
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
