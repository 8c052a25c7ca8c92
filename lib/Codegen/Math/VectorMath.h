// SPDX-License-Identifier: Apache-2.0
//
// Approximations of elementary functions on float32 and, in namespace `wide`, float64 scalars and
// vectors.
//
// test/Codegen/VectorMathTest.cpp measures the errors over a dense sample of all inputs and bounds
// them in ulps. NaN, infinities, signed zeros and subnormals are handled as in C, with one
// exception: exp and exp2 of float32 return 0 for results below 2^-126, which are subnormal
// (docs/decisions/numbers/denormals.md).
#ifndef HEWN_LIB_CODEGEN_MATH_VECTORMATH_H
#define HEWN_LIB_CODEGEN_MATH_VECTORMATH_H

#include "lib/Codegen/Math/Formula.h"

namespace hewn::codegen::vecmath {

/// The range that a number is known to be in, unless it is NaN.
struct Range {
  double low = -kInfinity, high = kInfinity;
};

/// Returns factor * exp(x) for x within `range`. `factor` must be a power of two from 1 to 16.
Num exp(Num x, Range range = {}, double factor = 1);
Num exp2(Num x);
Num expm1(Num x);
Num sinh(Num x);
Num cosh(Num x);
Num tanh(Num x);
Num erf(Num x);

Num log(Num x);
Num log2(Num x);
Num log10(Num x);
Num log1p(Num x);
/// Returns log1p(x) for x in [0, 1], or NaN.
Num log1pOfFraction(Num x);
/// Returns x^y, computed in float64, so that x^2 and x^0.5 equal x * x and sqrt(x).
Num pow(Num x, Num y);
/// Returns x^y for all x and y, given `magnitude`, which is |x|^y: sets the sign, and the results
/// that C defines for negative x, ones and infinities.
Num withPowerLimits(Num x, Num y, Num magnitude);
Num asinh(Num x);
Num acosh(Num x);
Num atanh(Num x);

/// Largest magnitude for which the argument reduction of `sin`, `cos` and `tan` is accurate.
inline constexpr double kLargestAngle = 0x1p49;
Num sin(Num x);
Num cos(Num x);
Num tan(Num x);
Num asin(Num x);
Num acos(Num x);
Num atan(Num x);
Num atan2(Num y, Num x);

/// float64 functions, for targets with FMA instructions.
namespace wide {
Num exp(Num x);
Num expm1(Num x);
Num sinh(Num x);
Num cosh(Num x);
Num tanh(Num x);
Num log(Num x);
Num log1p(Num x);
Num pow(Num x, Num y);
/// Largest magnitude for which the argument reduction of `sin` and `cos` is accurate.
inline constexpr double kLargestAngle = 0x1p30;
Num sin(Num x);
Num cos(Num x);
} // namespace wide

} // namespace hewn::codegen::vecmath

#endif
