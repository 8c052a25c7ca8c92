// SPDX-License-Identifier: Apache-2.0
//
// C math functions for targets without a C library: those of float64, and the few float32 ones that
// lib/Codegen/Math does not approximate. The build compiles them to target-independent LLVM IR,
// which hewn links into the kernels that call them.
//
// The errors are a few ulps of float64; test/Codegen/DeviceMathTest.cpp measures them. NaN,
// infinities, signed zeros and subnormals are handled as in C.

typedef unsigned long long u64;
typedef long long i64;

#define INF __builtin_inf()
#define NAN __builtin_nan("")

static u64 bitsOf(double x) {
  u64 bits;
  __builtin_memcpy(&bits, &x, 8);
  return bits;
}
static double fromBits(u64 bits) {
  double x;
  __builtin_memcpy(&x, &bits, 8);
  return x;
}
static double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static double absolute(double x) { return __builtin_fabs(x); }
static double withSign(double x, double sign) { return __builtin_copysign(x, sign); }

/// Returns x * 2^k for |k| <= 2200, also if the result is subnormal.
static double scale(double x, int k) {
  int half = k / 2;
  double a = fromBits((u64)(half + 1023) << 52), b = fromBits((u64)(k - half + 1023) << 52);
  return x * a * b;
}

//===-- Exponentials ------------------------------------------------------===//

/// Returns (exp(r) - 1 - r) / r^2 for |r| <= 0.5 ln 2. (The polynomial has enough coefficients for
/// |r| <= 0.5, which is a larger range.)
static double expTail(double r) {
  double s = 1.0 / 1307674368000.0;
  s = fma(s, r, 1.0 / 87178291200.0);
  s = fma(s, r, 1.0 / 6227020800.0);
  s = fma(s, r, 1.0 / 479001600.0);
  s = fma(s, r, 1.0 / 39916800.0);
  s = fma(s, r, 1.0 / 3628800.0);
  s = fma(s, r, 1.0 / 362880.0);
  s = fma(s, r, 1.0 / 40320.0);
  s = fma(s, r, 1.0 / 5040.0);
  s = fma(s, r, 1.0 / 720.0);
  s = fma(s, r, 1.0 / 120.0);
  s = fma(s, r, 1.0 / 24.0);
  s = fma(s, r, 1.0 / 6.0);
  return fma(s, r, 0.5);
}

#define LN2_HIGH 0x1.62e42fee00000p-1 // has 32 bits, so that its product with an exponent is exact
#define LN2_LOW 0x1.a39ef35793c76p-33
#define LOG2_E 0x1.71547652b82fep+0

/// Returns exp(x + low) for a small `low`.
static double expSum(double x, double low) {
  if (x != x)
    return x;
  if (x > 709.79)
    return INF;
  if (x < -745.2)
    return 0;
  double k = __builtin_rint(x * LOG2_E);
  double r = fma(-k, LN2_HIGH, x);
  double rest = fma(-k, LN2_LOW, low);
  r += rest;
  return scale(1 + (r + r * r * expTail(r)), (int)k);
}

double exp(double x) { return expSum(x, 0); }

double exp2(double x) {
  if (x != x)
    return x;
  if (x >= 1024)
    return INF;
  if (x < -1076)
    return 0;
  double k = __builtin_rint(x), r = (x - k) * 0x1.62e42fefa39efp-1;
  return scale(1 + (r + r * r * expTail(r)), (int)k);
}

double expm1(double x) {
  if (absolute(x) < 0.5)
    return x == 0 ? x : x + x * x * expTail(x);
  return exp(x) - 1;
}

double sinh(double x) {
  double a = absolute(x), t;
  if (a < 20) {
    t = expm1(a);
    return withSign(0.5 * (t + t / (t + 1)), x);
  }
  t = exp(0.5 * a);
  return withSign(0.5 * t * t, x);
}

double cosh(double x) {
  double a = absolute(x), t;
  if (a < 20) {
    t = exp(a);
    return 0.5 * (t + 1 / t);
  }
  t = exp(0.5 * a);
  return 0.5 * t * t;
}

