// SPDX-License-Identifier: Apache-2.0
// ScatterElements: writes updates to positions whose coordinate along an axis is given by a tensor.
#include "ops/scatter/combine.h"

int32_t hewn_part_scatterelements(hewn_context *context, const char *node, int32_t num_inputs,
                                  const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                                  const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *data = &inputs[0], *indices = &inputs[1], *updates = &inputs[2];
  int64_t bytes = hewn_part_bytes(data->dtype), axis = hewn_part_axis(params[0], data->rank);
  if (bytes == 0 || axis < 0 || (params[1] != HEWN_PART_REPLACE && !hewn_part_is_ordered(data->dtype)))
    return hewn_part_refuse(context, node, data->dtype);
  memcpy(outputs[0].data, data->data, (size_t)(hewn_part_product(data->dims, 0, data->rank) * bytes));
  // The loop processes the updates by rows along the last dim. `start` is the offset of such a row
  // in `data`, with coordinate 0 along `axis`.
  int32_t last = data->rank - 1;
  int64_t extent = data->dims[axis], axisStride = hewn_part_product(data->dims, (int32_t)axis + 1, data->rank);
  int64_t width = indices->dims[last], lines = hewn_part_product(indices->dims, 0, last), step = axis == last ? 0 : 1;
  int64_t positions[HEWN_PART_TOGETHER];
  if (width == 0) // rows are empty, and their number may be arbitrarily large
    return HEWN_OK;
  for (int64_t line = 0; line < lines; ++line) {
    int64_t start = 0, rest = line, stride = data->dims[last];
    for (int32_t d = last; d-- > 0; stride *= data->dims[d]) {
      start += d == axis ? 0 : rest % indices->dims[d] * stride;
      rest /= indices->dims[d];
    }
    for (int64_t from = 0; from < width; from += HEWN_PART_TOGETHER) {
      int64_t count = width - from < HEWN_PART_TOGETHER ? width - from : HEWN_PART_TOGETHER,
              first = line * width + from;
      for (int64_t i = 0; i < count; ++i) {
        int64_t index = hewn_part_integer(indices, first + i);
        if (index < -extent || index >= extent)
          return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "index {a} is outside of a dim of {b}", index,
                              extent);
        positions[i] = start + (from + i) * step + (index < 0 ? index + extent : index) * axisStride;
      }
      hewn_part_combine_at(outputs[0].data, positions, updates->data, first, count, data->dtype, params[1]);
    }
  }
  return HEWN_OK;
}
