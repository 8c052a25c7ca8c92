// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_OPS_FOURIER_H
#define HEWN_RUNTIME_OPS_FOURIER_H

/// \file
/// Fast Fourier transforms of any length, in double precision. A length whose prime factors are
/// small is factored (Stockham's autosort form of Cooley and Tukey's algorithm). Any other length n
/// is a convolution with a chirp (Bluestein, 1970), by transforms of a length of at least 2n - 1
/// whose prime factors are 2, 3 and 5.
///
/// Two forms compute the same transforms:
/// - `hewn_fourier_group` transforms HEWN_FOURIER_LANES signals at once, one in each lane.
/// - `hewn_fourier_line` transforms one signal. It views a length as n1 x n2 and transforms groups
///   of columns, then groups of rows, one in each lane (the six-step algorithm of Bailey, 1990).

#include "ops/element.h"

/// Number of signals that are transformed at once: a cache line of doubles.
enum { HEWN_FOURIER_LANES = 8 };

/// A complex array: real and imaginary parts. The conjugate transform of {re, im} is the transform
/// of {im, re}.
typedef struct hewn_planes {
  double *re, *im;
} hewn_planes;

/// A butterfly pass over a signal of `radix` * `rest` elements.
typedef struct hewn_fourier_pass {
  int64_t radix, rest;
  /// exp(-2*pi*i*p*k / (radix * rest)) for p < rest, 0 < k < radix, interleaved. For a radix above
  /// 5, then exp(-2*pi*i*j / radix) for j < radix.
  const double *twiddles;
} hewn_fourier_pass;

/// A length with small prime factors, as the passes of its transform.
typedef struct hewn_fourier_factors {
  int64_t length;
  int32_t count;
  hewn_fourier_pass passes[40];
} hewn_fourier_factors;

/// Transforms s signals of `factors->length` elements each: element j of signal q is x[s*j + q].
/// Overwrites `x` and `y`, and returns the one that contains the result.
typedef hewn_planes hewn_fourier_passes(const hewn_fourier_factors *factors, hewn_planes x, hewn_planes y, int64_t s);

/// Returns the implementation for the CPU of this context.
hewn_fourier_passes *hewn_fourier_select(const hewn_context *context);

/// A planned transform of `length` complex elements.
typedef struct hewn_fourier_plan {
  int64_t length;
  /// The length that is factored: `length`, or that of the convolution.
  int64_t factored;
  /// Nonzero for the form of `hewn_fourier_line`; else that of `hewn_fourier_group`.
  int32_t by_line;
  /// Nonzero if the plan has `halves`.
  int32_t halved;
  hewn_fourier_passes *run;
  hewn_fourier_factors whole;         ///< of `factored`, for groups
  hewn_fourier_factors columns, rows; ///< n1 and n2, for lines
  hewn_planes twiddles;               ///< exp(-2*pi*i*j*k / factored), [n1][n2], for lines
  hewn_planes chirp;                  ///< exp(-pi*i*j*j / length), for a convolution
  hewn_planes filter;                 ///< transform of the conjugate chirp, divided by `factored`
  /// exp(-pi*i*j / length), j <= length, for real signals of 2 * length elements.
  hewn_planes halves;
} hewn_fourier_plan;

/// Returns the plan of a transform. The context keeps the last plan of each `node`. Returns NULL
/// after recording a failure.
const hewn_fourier_plan *hewn_fourier_planned(hewn_context *context, const char *node, int64_t length, int by_line,
                                              int halved);

/// Returns true if `hewn_fourier_line` suits a length: the length has two factors that fill lanes.
int hewn_fourier_has_lines(int64_t length);

/// Returns the number of elements of a signal's buffer, and of the scratch memory of one thread.
int64_t hewn_fourier_room(const hewn_fourier_plan *plan);
int64_t hewn_fourier_scratch(const hewn_fourier_plan *plan);

/// Transforms HEWN_FOURIER_LANES signals: element j of signal l is x[HEWN_FOURIER_LANES*j + l].
/// Returns x or y, whichever contains the result.
hewn_planes hewn_fourier_group(const hewn_fourier_plan *plan, hewn_planes x, hewn_planes y);

/// Transforms the signal x in place. Overwrites `y`. `scratch` has the scratch memory of each of
/// the context's threads if `context` is not null, else that of the calling thread.
void hewn_fourier_line(const hewn_fourier_plan *plan, hewn_planes x, hewn_planes y, double *scratch,
                       hewn_context *context);

#endif // HEWN_RUNTIME_OPS_FOURIER_H
