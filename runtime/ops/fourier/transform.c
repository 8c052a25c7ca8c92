// SPDX-License-Identifier: Apache-2.0
// Transforms of groups of signals, and of one signal by its columns and rows.
#include "fourier.h"

enum { LANES = HEWN_FOURIER_LANES };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t hewn_fourier_room(const hewn_fourier_plan *plan) {
  int64_t n = plan->factored > plan->length ? plan->factored : plan->length + 1;
  return hewn_size_mul(n, plan->by_line ? 1 : LANES);
}

int64_t hewn_fourier_scratch(const hewn_fourier_plan *plan) {
  int64_t n = plan->columns.length > plan->rows.length ? plan->columns.length : plan->rows.length;
  return plan->by_line ? hewn_size_mul(n, 4 * LANES) : 0;
}

/// Multiplies element j of each of the signals in x by w[j].
static void multiply(hewn_planes x, hewn_planes w, int64_t n, int64_t lanes) {
  double *restrict re = x.re, *restrict im = x.im;
  const double *restrict wr = w.re, *restrict wi = w.im;
  if (lanes == 1) {
    for (int64_t j = 0; j < n; ++j) {
      double a = re[j], b = im[j];
      re[j] = a * wr[j] - b * wi[j];
      im[j] = a * wi[j] + b * wr[j];
    }
    return;
  }
  for (int64_t j = 0; j < n; ++j, re += LANES, im += LANES)
    for (int64_t l = 0; l < LANES; ++l) {
      double a = re[l], b = im[l];
      re[l] = a * wr[j] - b * wi[j];
      im[l] = a * wi[j] + b * wr[j];
    }
}

static void clear(hewn_planes x, int64_t from, int64_t to) {
  memset(x.re + from, 0, (size_t)(to - from) * sizeof(double));
  memset(x.im + from, 0, (size_t)(to - from) * sizeof(double));
}

static hewn_planes swapped(hewn_planes x) {
  hewn_planes y = {x.im, x.re};
  return y;
}

hewn_planes hewn_fourier_group(const hewn_fourier_plan *plan, hewn_planes x, hewn_planes y) {
  if (plan->factored == plan->length)
    return plan->run(&plan->whole, x, y, LANES);
  multiply(x, plan->chirp, plan->length, LANES);
  clear(x, plan->length * LANES, plan->factored * LANES);
  hewn_planes z = plan->run(&plan->whole, x, y, LANES);
  multiply(z, plan->filter, plan->factored, LANES);
  // The inverse transform is the transform with real and imaginary parts swapped.
  z = swapped(plan->run(&plan->whole, swapped(z), swapped(z.re == x.re ? y : x), LANES));
  multiply(z, plan->chirp, plan->length, LANES);
  return z;
}

//===----------------------------------------------------------------------===//
// One signal
//===----------------------------------------------------------------------===//

/// Transforms of the columns, then of the rows of a signal x, viewed as [n1][n2].
typedef struct line {
  const hewn_fourier_plan *plan;
  hewn_planes x, y;
  double *scratch;
  int64_t groups, shares; ///< the groups of lanes are divided into so many shares, one a thread
  int of_rows;
} line;

static void copyGroup(double *to, int64_t to_stride, const double *from, int64_t from_stride, int64_t n,
                      int64_t count) {
  if (count == LANES)
    for (int64_t j = 0; j < n; ++j)
      memcpy(to + j * to_stride, from + j * from_stride, LANES * sizeof(double));
  else
    for (int64_t j = 0; j < n; ++j)
      memcpy(to + j * to_stride, from + j * from_stride, (size_t)count * sizeof(double));
}

/// Stores `count` signals of n elements from lanes to rows.
static void transposeGroup(double *to, int64_t to_stride, const double *from, int64_t n, int64_t count) {
  for (int64_t l = 0; l < count; ++l)
    for (int64_t j = 0; j < n; ++j)
      to[l * to_stride + j] = from[j * LANES + l];
}

