// SPDX-License-Identifier: Apache-2.0
// ScatterND: writes slices to positions that the rows of a tensor give.
#include "ops/scatter/combine.h"

int32_t hewn_part_scatternd(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                            int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *data = &inputs[0], *indices = &inputs[1], *updates = &inputs[2];
  int64_t bytes = hewn_part_bytes(data->dtype);
  if (bytes == 0 || (params[0] != HEWN_PART_REPLACE && !hewn_part_is_ordered(data->dtype)))
    return hewn_part_refuse(context, node, data->dtype);
  memcpy(outputs[0].data, data->data, (size_t)(hewn_part_product(data->dims, 0, data->rank) * bytes));
  int32_t depth = (int32_t)indices->dims[indices->rank - 1];
  int64_t rows = hewn_part_product(indices->dims, 0, indices->rank - 1);
  int64_t slice = hewn_part_product(data->dims, depth, data->rank);
  // Positions of those updates that are single elements instead of slices. They are combined in
  // batches.
  int64_t positions[HEWN_PART_TOGETHER], waiting = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    for (int32_t d = 0; d < depth; ++d) {
      int64_t index = hewn_part_integer(indices, row * depth + d), extent = data->dims[d];
      if (index < -extent || index >= extent)
        return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "index {a} is outside of a dim of {b}", index,
                            extent);
      offset = offset * extent + (index < 0 ? index + extent : index);
    }
    if (slice != 1) {
      hewn_part_combine(outputs[0].data, offset * slice, updates->data, row * slice, slice, data->dtype, params[0]);
      continue;
    }
    positions[waiting++] = offset;
    if (waiting == HEWN_PART_TOGETHER || row + 1 == rows) {
      hewn_part_combine_at(outputs[0].data, positions, updates->data, row + 1 - waiting, waiting, data->dtype,
                           params[0]);
      waiting = 0;
    }
  }
  return HEWN_OK;
}