double tanh(double x) {
  double a = absolute(x);
  if (a > 22)
    return withSign(1, x);
  double t = expm1(2 * a);
  return a == 0 || x != x ? x : withSign(t / (t + 2), x);
}

//===-- Logarithms --------------------------------------------------------===//

/// Splits a positive finite x into m * 2^e with m in [sqrt(1/2), sqrt(2)). Returns m and sets
/// *exponent to e.
static double split(double x, int *exponent) {
  int e = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    e = -54;
  }
  u64 bits = bitsOf(x);
  e += (int)(bits >> 52) - 1023;
  double m = fromBits((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    e += 1;
  }
  *exponent = e;
  return m;
}

/// Returns (log((1 + s) / (1 - s)) - 2 s) / s for |s| <= 0.172.
static double logTail(double s) {
  double z = s * s, p = 2.0 / 25;
  p = fma(p, z, 2.0 / 23);
  p = fma(p, z, 2.0 / 21);
  p = fma(p, z, 2.0 / 19);
  p = fma(p, z, 2.0 / 17);
  p = fma(p, z, 2.0 / 15);
  p = fma(p, z, 2.0 / 13);
  p = fma(p, z, 2.0 / 11);
  p = fma(p, z, 2.0 / 9);
  p = fma(p, z, 2.0 / 7);
  p = fma(p, z, 2.0 / 5);
  p = fma(p, z, 2.0 / 3);
  return p * z;
}

/// Returns log(m) for m near 1 as an unevaluated sum of two doubles: the result and *low.
static double logParts(double m, double *low) {
  double f = m - 1, g = m + 1, gLow = m > 1 ? 1 - (g - m) : m - (g - 1);
  double s = f / g;
  double rest = (fma(-s, g, f) - s * gLow) / g; // correction for the rounding of s
  double tail = s * logTail(s);
  double high = 2 * s + tail;
  *low = (2 * s - high) + tail + 2 * rest;
  return high;
}

static double logOfNoNumber(double x) { return x == 0 ? -INF : x < 0 ? NAN : x; }

double log(double x) {
  if (!(x > 0) || x == INF)
    return logOfNoNumber(x);
  int e;
  double low, high = logParts(split(x, &e), &low);
  return fma(e, LN2_HIGH, high + fma(e, LN2_LOW, low));
}

double log2(double x) {
  if (!(x > 0) || x == INF)
    return logOfNoNumber(x);
  int e;
  double low, high = logParts(split(x, &e), &low);
  return e + fma(high, LOG2_E, fma(low, LOG2_E, high * 0x1.777d0ffda0d24p-56));
}

double log10(double x) {
  if (!(x > 0) || x == INF)
    return logOfNoNumber(x);
  int e;
  double low, high = logParts(split(x, &e), &low);
  double tens = high * 0x1.bcb7b1526e50ep-2 + fma(low, 0x1.bcb7b1526e50ep-2, high * 0x1.95355baaafad3p-57);
  return fma(e, 0x1.34413509f79ffp-2, tens + e * -0x1.9dc1da994fd21p-59);
}

double log1p(double x) {
  double u = 1 + x;
  if (u == 1 || x != x || x == INF)
    return x;
  return u > 0 ? log(u) * (x / (u - 1)) : logOfNoNumber(u);
}

static int isOdd(double y) { return absolute(y) < 0x1p53 && ((i64)y & 1); }

double pow(double x, double y) {
  if (y == 0 || x == 1)
    return 1;
  if (x != x || y != y)
    return NAN;
  double a = absolute(x);
  int isInteger = absolute(y) >= 0x1p52 || __builtin_trunc(y) == y, negates = x < 0 && isInteger && isOdd(y);
  if (a == 1 && (absolute(y) == INF || isInteger))
    return negates ? -1 : 1;
  if (absolute(y) == INF)
    return (a > 1) == (y > 0) ? INF : 0;
  if (a == 0 || a == INF) {
    double big = (a == INF) == (y > 0) ? INF : 0;
    return __builtin_signbit(x) && isInteger && isOdd(y) ? -big : big;
  }
  if (x < 0 && !isInteger)
    return NAN;
  int e;
  double low, high = logParts(split(a, &e), &low);
  double l = e * LN2_HIGH, sum = l + high; // |e ln 2| is 0 or larger than |high|
  double rest = e == 0 ? low : (l - sum) + high + low + e * LN2_LOW;
  double product = y * sum;
  if (!(absolute(product) < 1000))
    return (product > 0 ? INF : 0) * (negates ? -1 : 1);
  double result = expSum(product, fma(y, sum, -product) + y * rest);
  return negates ? -result : result;
}

