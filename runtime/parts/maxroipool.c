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

/// What a box is cut into, along one dim: cells of `size` elements from `start` on in a dim of `extent`.
typedef struct cells {
  int64_t count, size, start, extent;
} cells;

static void rangeOf(const cells *of, int64_t i, int64_t *from, int64_t *to) {
  cellRange(i, of->count, of->size, of->start, of->extent, from, to);
}

static double maximum(const hewn_part_tensor *x, int64_t plane, int64_t top, int64_t bottom, int64_t left,
                      int64_t right, int64_t width) {
  double best = 0; // Of a cell that is empty.
  for (int64_t r = top; r < bottom; ++r)
    for (int64_t k = left; k < right; ++k) {
      double value = hewn_part_load(x->data, plane + r * width + k, x->dtype);
      if ((r == top && k == left) || value > best)
        best = value;
    }
  return best;
}

/// A row of cells of a plane of float32s. `line` has room for a line of the plane: the maxima down each column of it, which cells share.
/// NaN counts where it comes first in a cell, as in `maximum`.
static void rowOfFloats(const float *plane, int64_t top, int64_t bottom, const cells *across, float *line, float *to) {
  int64_t first, last, left, right, width = across->extent;
  rangeOf(across, 0, &first, &right);
  rangeOf(across, across->count - 1, &left, &last);
  for (int64_t k = first; k < last; ++k)
    line[k] = -INFINITY;
  for (int64_t r = top; r < bottom; ++r)
    for (int64_t k = first; k < last; ++k)
      line[k] = plane[r * width + k] > line[k] ? plane[r * width + k] : line[k];
  for (int64_t j = 0; j < across->count; ++j) {
    rangeOf(across, j, &left, &right);
    float best = top < bottom && left < right ? line[left] : 0; // Of a cell that is empty.
    for (int64_t k = left + 1; k < right && top < bottom; ++k)
      best = line[k] > best ? line[k] : best;
    int isNan = top < bottom && left < right && plane[top * width + left] != plane[top * width + left];
    to[j] = isNan ? plane[top * width + left] : best;
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
  float *line = isFloat ? hewn_rt_alloc(context, hewn_size_mul(width, (int64_t)sizeof(float)), 64) : NULL;
  if (isFloat && width > 0 && !line)
    return hewn_rt_code(context);
  for (int64_t n = 0; n < rois->dims[0]; ++n) {
    int64_t box[5];
    box[0] = roundHalfAway(hewn_part_load(rois->data, n * 5, rois->dtype));
    for (int k = 1; k < 5; ++k)
      box[k] = roundHalfAway(hewn_part_load(rois->data, n * 5 + k, rois->dtype) * scale);
    if (box[0] < 0 || box[0] >= x->dims[0]) {
      hewn_rt_free(context, line);
      return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "batch index {a} is outside of [0, {b})", box[0],
                          x->dims[0]);
    }
    cells across = {y->dims[3], box[3] - box[1] + 1, box[1], width};
    cells down = {y->dims[2], box[4] - box[2] + 1, box[2], height};
    if (across.size < 1)
      across.size = 1;
    if (down.size < 1)
      down.size = 1;
    for (int64_t c = 0; c < channels; ++c) {
      int64_t plane = (box[0] * channels + c) * height * width;
      for (int64_t i = 0; i < down.count; ++i) {
        int64_t top, bottom, left, right;
        rangeOf(&down, i, &top, &bottom);
        if (isFloat)
          rowOfFloats((const float *)x->data + plane, top, bottom, &across, line, (float *)y->data + at);
        for (int64_t j = 0; j < across.count && !isFloat; ++j) {
          rangeOf(&across, j, &left, &right);
          hewn_part_store(y->data, at + j, y->dtype, maximum(x, plane, top, bottom, left, right, width));
        }
        at += across.count;
      }
    }
  }
  hewn_rt_free(context, line);
  return HEWN_OK;
}
