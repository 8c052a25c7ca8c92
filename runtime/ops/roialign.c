// SPDX-License-Identifier: Apache-2.0
// RoiAlign: resamples boxes of a feature map to a fixed size, by bilinear interpolation at regular
// sample points whose density may depend on the box.
#include "element.h"

/// Limit of samples per bin: the number for a box of 8192 x 8192 elements that is reduced to one
/// bin. A much larger number, which a box or an attribute could request, would take minutes per
/// element of the result.
static const int64_t kMostSamples = (int64_t)1 << 26;

/// Position of a sample of the feature map along one dim: two adjacent elements and their weights
/// for interpolation. For a sample outside of the feature map, `isNowhere` is set and both weights
/// are 0.
typedef struct place {
  int64_t low, high; ///< indices of the two elements
  double weightLow, weightHigh;
  float narrowLow, narrowHigh; ///< the weights as float32
  int isNowhere;
} place;

/// Returns the position of a sample at coordinate `at` in a dim of `extent` elements.
static place placeOf(double at, int64_t extent) {
  place p = {0, 0, 0, 0, 0, 0, 1};
  if (!(at >= -1.0 && at <= (double)extent) || extent < 1)
    return p; // the sample is outside, or its coordinate is NaN
  if (at < 0)
    at = 0;
  p.low = (int64_t)at;
  p.high = p.low + 1;
  if (p.low >= extent - 1) {
    p.low = p.high = extent - 1;
    at = (double)p.low;
  }
  p.weightHigh = at - (double)p.low;
  p.weightLow = 1 - p.weightHigh;
  p.narrowLow = (float)p.weightLow;
  p.narrowHigh = (float)p.weightHigh;
  p.isNowhere = 0;
  return p;
}

/// Computes the positions of `count` samples, `step` apart, in each of `bins` bins of `size` from
/// `start` on.
static void placesOf(place *places, int64_t bins, int64_t count, double start, double size, double step,
                     int64_t extent) {
  for (int64_t i = 0; i < bins; ++i)
    for (int64_t j = 0; j < count; ++j)
      *places++ = placeOf(start + (double)i * size + ((double)j + 0.5) * step, extent);
}

/// Returns the mean of a bin's samples of a float32 plane with rows of `width` elements.
static float meanOfFloats(const float *plane, int64_t width, const place *rows, int64_t rowCount, const place *columns,
                          int64_t columnCount) {
  float sum = 0;
  for (int64_t i = 0; i < rowCount; ++i) {
    const place *y = &rows[i];
    const float *low = plane + y->low * width, *high = plane + y->high * width;
    float line = 0;
    if (y->isNowhere)
      continue; // 0 times element 0 could be NaN, since the element may be infinite
    for (int64_t j = 0; j < columnCount; ++j) {
      const place *c = &columns[j];
      if (c->isNowhere)
        continue;
      line += y->narrowLow * (c->narrowLow * low[c->low] + c->narrowHigh * low[c->high]) +
              y->narrowHigh * (c->narrowLow * high[c->low] + c->narrowHigh * high[c->high]);
    }
    sum += line;
  }
  int64_t count = rowCount * columnCount;
  return count < 1 ? 0 : sum / (float)count;
}

/// The elements [first, end) of a feature map's row that the samples read.
typedef struct span {
  int64_t first, end;
} span;

static span spanOf(const place *places, int64_t count) {
  span s = {INT64_MAX, 0};
  for (int64_t j = 0; j < count; ++j) {
    if (places[j].isNowhere)
      continue;
    s.first = places[j].low < s.first ? places[j].low : s.first;
    s.end = places[j].high >= s.end ? places[j].high + 1 : s.end;
  }
  return s;
}