double asinh(double x) {
  double a = absolute(x);
  if (a > 0x1p28)
    return withSign(log(a) + 0x1.62e42fefa39efp-1, x);
  return a < 0x1p-28 || x != x ? x : withSign(log1p(a + a * a / (1 + __builtin_sqrt(a * a + 1))), x);
}

double acosh(double x) {
  if (x > 0x1p28)
    return log(x) + 0x1.62e42fefa39efp-1;
  double t = x - 1;
  return t < 0 ? NAN : log1p(t + __builtin_sqrt(2 * t + t * t));
}

double atanh(double x) {
  double a = absolute(x);
  return a == 0 ? x : withSign(0.5 * log1p(2 * a / (1 - a)), x);
}

//===-- Trigonometric functions -------------------------------------------===//

/// Fractional bits of 2 / pi, the most significant ones first.
static const u64 twoOverPi[] = {0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u,
                                0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u,
                                0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu,
                                0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu,
                                0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu};

static u64 highProduct(u64 a, u64 b) {
  u64 al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
  u64 middle = ah * bl + (al * bl >> 32), other = al * bh + (middle & 0xffffffffu);
  return ah * bh + (middle >> 32) + (other >> 32);
}

/// Reduces a finite x to x = n * pi / 2 + r + rest with |r| <= pi / 4, by Payne and Hanek's method
/// if x is large. Returns n modulo 4.
static int reduce(double x, double *r, double *rest) {
  double n = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  if (absolute(n) < 0x1p20) {
    double a = fma(-n, 0x1.921fb54442d18p+0, x), w = n * 0x1.1a62633145c07p-54;
    double high = a - w;
    *rest = (a - high) - w - fma(n, 0x1.1a62633145c07p-54, -w) - n * (-0x1.f1976b7ed8fbcp-110);
    *r = high;
    return (int)((i64)n & 3);
  }
  // Only the bits of x * 2 / pi around the binary point matter. They follow from the 53 bits of x
  // and 192 bits of the table.
  u64 bits = bitsOf(x);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1075; // x = m * 2^exponent
  u64 m = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
  // table bits before bit `first` only contribute multiples of 4 to x * 2 / pi
  int first = exponent - 62 < 0 ? 0 : exponent - 62;
  int word = first / 64, shift = first % 64;
  u64 window[4];
  for (int i = 0; i < 4; ++i)
    window[i] = shift ? twoOverPi[word + i] << shift | twoOverPi[word + i + 1] >> (64 - shift) : twoOverPi[word + i];
  // Compute the product m * window, a number of 320 bits.
  u64 product[5] = {0, 0, 0, 0, 0};
  for (int i = 3; i >= 0; --i) {
    u64 low = m * window[i], high = highProduct(m, window[i]), sum = product[i + 1] + low;
    product[i] += high + (sum < low);
    product[i + 1] = sum;
  }
  // The product m * window has 64 + exponent - first bits before its binary point.
  // Shift out all of these bits but the last two, which are the quadrant.
  int left = 62 + exponent - first;
  u64 top[3];
  for (int i = 0; i < 3; ++i) {
    int from = i + left / 64, by = left % 64;
    top[i] = by ? product[from] << by | (from + 1 < 5 ? product[from + 1] >> (64 - by) : 0) : product[from];
  }
  int quadrant = (int)(top[0] >> 62);
  u64 fraction = top[0] << 2 | top[1] >> 62, lower = top[1] << 2 | top[2] >> 62;
  int negative = 0;
  if (fraction >> 63) { // above 1/2: count up to the next quadrant, with a negative rest
    quadrant += 1;
    lower = ~lower + 1;
    fraction = ~fraction + (lower == 0);
    negative = 1;
  }
  double f = (double)(fraction >> 11) * 0x1p-53;
  double fLow = (double)((fraction & 0x7ff) << 53 | lower >> 11) * 0x1p-117;
  double high = f * 0x1.921fb54442d18p+0;
  double low = fma(f, 0x1.921fb54442d18p+0, -high) + f * 0x1.1a62633145c07p-54 + fLow * 0x1.921fb54442d18p+0;
  *r = high + low;
  *rest = (high - *r) + low;
  if (negative) {
    *r = -*r;
    *rest = -*rest;
  }
  if (x < 0) {
    *r = -*r;
    *rest = -*rest;
    quadrant = -quadrant;
  }
  return quadrant & 3;
}

