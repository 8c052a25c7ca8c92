// SPDX-License-Identifier: Apache-2.0
// ScatterElements: updates put at positions whose coordinate along an axis is told by a tensor.
#include "combine.h"

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
  int32_t last = data->rank - 1;
  int64_t count = hewn_part_product(indices->dims, 0, indices->rank), extent = data->dims[axis];
  int64_t axisStride = hewn_part_product(data->dims, (int32_t)axis + 1, data->rank);
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat, offset = 0, stride = 1;
    for (int32_t d = last; d >= 0; --d) {
      if (d != axis)
        offset += rest % indices->dims[d] * stride;
      rest /= indices->dims[d];
      stride *= data->dims[d];
    }
    int64_t index = hewn_part_integer(indices, flat);
    if (index < -extent || index >= extent)
      return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "index {a} is outside of a dim of {b}", index,
                          extent);
    hewn_part_combine(outputs[0].data, offset + (index < 0 ? index + extent : index) * axisStride, updates->data, flat,
                      1, data->dtype, params[1]);
  }
  return HEWN_OK;
}
