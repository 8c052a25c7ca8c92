// SPDX-License-Identifier: Apache-2.0
// DFT: discrete Fourier transforms along one axis, computed in double precision. A real signal of
// even length is transformed as a complex signal of half the length.
#include "fourier.h"

enum { LANES = HEWN_FOURIER_LANES };

/// The content of a buffer of complex elements, before and after the transform.
enum form {
  COMPLEX,  ///< the complex elements of the operand or result
  REAL,     ///< elements whose imaginary parts are zero or not needed
  PAIRS,    ///< elements 2*j and 2*j + 1 of a real signal as the parts of element j
  SPECTRUM, ///< the first half of the spectrum of a real signal of odd length
  HALVES    ///< the first half of the spectrum of a real signal of even length
};

/// All transforms of an op. A unit is one signal: the elements of a tensor along the axis.
typedef struct job {
  const hewn_fourier_plan *plan;
  const hewn_part_tensor *x, *y;
  enum form before, after;
  int inverse;
  int64_t n;              ///< elements of the signal
  int64_t given, columns; ///< elements along the axis: those of x that are used, and those of y
  int64_t extent;         ///< elements of x along the axis
  int64_t inner;          ///< elements after the axis, without the dim of real and imaginary parts
  int64_t x_parts, y_parts;
  int64_t units, groups, shares; ///< signals; groups of them; shares into which tasks divide groups
  double *memory;                ///< for each share, two buffers and scratch memory
  int64_t room, scratch;
} job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Returns the offset of the first element of a signal in a tensor with `extent` elements along the
/// axis.
static int64_t offsetOf(const job *job, int64_t unit, int64_t extent, int64_t parts) {
  return (unit / job->inner * extent * job->inner + unit % job->inner) * parts;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Loads `n` elements of `count` signals, converted to double.
#define DEFINE_LOAD(name, type)                                                                                        \
  static void name(const void *data, const int64_t *starts, int64_t step, int64_t n, double *to, int64_t lanes) {      \
    const type *from = data;                                                                                           \
    if (lanes == 1 && step == 1)                                                                                       \
      for (int64_t j = 0; j < n; ++j)                                                                                  \
        to[j] = from[starts[0] + j];                                                                                   \
    else if (lanes == 1)                                                                                               \
      for (int64_t j = 0, at = starts[0]; j < n; ++j, at += step)                                                      \
        to[j] = from[at];                                                                                              \
    else                                                                                                               \
      for (int64_t j = 0; j < n; ++j, from += step)                                                                    \
        for (int64_t l = 0; l < LANES; ++l)                                                                            \
          to[j * LANES + l] = from[starts[l]];                                                                         \
  }
DEFINE_LOAD(loadFloats, float)
DEFINE_LOAD(loadDoubles, double)

/// Loads the signals' elements `start` + j * `step`, j < n, and zeros up to `all` elements.
static void loadPart(const job *job, const int64_t *starts, int64_t start, int64_t step, int64_t n, int64_t all,
                     double *to, int64_t lanes) {
  n = n < 0 ? 0 : least(n, all);
  const char *data = (const char *)job->x->data + start * hewn_part_bytes(job->x->dtype);
  if (n > 0)
    (job->x->dtype == HEWN_PART_FLOAT ? loadFloats : loadDoubles)(data, starts, step, n, to, lanes);
  memset(to + n * lanes, 0, (size_t)((all - n) * lanes) * sizeof(double));
}

/// Computes from the first half X of the spectrum of a real signal x of 2*n elements the spectrum
/// of the complex signal x[2*j] + i*x[2*j + 1], times 2, in place. X has n + 1 elements.
static void joinHalves(hewn_planes x, hewn_planes w, int64_t n, int64_t lanes) {
  for (int64_t k = 0; 2 * k <= n; ++k)
    for (int64_t l = 0; l < lanes; ++l) {
      double *ar = &x.re[k * lanes + l], *ai = &x.im[k * lanes + l];
      double *br = &x.re[(n - k) * lanes + l], *bi = &x.im[(n - k) * lanes + l];
      // even = a + conj(b); odd = (a - conj(b)) / w[k]
      double evenr = *ar + *br, eveni = *ai - *bi, offr = *ar - *br, offi = *ai + *bi;
      double oddr = offr * w.re[k] + offi * w.im[k], oddi = offi * w.re[k] - offr * w.im[k];
      *br = evenr + oddi;
      *bi = oddr - eveni;
      *ar = evenr - oddi;
      *ai = eveni + oddr;
    }
}

/// Loads a group of signals, beginning with `unit`.
static void load(const job *job, int64_t unit, hewn_planes x, int64_t lanes) {
  int64_t starts[LANES];
  for (int64_t l = 0; l < lanes; ++l) // superfluous lanes repeat the last signal
    starts[l] = offsetOf(job, least(unit + l, job->units - 1), job->extent, job->x_parts);
  int64_t step = job->inner * job->x_parts, n = job->plan->length, given = job->given;
  if (job->before == PAIRS) {
    loadPart(job, starts, 0, 2 * step, (given + 1) / 2, n, x.re, lanes);
    loadPart(job, starts, step, 2 * step, given / 2, n, x.im, lanes);
    return;
  }
  int64_t all = job->before == HALVES ? n + 1 : n;
  loadPart(job, starts, 0, step, given, all, x.re, lanes);
  loadPart(job, starts, 1, step, job->x_parts == 2 ? given : 0, all, x.im, lanes);
  if (job->before != HALVES && job->before != SPECTRUM)
    return;
  // The signal is real, so the imaginary parts of frequency 0 and of the highest frequency of an
  // even length do not contribute.
  memset(x.im, 0, (size_t)lanes * sizeof(double));
  if (job->before == HALVES) {
    memset(x.im + n * lanes, 0, (size_t)lanes * sizeof(double));
    joinHalves(x, job->plan->halves, n, lanes);
  }
  for (int64_t k = n / 2 + 1; job->before == SPECTRUM && k < n; ++k)
    for (int64_t l = 0; l < lanes; ++l) {
      x.re[k * lanes + l] = x.re[(n - k) * lanes + l];
      x.im[k * lanes + l] = -x.im[(n - k) * lanes + l];
    }
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

/// Computes from the spectrum of the complex signal x[2*j] + i*x[2*j + 1] of n elements the first
/// n + 1 frequencies of the real signal x, in place.
static void splitHalves(hewn_planes x, hewn_planes w, int64_t n, int64_t lanes) {
  memcpy(x.re + n * lanes, x.re, (size_t)lanes * sizeof(double));
  memcpy(x.im + n * lanes, x.im, (size_t)lanes * sizeof(double));
  for (int64_t k = 0; 2 * k <= n; ++k)
    for (int64_t l = 0; l < lanes; ++l) {
      double *ar = &x.re[k * lanes + l], *ai = &x.im[k * lanes + l];
      double *br = &x.re[(n - k) * lanes + l], *bi = &x.im[(n - k) * lanes + l];
      // even = (a + conj(b)) / 2; odd = w[k] * (a - conj(b)) / 2i
      double evenr = 0.5 * (*ar + *br), eveni = 0.5 * (*ai - *bi), offr = 0.5 * (*ai + *bi), offi = 0.5 * (*br - *ar);
      double oddr = offr * w.re[k] - offi * w.im[k], oddi = offr * w.im[k] + offi * w.re[k];
      *br = evenr - oddr;
      *bi = oddi - eveni;
      *ar = evenr + oddr;
      *ai = eveni + oddi;
    }
}

/// Stores the first `count` signals of a group, times `scale`. `mirrored` is the number of leading
/// frequencies of which the other ones are the conjugates.
#define DEFINE_STORE(name, type)                                                                                       \
  static void name(const job *job, int64_t unit, hewn_planes x, int64_t lanes, double scale, int64_t mirrored) {       \
    int64_t inner = job->inner, parts = job->y_parts, step = inner * parts, columns = job->columns;                    \
    for (int64_t l = 0; l < least(lanes, job->units - unit); ++l) {                                                    \
      type *to = (type *)job->y->data + offsetOf(job, unit + l, columns, parts);                                       \
      const double *re = x.re + l, *im = x.im + l;                                                                     \
      if (job->after == PAIRS)                                                                                         \
        for (int64_t k = 0; 2 * k < columns; ++k, to += 2 * inner) {                                                   \
          to[0] = (type)(re[k * lanes] * scale);                                                                       \
          to[inner] = (type)(im[k * lanes] * scale);                                                                   \
        }                                                                                                              \
      else if (job->after == REAL)                                                                                     \
        for (int64_t k = 0; k < columns; ++k, to += step)                                                              \
          to[0] = (type)(re[k * lanes] * scale);                                                                       \
      else {                                                                                                           \
        for (int64_t k = 0; k < mirrored; ++k, to += step) {                                                           \
          to[0] = (type)(re[k * lanes] * scale);                                                                       \
          to[1] = (type)(im[k * lanes] * scale);                                                                       \
        }                                                                                                              \
        for (int64_t k = mirrored; k < columns; ++k, to += step) {                                                     \
          to[0] = (type)(re[(job->n - k) * lanes] * scale);                                                            \
          to[1] = (type)(-im[(job->n - k) * lanes] * scale);                                                           \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }
DEFINE_STORE(storeFloats, float)
DEFINE_STORE(storeDoubles, double)

static void store(const job *job, int64_t unit, hewn_planes x, int64_t lanes) {
  int64_t mirrored = job->columns;
  if (job->after == HALVES) {
    mirrored = least(mirrored, job->plan->length + 1);
    splitHalves(x, job->plan->halves, job->plan->length, lanes);
  }
  double scale = job->inverse ? 1.0 / (double)job->n : 1.0;
  (job->y->dtype == HEWN_PART_FLOAT ? storeFloats : storeDoubles)(job, unit, x, lanes, scale, mirrored);
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

static hewn_planes swapped(hewn_planes x) {
  hewn_planes y = {x.im, x.re};
  return y;
}

/// Transforms one group of signals. `context` is null in tasks.
static void transform(const job *job, int64_t group, double *memory, hewn_context *context) {
  int64_t lanes = job->plan->by_line ? 1 : LANES, room = job->room;
  hewn_planes x = {memory, memory + room}, y = {memory + 2 * room, memory + 3 * room};
  load(job, group * lanes, x, lanes);
  hewn_planes from = job->inverse ? swapped(x) : x, other = job->inverse ? swapped(y) : y, z = from;
  if (job->plan->by_line)
    hewn_fourier_line(job->plan, from, other, memory + 4 * room, context);
  else
    z = hewn_fourier_group(job->plan, from, other);
  store(job, group * lanes, job->inverse ? swapped(z) : z, lanes);
}

static void transformShares(void *arg, int64_t begin, int64_t end) {
  const job *job = arg;
  for (int64_t share = begin; share < end; ++share)
    for (int64_t g = job->groups * share / job->shares; g < job->groups * (share + 1) / job->shares; ++g)
      transform(job, g, job->memory + share * (4 * job->room + job->scratch), NULL);
}

/// Returns true if signals are transformed one by one: if they do not fill the lanes, or if a group
/// of them would exceed the cache.
static int isByLine(int64_t n, int64_t units, int64_t inner) {
  if (n < 64 || !hewn_fourier_has_lines(n))
    return 0;
  return units < LANES / 2 || n > (inner >= LANES ? 8192 : 2048);
}

/// Sets the forms of a job's buffers. Returns the length of the complex transform.
static int64_t choose(job *job, int half) {
  int even = job->n % 2 == 0;
  if (job->inverse && half) {
    job->before = even ? HALVES : SPECTRUM;
    job->after = even ? PAIRS : REAL;
    return even ? job->n / 2 : job->n;
  }
  if (job->x_parts == 1 && even && !job->inverse) {
    job->before = PAIRS;
    job->after = HALVES;
    return job->n / 2;
  }
  job->before = job->x_parts == 1 ? REAL : COMPLEX;
  job->after = COMPLEX;
  return job->n;
}

int32_t hewn_part_dft(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                      int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0], *y = &outputs[0];
  int32_t axis = (int32_t)params[0], last = x->rank - 1;
  int half = params[2] != 0;
  if (x->dtype != y->dtype || (x->dtype != HEWN_PART_FLOAT && x->dtype != HEWN_PART_DOUBLE))
    return hewn_part_refuse(context, node, x->dtype);
  job job;
  memset(&job, 0, sizeof(job));
  job.x = x;
  job.y = y;
  job.inverse = params[1] != 0;
  job.n = *(const int64_t *)inputs[1].data;
  job.extent = x->dims[axis];
  job.columns = y->dims[axis];
  job.x_parts = x->dims[last];
  job.y_parts = y->dims[last];
  job.inner = hewn_part_product(y->dims, axis + 1, last);
  job.units = hewn_part_product(y->dims, 0, axis) * job.inner;
  int64_t columns = half && !job.inverse ? job.n / 2 + 1 : job.n;
  if (job.n < 0 || job.columns != columns)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "a transform of {a} elements has no {b} results", job.n,
                        job.columns);
  if (job.units == 0 || job.n == 0)
    return HEWN_OK;
  int64_t used = half && job.inverse ? job.n / 2 + 1 : job.n;
  job.given = least(job.extent, used);
  int64_t length = choose(&job, half), threads = hewn_rt_threads(context);
  int halved = job.before == HALVES || job.after == HALVES;
  job.plan = hewn_fourier_planned(context, node, length, isByLine(length, job.units, job.inner), halved);
  if (!job.plan)
    return hewn_rt_code(context);
  int64_t lanes = job.plan->by_line ? 1 : LANES;
  job.groups = (job.units + lanes - 1) / lanes;
  // Long signals that are fewer than threads are divided among the threads one after another.
  int shared = job.plan->by_line && threads > 1 && job.groups < threads && length >= 8192;
  job.shares = shared ? 1 : least(threads, job.groups);
  job.room = hewn_size_mul((hewn_fourier_room(job.plan) + 7) / 8, 8);
  job.scratch = hewn_fourier_scratch(job.plan);
  int64_t each = hewn_size_add(hewn_size_mul(4, job.room), hewn_size_mul(job.scratch, shared ? threads : 1));
  job.memory = hewn_rt_alloc(context, hewn_size_mul(hewn_size_mul(each, job.shares), (int64_t)sizeof(double)), 64);
  if (!job.memory)
    return hewn_rt_code(context);
  if (job.shares > 1)
    (void)hewn_rt_parallel_for(context, job.shares, transformShares, &job);
  for (int64_t g = 0; job.shares == 1 && g < job.groups; ++g)
    transform(&job, g, job.memory, shared ? context : NULL);
  hewn_rt_free(context, job.memory);
  return hewn_rt_code(context);
}