/// Computes a row of bins. First interpolates vertically: adds the weighted rows of the plane into
/// `line`. Then interpolates `line` horizontally at each bin's samples. `across` has `columnCount`
/// samples for each of `bins` bins, within `read`.
static void meansOfLine(float *to, float *restrict line, const float *plane, int64_t width, const place *rows,
                        int64_t rowCount, const place *across, int64_t bins, int64_t columnCount, span read) {
  for (int64_t i = read.first; i < read.end; ++i)
    line[i - read.first] = 0;
  for (int64_t i = 0; i < rowCount; ++i) {
    const float *low = plane + rows[i].low * width, *high = plane + rows[i].high * width;
    float weightLow = rows[i].narrowLow, weightHigh = rows[i].narrowHigh;
    if (rows[i].isNowhere)
      continue; // 0 times element 0 could be NaN, since the element may be infinite
    for (int64_t x = read.first; x < read.end; ++x)
      line[x - read.first] += weightLow * low[x] + weightHigh * high[x];
  }
  float count = (float)(rowCount * columnCount);
  for (int64_t bin = 0; bin < bins; ++bin) {
    float sum = 0;
    for (int64_t j = 0; j < columnCount; ++j, ++across)
      if (!across->isNowhere)
        sum +=
            across->narrowLow * line[across->low - read.first] + across->narrowHigh * line[across->high - read.first];
    to[bin] = sum / count;
  }
}

/// Returns the maximum of the weighted neighbors of a bin's samples, for a float32 plane.
static float maxOfFloats(const float *plane, int64_t width, const place *rows, int64_t rowCount, const place *columns,
                         int64_t columnCount) {
  float result = 0;
  int first = 1;
  for (int64_t i = 0; i < rowCount; ++i) {
    const place *y = &rows[i];
    const float *low = plane + y->low * width, *high = plane + y->high * width;
    for (int64_t j = 0; j < columnCount; ++j) {
      const place *c = &columns[j];
      float corners[4] = {0, 0, 0, 0};
      // 0 times element 0 could be NaN, since the element may be infinite.
      if (!(y->isNowhere | c->isNowhere)) {
        corners[0] = y->narrowLow * c->narrowLow * low[c->low];
        corners[1] = y->narrowLow * c->narrowHigh * low[c->high];
        corners[2] = y->narrowHigh * c->narrowLow * high[c->low];
        corners[3] = y->narrowHigh * c->narrowHigh * high[c->high];
      }
      result = first ? corners[0] : result;
      first = 0;
      for (int k = 0; k < 4; ++k)
        result = corners[k] > result ? corners[k] : result;
    }
  }
  return result;
}

