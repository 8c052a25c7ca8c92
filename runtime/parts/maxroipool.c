// SPDX-License-Identifier: Apache-2.0
// MaxRoiPool: the maxima of the cells that boxes of a feature map are cut into.
#include "element.h"

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
  for (int64_t n = 0; n < rois->dims[0]; ++n) {
    int64_t box[5];
    box[0] = roundHalfAway(hewn_part_load(rois->data, n * 5, rois->dtype));
    for (int k = 1; k < 5; ++k)
      box[k] = roundHalfAway(hewn_part_load(rois->data, n * 5 + k, rois->dtype) * scale);
    if (box[0] < 0 || box[0] >= x->dims[0])
      return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "batch index {a} is outside of [0, {b})", box[0],
                          x->dims[0]);
    int64_t boxWidth = box[3] - box[1] + 1, boxHeight = box[4] - box[2] + 1;
    if (boxWidth < 1)
      boxWidth = 1;
    if (boxHeight < 1)
      boxHeight = 1;
    for (int64_t c = 0; c < channels; ++c) {
      int64_t plane = (box[0] * channels + c) * height * width;
      for (int64_t i = 0; i < y->dims[2]; ++i)
        for (int64_t j = 0; j < y->dims[3]; ++j, ++at) {
          int64_t top, bottom, left, right;
          cellRange(i, y->dims[2], boxHeight, box[2], height, &top, &bottom);
          cellRange(j, y->dims[3], boxWidth, box[1], width, &left, &right);
          double best = 0; // Of a cell that is empty.
          for (int64_t r = top; r < bottom; ++r)
            for (int64_t k = left; k < right; ++k) {
              double value = hewn_part_load(x->data, plane + r * width + k, x->dtype);
              if ((r == top && k == left) || value > best)
                best = value;
            }
          hewn_part_store(y->data, at, y->dtype, best);
        }
    }
  }
  return HEWN_OK;
}