static double sinOf(double x, double rest) {
  double z = x * x, p = 1.0 / 355687428096000.0;
  p = fma(p, z, -1.0 / 1307674368000.0);
  p = fma(p, z, 1.0 / 6227020800.0);
  p = fma(p, z, -1.0 / 39916800.0);
  p = fma(p, z, 1.0 / 362880.0);
  p = fma(p, z, -1.0 / 5040.0);
  p = fma(p, z, 1.0 / 120.0);
  double cube = z * x;
  return x - (fma(z, 0.5 * rest - cube * p, -rest) + cube * (1.0 / 6));
}

static double cosOf(double x, double rest) {
  double z = x * x, p = -1.0 / 6402373705728000.0;
  p = fma(p, z, 1.0 / 20922789888000.0);
  p = fma(p, z, -1.0 / 87178291200.0);
  p = fma(p, z, 1.0 / 479001600.0);
  p = fma(p, z, -1.0 / 3628800.0);
  p = fma(p, z, 1.0 / 40320.0);
  p = fma(p, z, -1.0 / 720.0);
  p = fma(p, z, 1.0 / 24.0);
  double half = 0.5 * z, w = 1 - half;
  return w + (((1 - w) - half) + (z * z * p - x * rest));
}

double sin(double x) {
  if (!(absolute(x) < INF))
    return NAN;
  double r, rest;
  int n = reduce(x, &r, &rest);
  double y = n & 1 ? cosOf(r, rest) : x == 0 ? x : sinOf(r, rest);
  return n & 2 ? -y : y;
}

double cos(double x) {
  if (!(absolute(x) < INF))
    return NAN;
  double r, rest;
  int n = reduce(x, &r, &rest);
  double y = n & 1 ? sinOf(r, rest) : cosOf(r, rest);
  return n == 1 || n == 2 ? -y : y;
}

double tan(double x) {
  if (!(absolute(x) < INF))
    return NAN;
  double r, rest;
  int n = reduce(x, &r, &rest);
  double s = x == 0 ? x : sinOf(r, rest), c = cosOf(r, rest);
  return n & 1 ? -c / s : s / c;
}

/// Returns atan(x) for x >= 0.
static double atanOf(double x) {
  static const double centers[] = {0.5, 1, 1.5};
  static const double highs[] = {0x1.dac670561bb4fp-2, 0x1.921fb54442d18p-1, 0x1.f730bd281f69bp-1},
                      lows[] = {0x1.a2b7f222f65e2p-56, 0x1.1a62633145c07p-55, 0x1.007887af0cbbdp-56};
  double base = 0, low = 0, t = x;
  if (x > 0x1p60)
    return 0x1.921fb54442d18p+0;
  if (x >= 2.4375) {
    base = 0x1.921fb54442d18p+0;
    low = 0x1.1a62633145c07p-54;
    t = -1 / x;
  } else if (x >= 0.4375) {
    int i = x < 0.6875 ? 0 : x < 1.1875 ? 1 : 2;
    base = highs[i];
    low = lows[i];
    t = (x - centers[i]) / (1 + x * centers[i]);
  }
  double z = t * t, p = 0;
  for (int i = 45; i >= 3; i -= 2)
    p = 1.0 / i - z * p;
  return base + (t - (t * z * p - low));
}

double atan(double x) { return x != x || x == 0 ? x : withSign(atanOf(absolute(x)), x); }