/// Transforms columns first .. first + LANES - 1 of x, multiplies them by the twiddle factors, and
/// stores them as rows of y.
static void transformColumns(const line *line, int64_t first, hewn_planes a, hewn_planes b) {
  const hewn_fourier_plan *plan = line->plan;
  int64_t n1 = plan->columns.length, n2 = plan->rows.length, count = least(LANES, n2 - first);
  copyGroup(a.re, LANES, line->x.re + first, n2, n1, count);
  copyGroup(a.im, LANES, line->x.im + first, n2, n1, count);
  hewn_planes z = plan->run(&plan->columns, a, b, LANES);
  for (int64_t k = 0; k < n1; ++k) {
    const double *wr = plan->twiddles.re + k * n2 + first, *wi = plan->twiddles.im + k * n2 + first;
    double *re = z.re + k * LANES, *im = z.im + k * LANES;
    for (int64_t l = 0; l < count; ++l) {
      double held = re[l];
      re[l] = held * wr[l] - im[l] * wi[l];
      im[l] = held * wi[l] + im[l] * wr[l];
    }
  }
  transposeGroup(line->y.re + first * n1, n1, z.re, n1, count);
  transposeGroup(line->y.im + first * n1, n1, z.im, n1, count);
}

/// Transforms columns first .. first + LANES - 1 of y, viewed as [n2][n1], into columns of x.
static void transformRows(const line *line, int64_t first, hewn_planes a, hewn_planes b) {
  const hewn_fourier_plan *plan = line->plan;
  int64_t n1 = plan->columns.length, n2 = plan->rows.length, count = least(LANES, n1 - first);
  copyGroup(a.re, LANES, line->y.re + first, n1, n2, count);
  copyGroup(a.im, LANES, line->y.im + first, n1, n2, count);
  hewn_planes z = plan->run(&plan->rows, a, b, LANES);
  copyGroup(line->x.re + first, n1, z.re, LANES, n2, count);
  copyGroup(line->x.im + first, n1, z.im, LANES, n2, count);
}

static void transformShares(void *arg, int64_t begin, int64_t end) {
  const line *line = arg;
  int64_t scratch = hewn_fourier_scratch(line->plan), quarter = scratch / 4;
  for (int64_t share = begin; share < end; ++share) {
    double *memory = line->scratch + share * scratch;
    memset(memory, 0, (size_t)scratch * sizeof(double)); // unused lanes contain finite numbers
    hewn_planes a = {memory, memory + quarter}, b = {memory + 2 * quarter, memory + 3 * quarter};
    for (int64_t g = line->groups * share / line->shares; g < line->groups * (share + 1) / line->shares; ++g)
      if (line->of_rows)
        transformRows(line, g * LANES, a, b);
      else
        transformColumns(line, g * LANES, a, b);
  }
}

static void transformFactored(const hewn_fourier_plan *plan, hewn_planes x, hewn_planes y, double *scratch,
                              hewn_context *context) {
  int64_t threads = context ? hewn_rt_threads(context) : 1;
  for (int of_rows = 0; of_rows < 2; ++of_rows) {
    int64_t groups = ((of_rows ? plan->columns.length : plan->rows.length) + LANES - 1) / LANES;
    line line = {plan, x, y, scratch, groups, least(threads, groups), of_rows};
    if (line.shares > 1)
      (void)hewn_rt_parallel_for(context, line.shares, transformShares, &line);
    else
      transformShares(&line, 0, 1);
  }
}

void hewn_fourier_line(const hewn_fourier_plan *plan, hewn_planes x, hewn_planes y, double *scratch,
                       hewn_context *context) {
  if (plan->factored == plan->length) {
    transformFactored(plan, x, y, scratch, context);
    return;
  }
  multiply(x, plan->chirp, plan->length, 1);
  clear(x, plan->length, plan->factored);
  transformFactored(plan, x, y, scratch, context);
  multiply(x, plan->filter, plan->factored, 1);
  transformFactored(plan, swapped(x), swapped(y), scratch, context);
  multiply(x, plan->chirp, plan->length, 1);
}
