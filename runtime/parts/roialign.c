// SPDX-License-Identifier: Apache-2.0
// RoiAlign: boxes of a feature map sampled to one size, by bilinear interpolation on a grid whose density may depend on
// the box.
#include "element.h"

typedef struct plane {
  const void *data;
  int64_t offset; ///< of the first element
  int64_t height, width;
  int32_t dtype;
} plane;

typedef struct bin {
  double top, left;      ///< of the bin
  double stepY, stepX;   ///< between samples
  int64_t rows, columns; ///< samples
  int takesMax;
} bin;

/// The four neighbours of a position times their weights.
static void corners(const plane *p, double y, double x, double out[4]) {
  memset(out, 0, 4 * sizeof(double));
  if (!(y >= -1.0 && y <= (double)p->height && x >= -1.0 && x <= (double)p->width))
    return; // NaN too
  if (y < 0)
    y = 0;
  if (x < 0)
    x = 0;
  int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;
  if (y0 >= p->height - 1) {
    y0 = y1 = p->height - 1;
    y = (double)y0;
  }
  if (x0 >= p->width - 1) {
    x0 = x1 = p->width - 1;
    x = (double)x0;
  }
  double ly = y - (double)y0, lx = x - (double)x0;
  out[0] = (1 - ly) * (1 - lx) * hewn_part_load(p->data, p->offset + y0 * p->width + x0, p->dtype);
  out[1] = (1 - ly) * lx * hewn_part_load(p->data, p->offset + y0 * p->width + x1, p->dtype);
  out[2] = ly * (1 - lx) * hewn_part_load(p->data, p->offset + y1 * p->width + x0, p->dtype);
  out[3] = ly * lx * hewn_part_load(p->data, p->offset + y1 * p->width + x1, p->dtype);
}

static double sampleBin(const plane *p, const bin *b) {
  double result = 0, c[4];
  int first = 1;
  for (int64_t i = 0; i < b->rows; ++i)
    for (int64_t j = 0; j < b->columns; ++j) {
      corners(p, b->top + ((double)i + 0.5) * b->stepY, b->left + ((double)j + 0.5) * b->stepX, c);
      if (!b->takesMax) {
        result += c[0] + c[1] + c[2] + c[3];
        continue;
      }
      for (int k = 0; k < 4; ++k) {
        if (first || c[k] > result)
          result = c[k];
        first = 0;
      }
    }
  int64_t count = b->rows * b->columns;
  return b->takesMax || count < 1 ? result : result / (double)count;
}

static int64_t samples(int64_t ratio, double binSize) {
  if (ratio > 0)
    return ratio;
  int64_t whole = binSize > 0 && binSize < 1e6 ? (int64_t)binSize : 0;
  return (double)whole < binSize && binSize < 1e6 ? whole + 1 : whole;
}

int32_t hewn_part_roialign(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                           int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0], *rois = &inputs[1], *batches = &inputs[2];
  if (!hewn_part_is_ordered(x->dtype))
    return hewn_part_refuse(context, node, x->dtype);
  hewn_part_tensor *y = &outputs[0];
  int64_t channels = x->dims[1], height = y->dims[2], width = y->dims[3], at = 0;
  int halfPixel = params[0] != 0;
  double scale = hewn_part_float(params[3]), offset = halfPixel ? 0.5 : 0.0;
  for (int64_t n = 0; n < rois->dims[0]; ++n) {
    int64_t batch = ((const int64_t *)batches->data)[n];
    if (batch < 0 || batch >= x->dims[0])
      return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "batch index {a} is outside of [0, {b})", batch,
                          x->dims[0]);
    double box[4];
    for (int k = 0; k < 4; ++k)
      box[k] = hewn_part_load(rois->data, n * 4 + k, rois->dtype) * scale - offset;
    double boxWidth = box[2] - box[0], boxHeight = box[3] - box[1];
    if (!halfPixel && !(boxWidth >= 1))
      boxWidth = 1;
    if (!halfPixel && !(boxHeight >= 1))
      boxHeight = 1;
    double binHeight = boxHeight / (double)height, binWidth = boxWidth / (double)width;
    bin b = {0, 0, 0, 0, samples(params[2], binHeight), samples(params[2], binWidth), params[1] != 0};
    b.stepY = binHeight / (double)(b.rows > 0 ? b.rows : 1);
    b.stepX = binWidth / (double)(b.columns > 0 ? b.columns : 1);
    for (int64_t c = 0; c < channels; ++c) {
      plane p = {x->data, (batch * channels + c) * x->dims[2] * x->dims[3], x->dims[2], x->dims[3], x->dtype};
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j, ++at) {
          b.top = box[1] + (double)i * binHeight;
          b.left = box[0] + (double)j * binWidth;
          hewn_part_store(y->data, at, y->dtype, p.height > 0 && p.width > 0 ? sampleBin(&p, &b) : 0);
        }
    }
  }
  return HEWN_OK;
}
