// SPDX-License-Identifier: Apache-2.0
// Ends a run in which an index is outside of the dim that it counts along.
#include "combine.h"

int32_t hewn_part_checkindices(hewn_context *context, const char *node, int32_t num_inputs,
                               const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                               const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)outputs;
  (void)params;
  const hewn_part_tensor *indices = &inputs[0], *extents = &inputs[1];
  int64_t count = hewn_part_product(indices->dims, 0, indices->rank), kinds = extents->dims[0];
  const int64_t *extent = extents->data;
  for (int64_t i = 0, kind = 0; i < count; ++i, kind = kind + 1 == kinds ? 0 : kind + 1) {
    int64_t index = hewn_part_integer(indices, i);
    if (index < -extent[kind] || index >= extent[kind])
      return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "index {a} is outside of a dim of {b}", index,
                          extent[kind]);
  }
  return HEWN_OK;
}
