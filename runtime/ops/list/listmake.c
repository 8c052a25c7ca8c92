// SPDX-License-Identifier: Apache-2.0
// ListMake: a list of copies of tensors.
#include "ops/list/handles.h"

int32_t hewn_part_listmake(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                           int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)node;
  (void)num_outputs;
  hewn_list *list = hewn_list_make(context, num_inputs, num_inputs);
  if (!list)
    return HEWN_OUT_OF_MEMORY;
  for (int32_t i = 0; i < num_inputs; ++i) {
    int32_t code = hewn_list_fill(context, &list->store->elements[i], hewn_part_dlpack(inputs[i].dtype, params[0] != 0),
                                  inputs[i].rank, inputs[i].dims, inputs[i].data);
    if (code != HEWN_OK)
      return code;
  }
  hewn_list_give(&outputs[0], list);
  return HEWN_OK;
}
