// SPDX-License-Identifier: Apache-2.0
// Plans of Fourier transforms: factors of the length, twiddle factors, and the filter of a
// convolution. All tables are exact to about one unit in the last place of a double.
#include "fourier.h"

/// The largest prime radix of a pass. A convolution costs less than a larger one.
enum { LARGEST_RADIX = 31 };

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Writes real and imaginary part of exp(-2*pi*i*k/n), for 0 <= k < n. Reduces the angle to [0,
/// pi/4] in integer arithmetic, and evaluates the polynomials of FreeBSD's msun (k_sin.c and
/// k_cos.c).
static void root(int64_t k, int64_t n, double *re, double *im) {
  int64_t eighths = 8 * k; // the angle in units of (pi/4)/n
  int64_t octant = eighths / n, within = eighths % n;
  int flip = octant & 1;
  double x = 0.78539816339744830962 * (double)(flip ? n - within : within) / (double)n, z = x * x;
  double s = x + x * z *
                     (-1.66666666666666324348e-01 +
                      z * (8.33333333332248946124e-03 +
                           z * (-1.98412698298579493134e-04 +
                                z * (2.75573137070700676789e-06 +
                                     z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
  double tail = z * z *
                (4.16666666666666019037e-02 +
                 z * (-1.38888888888741095749e-03 +
                      z * (2.48015872894767294178e-05 +
                           z * (-2.75573143513906633035e-07 +
                                z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
  double half = 0.5 * z, most = 1 - half, c = most + (1 - most - half + tail);
  int swap = ((octant + 1) & 2) != 0;
  double first = swap ? s : c, second = swap ? c : s;
  *re = octant >= 2 && octant < 6 ? -first : first;
  *im = octant >= 4 ? second : -second;
}

/// Memory from which a plan's tables are taken. `memory` is null while the sizes are added up.
typedef struct pool {
  double *memory;
  int64_t used;
} pool;

static double *take(pool *pool, int64_t count) {
  double *table = pool->memory ? pool->memory + pool->used : NULL;
  pool->used = hewn_size_add(pool->used, count < 0 ? -1 : (count + 7) / 8 * 8);
  return table;
}

static hewn_planes takePlanes(pool *pool, int64_t count) {
  hewn_planes planes;
  planes.re = take(pool, count);
  planes.im = take(pool, count);
  return planes;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Returns `n` without its prime factors up to LARGEST_RADIX.
static int64_t largeFactor(int64_t n) {
  for (int64_t p = 2; p <= LARGEST_RADIX; ++p)
    while (n % p == 0)
      n /= p;
  return n;
}

/// Splits a length into passes, and fills their tables if there is memory for them.
static void factor(hewn_fourier_factors *factors, int64_t length, pool *pool) {
  static const int64_t firsts[] = {4, 2, 3, 5, 7};
  factors->length = length;
  factors->count = 0;
  int64_t rest = length;
  for (int64_t i = 0, radix = 4; rest > 1; ++i, radix = i < 5 ? firsts[i] : radix + 2)
    for (; rest % radix == 0; rest /= radix) {
      hewn_fourier_pass *pass = &factors->passes[factors->count++];
      pass->radix = radix;
      pass->rest = rest / radix;
      double *w = take(pool, 2 * (radix - 1) * pass->rest + (radix > 5 ? 2 * radix : 0));
      pass->twiddles = w;
      for (int64_t p = 0; w && p < pass->rest; ++p)
        for (int64_t k = 1; k < radix; ++k, w += 2)
          root(p * k, rest, &w[0], &w[1]);
      for (int64_t j = 0; w && radix > 5 && j < radix; ++j, w += 2)
        root(j, radix, &w[0], &w[1]);
    }
}

/// Returns the least length of at least `n` elements whose prime factors are 2, 3 and 5.
static int64_t convolutionLength(int64_t n) {
  int64_t best = 1;
  while (best < n)
    best *= 2;
  for (int64_t five = 1; five < best; five *= 5)
    for (int64_t three = five; three < best; three *= 3) {
      int64_t length = three;
      while (length < n)
        length *= 2;
      best = length < best ? length : best;
    }
  return best;
}

/// Returns the number of elements with which groups of lanes cover `n` elements.
static int64_t covered(int64_t n) { return (n + HEWN_FOURIER_LANES - 1) / HEWN_FOURIER_LANES * HEWN_FOURIER_LANES; }

/// Returns the factor n1 <= n2 of a length n1 * n2, near the length's square root, of which groups
/// of lanes compute few superfluous elements; or 1.
static int64_t split(int64_t length) {
  int64_t middle = 1, best = 1;
  while (middle * middle < length)
    ++middle;
  double least = 1e300;
  for (int64_t n1 = middle; n1 >= HEWN_FOURIER_LANES / 2; --n1) {
    if (length % n1 != 0)
      continue;
    int64_t n2 = length / n1;
    double cost = (double)covered(n1) / (double)n1 + (double)covered(n2) / (double)n2;
    if (cost < least - 0.1 && n2 <= 64 * n1) {
      least = cost;
      best = n1;
    }
  }
  return best;
}

int hewn_fourier_has_lines(int64_t length) {
  return split(largeFactor(length) == 1 ? length : convolutionLength(2 * length - 1)) > 1;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Takes the tables of a plan from `pool`, and fills them if it has memory, except for the filter.
static void fill(hewn_fourier_plan *plan, pool *pool) {
  int64_t n = plan->length;
  if (plan->by_line) {
    int64_t n1 = split(plan->factored), n2 = plan->factored / n1;
    factor(&plan->columns, n1, pool);
    factor(&plan->rows, n2, pool);
    plan->twiddles = takePlanes(pool, plan->factored);
    for (int64_t k = 0; pool->memory && k < n1; ++k)
      for (int64_t j = 0; j < n2; ++j)
        root(j * k, plan->factored, &plan->twiddles.re[k * n2 + j], &plan->twiddles.im[k * n2 + j]);
  } else {
    factor(&plan->whole, plan->factored, pool);
  }
  if (plan->factored != n) {
    plan->filter = takePlanes(pool, plan->factored);
    plan->chirp = takePlanes(pool, n);
    for (int64_t j = 0, square = 0; pool->memory && j < n; ++j) {
      root(square, 2 * n, &plan->chirp.re[j], &plan->chirp.im[j]);
      square = (square + 2 * j + 1) % (2 * n);
    }
  }
  if (plan->halved) {
    plan->halves = takePlanes(pool, n + 1);
    for (int64_t j = 0; pool->memory && j <= n; ++j)
      root(j, 2 * n, &plan->halves.re[j], &plan->halves.im[j]);
  }
}

/// Computes the filter of a convolution with the plan's own passes.
static int32_t fillFilter(hewn_context *context, const hewn_fourier_plan *plan) {
  int64_t lanes = plan->by_line ? 1 : HEWN_FOURIER_LANES, m = plan->factored, each = hewn_size_mul(m, lanes);
  int64_t count = hewn_size_add(hewn_size_mul(4, each), hewn_fourier_scratch(plan));
  double *memory = hewn_rt_alloc(context, hewn_size_mul(count, (int64_t)sizeof(double)), 64);
  if (!memory)
    return hewn_rt_code(context);
  hewn_planes x = {memory, memory + each}, y = {memory + 2 * each, memory + 3 * each};
  memset(memory, 0, (size_t)(2 * each) * sizeof(double));
  for (int64_t j = 0; j < plan->length; ++j) {
    int64_t mirrored = j ? m - j : 0;
    x.re[lanes * j] = x.re[lanes * mirrored] = plan->chirp.re[j];
    x.im[lanes * j] = x.im[lanes * mirrored] = -plan->chirp.im[j];
  }
  hewn_fourier_plan plain = *plan; // a transform of the convolution's length
  plain.length = m;
  if (plan->by_line)
    hewn_fourier_line(&plain, x, y, memory + 4 * each, NULL);
  else
    x = hewn_fourier_group(&plain, x, y);
  for (int64_t j = 0; j < m; ++j) {
    plan->filter.re[j] = x.re[lanes * j] / (double)m;
    plan->filter.im[j] = x.im[lanes * j] / (double)m;
  }
  hewn_rt_free(context, memory);
  return HEWN_OK;
}

const hewn_fourier_plan *hewn_fourier_planned(hewn_context *context, const char *node, int64_t length, int by_line,
                                              int halved) {
  static const char part = 0;
  void **place = hewn_rt_place(context, &part, node ? node : "");
  if (!place)
    return NULL;
  hewn_fourier_plan *kept = *place;
  if (kept && kept->length == length && kept->by_line == by_line && kept->halved == halved)
    return kept;
  *place = NULL;
  hewn_rt_free(context, kept);

  hewn_fourier_plan plan;
  memset(&plan, 0, sizeof(plan));
  plan.length = length;
  plan.factored = largeFactor(length) == 1 ? length : convolutionLength(2 * length - 1);
  plan.by_line = by_line;
  plan.halved = halved;
  plan.run = hewn_fourier_select(context);
  int64_t header = (int64_t)(sizeof(plan) + 63) / 64 * 64;
  pool pool = {NULL, 0};
  fill(&plan, &pool);
  int64_t bytes = hewn_size_add(header, hewn_size_mul(pool.used, (int64_t)sizeof(double)));
  hewn_fourier_plan *made = hewn_rt_alloc(context, bytes, 64);
  if (!made)
    return NULL;
  pool.memory = (double *)((char *)made + header);
  pool.used = 0;
  fill(&plan, &pool);
  *made = plan;
  if (plan.factored != length && fillFilter(context, made) != HEWN_OK) {
    hewn_rt_free(context, made);
    return NULL;
  }
  hewn_rt_hold(context, made);
  *place = made;
  return made;
}
