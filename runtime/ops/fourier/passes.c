// SPDX-License-Identifier: Apache-2.0
// Butterfly passes of the Stockham autosort transform, decimation in frequency. A pass of radix r
// over signals of r*m elements, of which there are s:
//
//     y[q + s*(r*p + k)] = w^(p*k) * sum over j of x[q + s*(p + m*j)] * exp(-2*pi*i*j*k/r)
//
// for q < s, p < m, k < r and w = exp(-2*pi*i/(r*m)). The loops over q are vectorized: s is a
// multiple of the number of lanes.
#include "fourier.h"

#define INLINE __attribute__((always_inline)) static inline

/// Stores (re + i*im) * (w[0] + i*w[1]).
#define STORE(yr, yi, at, re, im, w)                                                                                   \
  do {                                                                                                                 \
    double re_ = (re), im_ = (im);                                                                                     \
    (yr)[at] = re_ * (w)[0] - im_ * (w)[1];                                                                            \
    (yi)[at] = re_ * (w)[1] + im_ * (w)[0];                                                                            \
  } while (0)

INLINE void pass2(int64_t m, int64_t s, const double *w, const double *restrict xr, const double *restrict xi,
                  double *restrict yr, double *restrict yi) {
  for (int64_t p = 0; p < m; ++p, w += 2, xr += s, xi += s, yr += 2 * s, yi += 2 * s)
    for (int64_t q = 0; q < s; ++q) {
      double ar = xr[q], ai = xi[q], br = xr[q + s * m], bi = xi[q + s * m];
      yr[q] = ar + br;
      yi[q] = ai + bi;
      STORE(yr, yi, q + s, ar - br, ai - bi, w);
    }
}

INLINE void pass3(int64_t m, int64_t s, const double *w, const double *restrict xr, const double *restrict xi,
                  double *restrict yr, double *restrict yi) {
  const double sine = 0.86602540378443864676;
  for (int64_t p = 0; p < m; ++p, w += 4, xr += s, xi += s, yr += 3 * s, yi += 3 * s)
    for (int64_t q = 0; q < s; ++q) {
      double ar = xr[q], ai = xi[q], br = xr[q + s * m], bi = xi[q + s * m];
      double cr = xr[q + 2 * s * m], ci = xi[q + 2 * s * m];
      double sumr = br + cr, sumi = bi + ci, offr = sine * (br - cr), offi = sine * (bi - ci);
      double midr = ar - 0.5 * sumr, midi = ai - 0.5 * sumi;
      yr[q] = ar + sumr;
      yi[q] = ai + sumi;
      STORE(yr, yi, q + s, midr + offi, midi - offr, w);
      STORE(yr, yi, q + 2 * s, midr - offi, midi + offr, w + 2);
    }
}

INLINE void pass4(int64_t m, int64_t s, const double *w, const double *restrict xr, const double *restrict xi,
                  double *restrict yr, double *restrict yi) {
  for (int64_t p = 0; p < m; ++p, w += 6, xr += s, xi += s, yr += 4 * s, yi += 4 * s)
    for (int64_t q = 0; q < s; ++q) {
      double ar = xr[q], ai = xi[q], br = xr[q + s * m], bi = xi[q + s * m];
      double cr = xr[q + 2 * s * m], ci = xi[q + 2 * s * m], dr = xr[q + 3 * s * m], di = xi[q + 3 * s * m];
      double sumr = ar + cr, sumi = ai + ci, lessr = ar - cr, lessi = ai - ci;
      double bdr = br + dr, bdi = bi + di, turnr = bi - di, turni = dr - br; // turn: -i * (b - d)
      yr[q] = sumr + bdr;
      yi[q] = sumi + bdi;
      STORE(yr, yi, q + s, lessr + turnr, lessi + turni, w);
      STORE(yr, yi, q + 2 * s, sumr - bdr, sumi - bdi, w + 2);
      STORE(yr, yi, q + 3 * s, lessr - turnr, lessi - turni, w + 4);
    }
}