/// Returns the result of a bin for any element type: the mean of its samples, or the maximum of
/// their weighted neighbors. The plane's rows of `width` elements begin at `offset`.
static double sampleBin(const hewn_part_tensor *x, int64_t offset, int64_t width, const place *rows, int64_t rowCount,
                        const place *columns, int64_t columnCount, int takesMax) {
  double result = 0;
  int first = 1;
  for (int64_t i = 0; i < rowCount; ++i) {
    const place *y = &rows[i];
    int64_t low = offset + y->low * width, high = offset + y->high * width;
    for (int64_t j = 0; j < columnCount; ++j) {
      const place *c = &columns[j];
      double corners[4] = {
          hewn_part_load(x->data, low + c->low, x->dtype), hewn_part_load(x->data, low + c->high, x->dtype),
          hewn_part_load(x->data, high + c->low, x->dtype), hewn_part_load(x->data, high + c->high, x->dtype)};
      const double weights[4] = {y->weightLow * c->weightLow, y->weightLow * c->weightHigh,
                                 y->weightHigh * c->weightLow, y->weightHigh * c->weightHigh};
      if (y->isNowhere || c->isNowhere)
        memset(corners, 0, sizeof(corners));
      if (!takesMax) {
        result += weights[0] * corners[0] + weights[1] * corners[1] + weights[2] * corners[2] + weights[3] * corners[3];
        continue;
      }
      for (int k = 0; k < 4; ++k) {
        double corner = weights[k] * corners[k];
        if (first || corner > result)
          result = corner;
        first = 0;
      }
    }
  }
  int64_t count = rowCount * columnCount;
  return takesMax || count < 1 ? result : result / (double)count;
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
  int64_t channels = x->dims[1], height = y->dims[2], width = y->dims[3], at = 0, room = 0;
  place *places = NULL; // in the same allocation, followed by scratch memory for a row of the plane
  int halfPixel = params[0] != 0;
  double scale = hewn_part_float(params[3]), offset = halfPixel ? 0.5 : 0.0;
  for (int64_t n = 0; n < rois->dims[0]; ++n) {
    int64_t batch = ((const int64_t *)batches->data)[n];
    if (batch < 0 || batch >= x->dims[0]) {
      hewn_rt_free(context, places);
      return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "batch index {a} is outside of [0, {b})", batch,
                          x->dims[0]);
    }
    double box[4];
    for (int k = 0; k < 4; ++k)
      box[k] = hewn_part_load(rois->data, n * 4 + k, rois->dtype) * scale - offset;
    double boxWidth = box[2] - box[0], boxHeight = box[3] - box[1];
    if (!halfPixel && !(boxWidth >= 1))
      boxWidth = 1;
    if (!halfPixel && !(boxHeight >= 1))
      boxHeight = 1;
    double binHeight = boxHeight / (double)height, binWidth = boxWidth / (double)width;
    int64_t rows = samples(params[2], binHeight), columns = samples(params[2], binWidth);
    int64_t wanted = hewn_size_add(hewn_size_mul(height, rows), hewn_size_mul(width, columns));
    int64_t each = hewn_size_mul(rows, columns);
    if (wanted < 0 || each < 0 || each > kMostSamples) {
      hewn_rt_free(context, places);
      return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "{a} x {b} samples in each bin are too many", rows,
                          columns);
    }
    if (!places || wanted > room) {
      hewn_rt_free(context, places);
      int64_t line = hewn_size_mul(x->dims[3], (int64_t)sizeof(float));
      places = hewn_rt_alloc(context, hewn_size_add(hewn_size_mul(wanted, (int64_t)sizeof(place)), line), 64);
      if (!places)
        return hewn_rt_code(context);
      room = wanted;
    }
    place *across = places + height * rows;
    placesOf(places, height, rows, box[1], binHeight, binHeight / (double)(rows > 0 ? rows : 1), x->dims[2]);
    placesOf(across, width, columns, box[0], binWidth, binWidth / (double)(columns > 0 ? columns : 1), x->dims[3]);
    int empty = x->dims[2] < 1 || x->dims[3] < 1;
    span read = spanOf(across, width * columns);
    // If the samples are few and the row is long, reading the samples one by one costs less than
    // interpolating the row.
    int byLines = !params[1] && each > 0 && read.first < read.end && read.end - read.first <= 4 * width * columns;
    float *line = (float *)(places + wanted);
    for (int64_t c = 0; c < channels; ++c) {
      int64_t plane = (batch * channels + c) * x->dims[2] * x->dims[3];
      for (int64_t i = 0; i < height; ++i) {
        const place *down = places + i * rows;
        if (empty || x->dtype != HEWN_PART_FLOAT) {
          for (int64_t j = 0; j < width; ++j, ++at)
            hewn_part_store(
                y->data, at, y->dtype,
                empty ? 0 : sampleBin(x, plane, x->dims[3], down, rows, across + j * columns, columns, params[1] != 0));
          continue;
        }
        const float *from = (const float *)x->data + plane;
        float *to = (float *)y->data + at;
        if (byLines)
          meansOfLine(to, line, from, x->dims[3], down, rows, across, width, columns, read);
        else
          for (int64_t j = 0; j < width; ++j)
            to[j] = params[1] ? maxOfFloats(from, x->dims[3], down, rows, across + j * columns, columns)
                              : meanOfFloats(from, x->dims[3], down, rows, across + j * columns, columns);
        at += width;
      }
    }
  }
  hewn_rt_free(context, places);
  return HEWN_OK;
}
