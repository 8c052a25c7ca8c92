// SPDX-License-Identifier: Apache-2.0
//
// Compares the device math library with the host's functions in long double. Measures errors in
// ulps of float64, over a sample of all numbers and of the functions' ranges, and for special
// values.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

// libm.c, compiled with a prefix for every function (test/CMakeLists.txt).
// clang-format off
#define UNARY(X) \
  X(exp) X(exp2) X(expm1) X(sinh) X(cosh) X(tanh) X(log) X(log2) X(log10) X(log1p) X(asinh) X(acosh) X(atanh) X(sin) \
  X(cos) X(tan) X(asin) X(acos) X(atan) X(erf) X(erfc) X(cbrt)
// clang-format on
#define BINARY(X) X(pow) X(atan2) X(fmod)
#define DECLARE(name) extern "C" double device_##name(double);
UNARY(DECLARE)
#undef DECLARE
#define DECLARE(name) extern "C" double device_##name(double, double);
BINARY(DECLARE)
#undef DECLARE

namespace {

struct Unary {
  const char *name;
  double (*device)(double);
  long double (*exact)(long double);
};
struct Binary {
  const char *name;
  double (*device)(double, double);
  long double (*exact)(long double, long double);
};

#define ROW(name) {#name, device_##name, [](long double x) -> long double { return std::name(x); }},
const Unary unary[] = {UNARY(ROW)};
#undef ROW
#define ROW(name) {#name, device_##name, [](long double x, long double y) -> long double { return std::name(x, y); }},
const Binary binary[] = {BINARY(ROW)};
#undef ROW

double ulps(double got, long double exact) {
  auto want = double(exact);
  if (std::isnan(got) || std::isnan(want))
    return std::isnan(got) && std::isnan(want) ? 0 : INFINITY;
  if (got == want)
    return std::signbit(got) == std::signbit(want) ? 0 : INFINITY;
  // The test accepts infinity near the largest number, because overflow may start a few ulps
  // earlier or later.
  if (std::isinf(got) || std::isinf(want))
    return std::abs(std::isinf(got) ? want : got) > 1.797e308 ? 1 : INFINITY;
  double step = std::nextafter(std::abs(want), INFINITY) - std::abs(want);
  return double(std::abs(got - exact) / step);
}

struct Sample {
  uint64_t state = 88172645463325252u;
  uint64_t bits() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
  /// Draws numbers of all magnitudes, numbers around 1, and random bit patterns.
  double next() {
    double x = double(int64_t(bits())) * 0x1p-63;
    switch (bits() % 4) {
    case 0:
      return x;
    case 1:
      return x * 750;
    case 2:
      return std::copysign(std::exp(40 * double(int64_t(bits())) * 0x1p-63), x);
    default: {
      uint64_t any = bits();
      std::memcpy(&x, &any, sizeof(x));
      return std::isnan(x) ? 0.5 : x;
    }
    }
  }
};

const std::vector<double> special = {0.0,      -0.0,     1,          -1,          0.5,        -0.5,    2,      -2,
                                     3,        INFINITY, -INFINITY,  NAN,         5e-324,     -5e-324, 1e-310, 1e308,
                                     -1e308,   710,      -745,       -720,        1e22,       0x1p60,  1e300,  M_PI,
                                     M_PI / 2, 0x1p53,   0x1p53 + 2, 1 - 0x1p-53, 1 + 0x1p-52};
/// Functions with larger bounds: erfc loses accuracy by cancellation between 0.5 and 1, and pow
/// multiplies the error of the logarithm by the exponent.
double bound(const char *name) { return std::strcmp(name, "erfc") == 0 || std::strcmp(name, "pow") == 0 ? 32 : 8; }

} // namespace

TEST(DeviceMath, Unary) {
  for (const Unary &f : unary) {
    double worst = 0, at = 0;
    auto look = [&](double x) {
      if (double error = ulps(f.device(x), f.exact(x)); error > worst)
        worst = error, at = x;
    };
    for (double x : special)
      look(x);
    Sample sample;
    for (int i = 0; i < 200000; ++i)
      look(sample.next());
    EXPECT_LE(worst, bound(f.name)) << f.name << " at " << at << ": " << f.device(at);
  }
}

TEST(DeviceMath, Binary) {
  for (const Binary &f : binary) {
    double worst = 0, atX = 0, atY = 0;
    auto look = [&](double x, double y) {
      if (double error = ulps(f.device(x, y), f.exact(x, y)); error > worst)
        worst = error, atX = x, atY = y;
    };
    for (double x : special)
      for (double y : special)
        look(x, y);
    Sample sample;
    for (int i = 0; i < 200000; ++i) {
      double x = sample.next();
      look(x, sample.next());
    }
    EXPECT_LE(worst, bound(f.name)) << f.name << " at " << atX << ", " << atY << ": " << f.device(atX, atY);
  }
}
