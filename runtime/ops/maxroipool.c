// SPDX-License-Identifier: Apache-2.0
// MaxRoiPool: the maxima of the cells into which boxes of a feature map are divided.
#include "element.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

static int64_t roundHalfAway(double value) {
  if (!(value > -1e15 && value < 1e15))
    return 0;
  return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

static int64_t clampTo(int64_t value, int64_t high) { return value < 0 ? 0 : value > high ? high : value; }

/// Computes the range [from, to) of elements that cell `i` covers, if a box of `size` elements at
/// `start` is divided into `cells` cells. The range is clamped to [0, extent]. Both bounds increase
/// monotonically with `i`. `size` has up to 51 bits, so i * size could overflow; quotient and
/// remainder of size / cells are multiplied separately.
static void cellRange(int64_t i, int64_t cells, int64_t size, int64_t start, int64_t extent, int64_t *from,
                      int64_t *to) {
  int64_t step = size / cells, rest = size % cells;
  *from = clampTo(i * step + i * rest / cells + start, extent);
  *to = clampTo((i + 1) * step + ((i + 1) * rest + cells - 1) / cells + start, extent);
}

/// The elements [from, to) of the feature map that a cell covers in one dim.
typedef struct range {
  int64_t from, to;
} range;

/// Computes the ranges of all cells into which a box of `size` elements at `start` is divided.
static void rangesOf(range *ranges, int64_t cells, int64_t size, int64_t start, int64_t extent) {
  for (int64_t i = 0; i < cells; ++i)
    cellRange(i, cells, size < 1 ? 1 : size, start, extent, &ranges[i].from, &ranges[i].to);
}

static double maximum(const hewn_part_tensor *x, int64_t plane, range rows, range columns, int64_t width) {
  double best = 0; // result of an empty cell
  for (int64_t r = rows.from; r < rows.to; ++r)
    for (int64_t k = columns.from; k < columns.to; ++k) {
      double value = hewn_part_load(x->data, plane + r * width + k, x->dtype);
      if ((r == rows.from && k == columns.from) || value > best)
        best = value;
    }
  return best;
}

/// Number of columns (or planes) of a feature map that are processed at once.
enum { TOGETHER = 8 };

/// Returns the range of columns that the cells of a box read in rows of `width` elements. Extends
/// the range to a multiple of TOGETHER columns if the row is long enough.
static range columnsOf(const range *across, int64_t cells, int64_t width) {
  range c = {across[0].from, across[cells - 1].to};
  int64_t count = (c.to - c.from + TOGETHER - 1) / TOGETHER * TOGETHER;
  if (c.from < c.to && count <= width) {
    c.from = c.from < width - count ? c.from : width - count;
    c.to = c.from + count;
  }
  return c;
}

static inline float larger(float a, float b) { return a > b ? a : b; }

/// Computes the maximum of each of `count` columns of a feature map over some rows. Ignores NaN.
static void maximaDown(const float *from, int64_t width, int64_t lines, int64_t count, float *to) {
  int64_t k = 0;
  for (; k + TOGETHER <= count; k += TOGETHER) {
    float best[TOGETHER];
    for (int j = 0; j < TOGETHER; ++j)
      best[j] = -__builtin_inff();
    for (int64_t r = 0; r < lines; ++r)
      for (int j = 0; j < TOGETHER; ++j)
        best[j] = larger(from[r * width + k + j], best[j]);
    memcpy(to + k, best, sizeof(best));
  }
  for (; k < count; ++k) {
    to[k] = -__builtin_inff();
    for (int64_t r = 0; r < lines; ++r)
      to[k] = larger(from[r * width + k], to[k]);
  }
}

/// Computes a row of cells of a float32 plane. `line` has space for one element per column: the
/// column maxima, which cells share. A NaN counts only as the first element of a cell, as in
/// `maximum`.
static void rowOfFloats(const float *plane, int64_t width, range rows, range columns, const range *across,
                        int64_t cells, float *line, float *to) {
  const float *top = plane + rows.from * width;
  maximaDown(top + columns.from, width, rows.to - rows.from, columns.to - columns.from, line);
  for (int64_t j = 0; j < cells; ++j) {
    int64_t left = across[j].from, right = across[j].to;
    if (rows.from >= rows.to || left >= right) {
      to[j] = 0; // result of an empty cell
      continue;
    }
    const float *maxima = line - columns.from;
    float corner = top[left], best = maxima[left];
    for (int64_t k = left + 1; k < right; ++k)
      best = larger(maxima[k], best);
    to[j] = corner != corner ? corner : best;
  }
}

/// Operands that are common to the cells of a box.
typedef struct box {
  const hewn_part_tensor *x;
  int64_t image, cellsDown, cellsAcross;
  const range *down, *across;
  range columns;
  /// Scratch memory for the column maxima of TOGETHER planes.
  float *lines;
} box;

/// Computes the cells of a box in `count` planes from `channel` on, for any element type. Writes
/// them to `y` at offset `to`, one plane after another.
static void poolPlanes(const box *b, int64_t channel, int64_t count, const hewn_part_tensor *y, int64_t to) {
  int64_t height = b->x->dims[2], width = b->x->dims[3];
  for (int64_t c = channel; c < channel + count; ++c) {
    int64_t plane = (b->image * b->x->dims[1] + c) * height * width;
    for (int64_t i = 0; i < b->cellsDown; ++i, to += b->cellsAcross) {
      if (y->dtype == HEWN_PART_FLOAT)
        rowOfFloats((const float *)b->x->data + plane, width, b->down[i], b->columns, b->across, b->cellsAcross,
                    b->lines, (float *)y->data + to);
      for (int64_t j = 0; j < b->cellsAcross && y->dtype != HEWN_PART_FLOAT; ++j)
        hewn_part_store(y->data, to + j, y->dtype, maximum(b->x, plane, b->down[i], b->across[j], width));
    }
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
/// Transposes an 8x8 block of floats.
__attribute__((target("avx2"), always_inline)) static inline void transpose(__m256 v[TOGETHER]) {
  __m256 pairs[TOGETHER], fours[TOGETHER];
  for (int i = 0; i < TOGETHER; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
  }
  for (int i = 0; i < TOGETHER; i += 4)
    for (int k = 0; k < 2; ++k) {
      fours[i + 2 * k] = _mm256_shuffle_ps(pairs[i + k], pairs[i + 2 + k], 0x44);
      fours[i + 2 * k + 1] = _mm256_shuffle_ps(pairs[i + k], pairs[i + 2 + k], 0xee);
    }
  for (int i = 0; i < TOGETHER / 2; ++i) {
    v[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    v[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
}

/// Computes a row of cells of TOGETHER planes, which are `size` elements apart: first the column
/// maxima, which cells share, then maxima along the row with one plane per lane. The result of each
/// plane is that of `rowOfFloats`; results of planes are `apart` elements apart.
__attribute__((target("avx2"))) static void rowOfPlanes(const box *b, const float *top, int64_t size, range rows,
                                                        float *to, int64_t apart) {
  int64_t width = b->x->dims[3];
  range columns = b->columns;
  for (int64_t k = 0; k < columns.to - columns.from; k += TOGETHER) {
    const float *from = top + columns.from + k;
    __m256 best[TOGETHER];
    for (int c = 0; c < TOGETHER; ++c)
      best[c] = _mm256_set1_ps(-__builtin_inff());
    for (int64_t r = rows.from; r < rows.to; ++r, from += width)
      for (int c = 0; c < TOGETHER; ++c)
        best[c] = _mm256_max_ps(_mm256_loadu_ps(from + c * size), best[c]);
    transpose(best);
    for (int j = 0; j < TOGETHER; ++j)
      _mm256_storeu_ps(b->lines + (k + j) * TOGETHER, best[j]);
  }
  for (int64_t j = 0; j < b->cellsAcross; ++j) {
    int64_t left = b->across[j].from, right = b->across[j].to;
    __m256 best = _mm256_setzero_ps(); // result of an empty cell
    if (rows.from < rows.to && left < right) {
      const float *maxima = b->lines + (left - columns.from) * TOGETHER;
      float corners[TOGETHER];
      best = _mm256_loadu_ps(maxima);
      for (int64_t k = 1; k < right - left; ++k)
        best = _mm256_max_ps(_mm256_loadu_ps(maxima + k * TOGETHER), best);
      for (int c = 0; c < TOGETHER; ++c)
        corners[c] = top[c * size + left];
      __m256 corner = _mm256_loadu_ps(corners);
      best = _mm256_blendv_ps(best, corner, _mm256_cmp_ps(corner, corner, _CMP_UNORD_Q));
    }
    float each[TOGETHER];
    _mm256_storeu_ps(each, best);
    for (int c = 0; c < TOGETHER; ++c)
      to[c * apart + j] = each[c];
  }
}

/// Computes the cells of a box in full groups of TOGETHER planes. Returns the number of planes in
/// these groups.
static int64_t poolTogether(const hewn_context *context, const box *b, const hewn_part_tensor *y, int64_t to) {
  int64_t channels = b->x->dims[1], width = b->x->dims[3], size = b->x->dims[2] * width, c = 0;
  int fits = y->dtype == HEWN_PART_FLOAT && (b->columns.to - b->columns.from) % TOGETHER == 0;
  if (!fits || !(hewn_rt_cpu(context) & HEWN_CPU_X86_64_V3))
    return 0;
  int64_t apart = b->cellsDown * b->cellsAcross;
  for (; c + TOGETHER <= channels; c += TOGETHER) {
    const float *planes = (const float *)b->x->data + (b->image * channels + c) * size;
    for (int64_t i = 0; i < b->cellsDown; ++i)
      rowOfPlanes(b, planes + b->down[i].from * width, size, b->down[i],
                  (float *)y->data + to + c * apart + i * b->cellsAcross, apart);
  }
  return c;
}
#else
static int64_t poolTogether(const hewn_context *context, const box *b, const hewn_part_tensor *y, int64_t to) {
  (void)context;
  (void)b;
  (void)y;
  (void)to;
  return 0;
}
#endif

int32_t hewn_part_maxroipool(hewn_context *context, const char *node, int32_t num_inputs,
                             const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                             const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0], *rois = &inputs[1];
  if (!hewn_part_is_ordered(x->dtype))
    return hewn_part_refuse(context, node, x->dtype);
  hewn_part_tensor *y = &outputs[0];
  int64_t channels = x->dims[1], height = x->dims[2], width = x->dims[3];
  double scale = hewn_part_float(params[0]);
  if (rois->dims[0] == 0 || channels == 0)
    return HEWN_OK;
  int64_t cells = hewn_size_add(y->dims[2], y->dims[3]);
  range *down = hewn_rt_alloc(context, hewn_size_mul(cells, (int64_t)sizeof(range)), 64);
  float *lines = hewn_rt_alloc(context, hewn_size_mul(width, TOGETHER * (int64_t)sizeof(float)), 64);
  if (!down || !lines)
    return hewn_rt_code(context);
  range *across = down + y->dims[2];
  for (int64_t n = 0; n < rois->dims[0]; ++n) {
    int64_t roi[5];
    roi[0] = roundHalfAway(hewn_part_load(rois->data, n * 5, rois->dtype));
    for (int k = 1; k < 5; ++k)
      roi[k] = roundHalfAway(hewn_part_load(rois->data, n * 5 + k, rois->dtype) * scale);
    if (roi[0] < 0 || roi[0] >= x->dims[0]) {
      hewn_rt_free(context, down);
      hewn_rt_free(context, lines);
      return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "batch index {a} is outside of [0, {b})", roi[0],
                          x->dims[0]);
    }
    rangesOf(across, y->dims[3], roi[3] - roi[1] + 1, roi[1], width);
    rangesOf(down, y->dims[2], roi[4] - roi[2] + 1, roi[2], height);
    box b = {x, roi[0], y->dims[2], y->dims[3], down, across, columnsOf(across, y->dims[3], width), lines};
    int64_t plane = y->dims[2] * y->dims[3], to = n * channels * plane;
    int64_t done = poolTogether(context, &b, y, to);
    poolPlanes(&b, done, channels - done, y, to + done * plane);
  }
  hewn_rt_free(context, down);
  hewn_rt_free(context, lines);
  return HEWN_OK;
}
