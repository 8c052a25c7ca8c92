// SPDX-License-Identifier: Apache-2.0
// ListLength: the number of tensors in a list.
#include "ops/list/handles.h"

int32_t hewn_part_listlength(hewn_context *context, const char *node, int32_t num_inputs,
                             const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                             const int64_t *params) {
  (void)context;
  (void)node;
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  *(int64_t *)outputs[0].data = hewn_list_of(&inputs[0])->seen.length;
  return HEWN_OK;
}
