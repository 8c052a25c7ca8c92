// SPDX-License-Identifier: Apache-2.0
// MaxRoiPool: the maxima of the cells that boxes of a feature map are cut into.
#include "element.h"

#include <math.h>

static int64_t roundHalfAway(double value) {
  if (!(value > -1e15 && value < 1e15))
    return 0;
  return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

static int64_t clampTo(int64_t value, int64_t high) { return value < 0 ? 0 : value > high ? high : value; }

/// Cell `i` of `cells` in a box of `size` from `start`: [from, to) within [0, extent].
static void cellRange(int64_t i, int64_t cells, int64_t size, int64_t start, int64_t extent, int64_t *from,
                      int64_t *to) {
  *from = clampTo(i * size / cells + start, extent);
  *to = clampTo(((i + 1) * size + cells - 1) / cells + start, extent);
}

/// [from, to) of a cell.
typedef struct range {
  int64_t from, to;
} range;

/// The `cells` of a box of `size` from `start`.
static void rangesOf(range *ranges, int64_t cells, int64_t size, int64_t start, int64_t extent) {
  for (int64_t i = 0; i < cells; ++i)
    cellRange(i, cells, size < 1 ? 1 : size, start, extent, &ranges[i].from, &ranges[i].to);
}

static double maximum(const hewn_part_tensor *x, int64_t plane, range rows, range columns, int64_t width) {
  double best = 0; // Of a cell that is empty.
  for (int64_t r = rows.from; r < rows.to; ++r)
    for (int64_t k = columns.from; k < columns.to; ++k) {
      double value = hewn_part_load(x->data, plane + r * width + k, x->dtype);
      if ((r == rows.from && k == columns.from) || value > best)
        best = value;
    }
  return best;
}

/// How many columns are gone down together.
enum { TOGETHER = 8 };

/// The columns that the cells of a box read in lines of `width`: some more than they have, so that TOGETHER divides them, where there are so
/// many.
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

/// The maxima down `count` columns of some lines, whatever is NaN left out.
static void maximaDown(const float *from, int64_t width, int64_t lines, int64_t count, float *to) {
  int64_t k = 0;
  for (; k + TOGETHER <= count; k += TOGETHER) {
    float best[TOGETHER];
    for (int j = 0; j < TOGETHER; ++j)
      best[j] = -INFINITY;
    for (int64_t r = 0; r < lines; ++r)
      for (int j = 0; j < TOGETHER; ++j)
        best[j] = larger(from[r * width + k + j], best[j]);
    memcpy(to + k, best, sizeof(best));
  }
  for (; k < count; ++k) {
    to[k] = -INFINITY;
    for (int64_t r = 0; r < lines; ++r)
      to[k] = larger(from[r * width + k], to[k]);
  }
}

/// A row of cells of a plane of float32s. `line` has room for the columns: the maxima down each of them, which cells share. NaN counts where
/// it comes first in a cell, as in `maximum`.
static void rowOfFloats(const float *plane, int64_t width, range rows, range columns, const range *across,
                        int64_t cells, float *line, float *to) {
  const float *top = plane + rows.from * width;
  maximaDown(top + columns.from, width, rows.to - rows.from, columns.to - columns.from, line);
  for (int64_t j = 0; j < cells; ++j) {
    int64_t left = across[j].from, right = across[j].to;
    if (rows.from >= rows.to || left >= right) {
      to[j] = 0; // Of a cell that is empty.
      continue;
    }
    const float *maxima = line - columns.from;
    float corner = top[left], best = maxima[left];
    for (int64_t k = left + 1; k < right; ++k)
      best = larger(maxima[k], best);
    to[j] = corner != corner ? corner : best;
  }
}

int32_t hewn_part_maxroipool(hewn_context *context, const char *node, int32_t num_inputs,
                             const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                             const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0], *rois = &inputs[1];
  if (!hewn_part_is_ordered(x->dtype))
    return hewn_part_refuse(context, node, x->dtype);
  hewn_part_tensor *y = &outputs[0];
  int64_t channels = x->dims[1], height = x->dims[2], width = x->dims[3], at = 0;
  double scale = hewn_part_float(params[0]);
  int isFloat = x->dtype == HEWN_PART_FLOAT;
  if (rois->dims[0] == 0 || channels == 0)
    return HEWN_OK;
  int64_t cells = hewn_size_add(y->dims[2], y->dims[3]);
  range *down = hewn_rt_alloc(context, hewn_size_mul(cells, (int64_t)sizeof(range)), 64);
  float *line = hewn_rt_alloc(context, hewn_size_mul(width, (int64_t)sizeof(float)), 64);
  if (!down || !line)
    return hewn_rt_code(context);
  range *across = down + y->dims[2];
  for (int64_t n = 0; n < rois->dims[0]; ++n) {
    int64_t box[5];
    box[0] = roundHalfAway(hewn_part_load(rois->data, n * 5, rois->dtype));
    for (int k = 1; k < 5; ++k)
      box[k] = roundHalfAway(hewn_part_load(rois->data, n * 5 + k, rois->dtype) * scale);
    if (box[0] < 0 || box[0] >= x->dims[0]) {
      hewn_rt_free(context, down);
      hewn_rt_free(context, line);
      return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "batch index {a} is outside of [0, {b})", box[0],
                          x->dims[0]);
    }
    rangesOf(across, y->dims[3], box[3] - box[1] + 1, box[1], width);
    rangesOf(down, y->dims[2], box[4] - box[2] + 1, box[2], height);
    range columns = columnsOf(across, y->dims[3], width);
    for (int64_t c = 0; c < channels; ++c) {
      int64_t plane = (box[0] * channels + c) * height * width;
      for (int64_t i = 0; i < y->dims[2]; ++i, at += y->dims[3]) {
        if (isFloat)
          rowOfFloats((const float *)x->data + plane, width, down[i], columns, across, y->dims[3], line,
                      (float *)y->data + at);
        for (int64_t j = 0; j < y->dims[3] && !isFloat; ++j)
          hewn_part_store(y->data, at + j, y->dtype, maximum(x, plane, down[i], across[j], width));
      }
    }
  }
  hewn_rt_free(context, down);
  hewn_rt_free(context, line);
  return HEWN_OK;
}
