// SPDX-License-Identifier: Apache-2.0
//
// Our own approximations of elementary functions, on float32 scalars and vectors alike.
//
// Errors are at most the ulps given, measured over a dense sample of all inputs by test/Codegen/VectorMathTest.cpp.
// NaN, infinities, signed zeros and denormals come out as C's functions have them, but for exp and exp2: results up to 2^-125.5 are 0
// (docs/decisions/numbers/denormals.md).
#ifndef HEWN_LIB_CODEGEN_MATH_VECTORMATH_H
#define HEWN_LIB_CODEGEN_MATH_VECTORMATH_H

#include "lib/Codegen/Math/Formula.h"

namespace hewn::codegen::vecmath {

/// From where to where a number is, unless it is NaN.
struct Range {
  double low = -kInfinity, high = kInfinity;
};

/// factor * exp(x), the factor a power of two from 1 to 16, of x within the range.
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
/// log1p(x) of x from 0 to 1, or NaN.
Num log1pOfFraction(Num x);
/// Inside in float64: x^2 and x^0.5 come out as products and roots do.
Num pow(Num x, Num y);
Num asinh(Num x);
Num acosh(Num x);
Num atanh(Num x);

/// Up to this magnitude `sin`, `cos` and `tan` reduce their argument right.
inline constexpr double kLargestAngle = 0x1p49;
Num sin(Num x);
Num cos(Num x);
Num tan(Num x);
Num asin(Num x);
Num acos(Num x);
Num atan(Num x);
Num atan2(Num y, Num x);

} // namespace hewn::codegen::vecmath

#endif
