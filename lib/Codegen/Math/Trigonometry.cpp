// SPDX-License-Identifier: Apache-2.0
//
// Trigonometric functions and their inverses.
//
// x = n pi/2 + r with |r| <= pi/4. The argument reduction is in float64 and subtracts pi/2 as two
// parts. It is accurate for magnitudes up to 2^49 and somewhat beyond: for each float32 in that
// range, its error is below 2^-24 of the distance to the closest multiple of pi/2. The polynomials
// in r are in float32.
#include "lib/Codegen/Math/VectorMath.h"

namespace hewn::codegen::vecmath {

/// pi/2 as the sum of two float32 numbers.
static constexpr double kHalfPiHigh = 1.57079637050628662109, kHalfPiLow = -4.37113900018624283e-8;

namespace {
struct Angle {
  Num r;
  Num quadrant; // i32; only the two lowest bits count
  Num sine, cosine;
};
} // namespace

static Angle reduceAngle(Num x) {
  Num wide = toDouble(x);
  // Adding 1.5 * 2^52 rounds to an integer, which is then in the low bits of the sum.
  Num sum = fma(wide, 0.636619772367581343, 0x1.8p52);
  Num n = sum - 0x1.8p52;
  Num r = toFloat(fma(n, -6.12323399573676604e-17, fma(n, -1.57079632679489656, wide)));
  Num s = r * r;
  Num sine = fma(r * s, polynomial(s, {-0.166666552, 0.00833218917, -0.00019518286}), r);
  Num cosine = fma(s, fma(s, polynomial(s, {0.0416666456, -0.00138873106, 2.44325638e-05}), -0.5), 1.0);
  return {r, toInt32(toBits(sum)), sine, cosine};
}

/// Returns the sine of the angle plus `ahead` times pi/2.
static Num sineAt(const Angle &angle, int64_t ahead) {
  Num q = ahead ? angle.quadrant + angle.quadrant(ahead) : angle.quadrant;
  Num isCosine = equal(q & q(int64_t(1)), q(int64_t(1)));
  Num value = select(isCosine, angle.cosine, angle.sine);
  Num sign = shiftLeft(q & q(int64_t(2)), 30);
  return fromBits(toBits(value) ^ sign);
}

Num sin(Num x) {
  Num result = sineAt(reduceAngle(x), 0);
  return select(equal(x, 0.0), x, result); // x itself for -0
}

Num cos(Num x) { return sineAt(reduceAngle(x), 1); }

Num tan(Num x) {
  Angle angle = reduceAngle(x);
  Num isOdd = equal(angle.quadrant & angle.quadrant(int64_t(1)), angle.quadrant(int64_t(1)));
  Num over = select(isOdd, -angle.cosine, angle.sine), under = select(isOdd, angle.sine, angle.cosine);
  return select(equal(x, 0.0), x, over / under);
}

namespace {
/// An intermediate result of arcsin and arccos. For |x| > 1/2, the half-angle formula is used.
struct Arc {
  Num p;    // arcsin(|x|), or arcsin(sqrt((1 - |x|) / 2))
  Num high; // |x| > 1/2
};
} // namespace

static Arc arc(Num x) {
  Num a = abs(x), high = a > 0.5;
  Num s = select(high, fma(a, -0.5, 0.5), a * a);
  Num z = select(high, sqrt(s), a);
  Num q = polynomial(s, {0.166667521, 0.0749530941, 0.0454691499, 0.0241847783, 0.0421583056});
  return {fma(z * s, q, z), high};
}

Num asin(Num x) {
  Arc part = arc(x);
  Num beyond = kHalfPiHigh - (part.p + part.p - kHalfPiLow);
  return copysign(select(part.high, beyond, part.p), x);
}

Num acos(Num x) {
  Arc part = arc(x);
  Num twice = part.p + part.p, negative = x < 0.0;
  Num ends = select(negative, 2 * kHalfPiHigh - (twice - 2 * kHalfPiLow), twice);
  Num middle = kHalfPiHigh - (copysign(part.p, x) - kHalfPiLow);
  return select(part.high, ends, middle);
}

/// Returns arctan(y / x) for y, x >= 0. Chooses one of three quotients, so that the quotient is at
/// most tan(pi/8) in magnitude.
static Num arcTangent(Num y, Num x) {
  Num steep = y > x * 2.41421356237309515, middle = y > x * 0.414213562373095034;
  Num over = select(steep, -x, select(middle, y - x, y));
  Num under = select(steep, y, select(middle, y + x, x));
  Num t = over / under, s = t * t;
  Num p = fma(t * s, polynomial(s, {-0.333333164, 0.199985281, -0.14244391, 0.105991684, -0.0609005205}), t);
  Num high = select(steep, y(kHalfPiHigh), select(middle, y(kHalfPiHigh / 2), y(0.0)));
  Num low = select(steep, y(kHalfPiLow), select(middle, y(kHalfPiLow / 2), y(0.0)));
  return high + (p + low);
}

Num atan(Num x) { return copysign(arcTangent(abs(x), x(1.0)), x); }

Num atan2(Num y, Num x) {
  Num up = abs(y), side = abs(x);
  Num larger = select(up > side, up, side);
  // Scale both numbers, so that their sum and their multiples neither overflow nor become
  // subnormal.
  Num factor = select(larger > 0x1p125, y(0x1p-4), select(larger < 0x1p-60, y(0x1p64), y(1.0)));
  Num bothInfinite = equal(up, kInfinity) & equal(side, kInfinity);
  Num upScaled = select(bothInfinite, y(1.0), up * factor);
  Num sideScaled = select(bothInfinite | equal(larger, 0.0), y(1.0), side * factor);
  Num first = arcTangent(upScaled, sideScaled);
  Num behind = toBits(x) < toBits(x)(int64_t(0)); // includes -0
  Num result = select(behind, 2 * kHalfPiHigh - (first - 2 * kHalfPiLow), first);
  return copysign(result, y);
}

} // namespace hewn::codegen::vecmath