INLINE void pass5(int64_t m, int64_t s, const double *w, const double *restrict xr, const double *restrict xi,
                  double *restrict yr, double *restrict yi) {
  const double c1 = 0.30901699437494742410, s1 = 0.95105651629515357212;  // of 2*pi/5
  const double c2 = -0.80901699437494742410, s2 = 0.58778525229247312917; // of 4*pi/5
  for (int64_t p = 0; p < m; ++p, w += 8, xr += s, xi += s, yr += 5 * s, yi += 5 * s)
    for (int64_t q = 0; q < s; ++q) {
      double ar = xr[q], ai = xi[q], br = xr[q + s * m], bi = xi[q + s * m];
      double cr = xr[q + 2 * s * m], ci = xi[q + 2 * s * m], dr = xr[q + 3 * s * m], di = xi[q + 3 * s * m];
      double er = xr[q + 4 * s * m], ei = xi[q + 4 * s * m];
      double ber = br + er, bei = bi + ei, bxr = br - er, bxi = bi - ei;
      double cdr = cr + dr, cdi = ci + di, cxr = cr - dr, cxi = ci - di;
      double onr = ar + c1 * ber + c2 * cdr, oni = ai + c1 * bei + c2 * cdi;
      double twor = ar + c2 * ber + c1 * cdr, twoi = ai + c2 * bei + c1 * cdi;
      double sonr = s1 * bxr + s2 * cxr, soni = s1 * bxi + s2 * cxi;
      double stwor = s2 * bxr - s1 * cxr, stwoi = s2 * bxi - s1 * cxi;
      yr[q] = ar + ber + cdr;
      yi[q] = ai + bei + cdi;
      STORE(yr, yi, q + s, onr + soni, oni - sonr, w);
      STORE(yr, yi, q + 2 * s, twor + stwoi, twoi - stwor, w + 2);
      STORE(yr, yi, q + 3 * s, twor - stwoi, twoi + stwor, w + 4);
      STORE(yr, yi, q + 4 * s, onr - soni, oni + sonr, w + 6);
    }
}

/// Adds x * (c + i*d) to y, or sets y to it.
INLINE void addTimes(int64_t s, int sets, double c, double d, const double *restrict xr, const double *restrict xi,
                     double *restrict yr, double *restrict yi) {
  for (int64_t q = 0; q < s; ++q) {
    double re = xr[q] * c - xi[q] * d, im = xr[q] * d + xi[q] * c;
    yr[q] = sets ? re : yr[q] + re;
    yi[q] = sets ? im : yi[q] + im;
  }
}

/// A pass of any radix, with radix^2 multiply-adds.
INLINE void passAny(int64_t radix, int64_t m, int64_t s, const double *w, const double *xr, const double *xi,
                    double *yr, double *yi) {
  const double *roots = w + 2 * (radix - 1) * m;
  for (int64_t p = 0; p < m; ++p)
    for (int64_t k = 0; k < radix; ++k) {
      double *outr = yr + s * (radix * p + k), *outi = yi + s * (radix * p + k);
      addTimes(s, 1, 1, 0, xr + s * p, xi + s * p, outr, outi);
      for (int64_t j = 1, root = k; j < radix; ++j) {
        const double *of = roots + 2 * root;
        addTimes(s, 0, of[0], of[1], xr + s * (p + m * j), xi + s * (p + m * j), outr, outi);
        root = root + k < radix ? root + k : root + k - radix;
      }
      const double *by = w + 2 * ((radix - 1) * p + k - 1);
      for (int64_t q = 0; k && q < s; ++q)
        STORE(outr, outi, q, outr[q], outi[q], by);
    }
}

INLINE hewn_planes runPasses(const hewn_fourier_factors *factors, hewn_planes x, hewn_planes y, int64_t s) {
  for (int32_t i = 0; i < factors->count; ++i) {
    const hewn_fourier_pass *pass = &factors->passes[i];
    switch (pass->radix) {
    case 2:
      pass2(pass->rest, s, pass->twiddles, x.re, x.im, y.re, y.im);
      break;
    case 3:
      pass3(pass->rest, s, pass->twiddles, x.re, x.im, y.re, y.im);
      break;
    case 4:
      pass4(pass->rest, s, pass->twiddles, x.re, x.im, y.re, y.im);
      break;
    case 5:
      pass5(pass->rest, s, pass->twiddles, x.re, x.im, y.re, y.im);
      break;
    default:
      passAny(pass->radix, pass->rest, s, pass->twiddles, x.re, x.im, y.re, y.im);
    }
    s *= pass->radix;
    hewn_planes held = x;
    x = y;
    y = held;
  }
  return x;
}

static hewn_planes run(const hewn_fourier_factors *factors, hewn_planes x, hewn_planes y, int64_t s) {
  return runPasses(factors, x, y, s);
}

#if defined(__x86_64__) && defined(__GNUC__)
/// `run`, compiled for AVX2 and FMA.
__attribute__((target("avx2,fma"), flatten)) static hewn_planes runByAvx2(const hewn_fourier_factors *factors,
                                                                          hewn_planes x, hewn_planes y, int64_t s) {
  return runPasses(factors, x, y, s);
}
#endif

hewn_fourier_passes *hewn_fourier_select(const hewn_context *context) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (hewn_rt_cpu(context) & HEWN_CPU_X86_64_V3)
    return runByAvx2;
#endif
  (void)context;
  return run;
}