double atan2(double y, double x) {
  if (x != x || y != y)
    return NAN;
  double a = absolute(y), b = absolute(x), angle;
  if (a == INF)
    angle = b == INF ? 0.5 * 0x1.921fb54442d18p+0 : 0x1.921fb54442d18p+0;
  else if (a == 0 || b == INF)
    angle = 0;
  else
    angle = b == 0 ? 0x1.921fb54442d18p+0 : atanOf(a / b);
  if (__builtin_signbit(x))
    angle = 2 * 0x1.921fb54442d18p+0 - (angle - 2 * 0x1.1a62633145c07p-54);
  return withSign(angle, y);
}

double asin(double x) { return absolute(x) > 1 ? NAN : x == 0 ? x : atan2(x, __builtin_sqrt((1 - x) * (1 + x))); }
double acos(double x) { return absolute(x) > 1 ? NAN : atan2(__builtin_sqrt((1 - x) * (1 + x)), x); }

//===-- Other functions ---------------------------------------------------===//

/// Returns exp(-x^2), including the rounding error of x^2.
static double bell(double x) {
  double square = x * x;
  return expSum(-square, -fma(x, x, -square));
}

/// Returns erf(x) for 0 <= x < 1 by a power series with positive coefficients.
static double erfSeries(double x) {
  double term = x, sum = x, twice = 2 * x * x;
  for (int i = 3; i < 140 && term > sum * 0x1p-56; i += 2) {
    term *= twice / i;
    sum += term;
  }
  return sum * bell(x) * 0x1.20dd750429b6dp+0;
}

/// Returns erfc(x) for x >= 1 by a continued fraction.
static double erfcFraction(double x) {
  if (x > 27.3)
    return 0;
  double f = x;
  for (int i = x < 2 ? 300 : 80; i > 0; --i)
    f = x + 0.5 * i / f;
  return bell(x) / (f * 1.7724538509055160273);
}

double erf(double x) {
  if (x != x || x == 0)
    return x;
  double a = absolute(x);
  return withSign(a < 1 ? erfSeries(a) : 1 - erfcFraction(a), x);
}

double erfc(double x) {
  if (x != x)
    return x;
  if (x < 0.5)
    return 1 - erf(x);
  return x < 1 ? 1 - erfSeries(x) : erfcFraction(x);
}

double cbrt(double x) {
  double a = absolute(x);
  if (a == 0 || !(a < INF))
    return x;
  int e, down = a < 0x1p-1000;
  double m = split(down ? a * 0x1p300 : a, &e);
  int third = e >= 0 ? e / 3 : -((2 - e) / 3);
  m = scale(m, e - 3 * third); // in [0.7, 5.7)
  double y = 0.7 + 0.25 * m;
  for (int i = 0; i < 5; ++i)
    y -= (y * y * y - m) / (3 * y * y);
  double square = y * y, left = fma(-square, y, m) - fma(y, y, -square) * y;
  y += left / (3 * square);
  return withSign(scale(y, third - (down ? 100 : 0)), x);
}

double fmod(double x, double y) {
  if (x != x || y != y || absolute(x) == INF || y == 0)
    return NAN;
  u64 a = bitsOf(absolute(x)), b = bitsOf(absolute(y));
  if (a < b)
    return x;
  int ea = (int)(a >> 52), eb = (int)(b >> 52);
  u64 mask = 0x000fffffffffffffu, hidden = 0x0010000000000000u;
  u64 ma = ea ? (a & mask) | hidden : a, mb = eb ? (b & mask) | hidden : b;
  ea += !ea;
  eb += !eb;
  ma %= mb;
  for (; ea > eb; --ea) {
    ma <<= 1;
    if (ma >= mb)
      ma -= mb;
  }
  // The remainder of the division is ma * 2^(eb - 1075), which a float64 represents exactly.
  return withSign(scale((double)ma, eb - 1075), x);
}

float erfcf(float x) { return (float)erfc(x); }
float cbrtf(float x) { return (float)cbrt(x); }
float sinf(float x) { return (float)sin(x); }
float cosf(float x) { return (float)cos(x); }
float tanf(float x) { return (float)tan(x); }
float fmodf(float x, float y) { return (float)fmod(x, y); }
