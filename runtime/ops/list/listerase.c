// SPDX-License-Identifier: Apache-2.0
// ListErase: a list without one of its tensors.
#include "ops/list/handles.h"

int32_t hewn_part_listerase(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                            int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  const hewn_list *list = hewn_list_of(&inputs[0]);
  const DLTensor *gone = hewn_list_element(context, node, list, &inputs[1]);
  if (!gone)
    return HEWN_INDEX_OUT_OF_RANGE;
  hewn_list *shorter = hewn_list_make(context, list->seen.length - 1, list->seen.length - 1);
  if (!shorter)
    return HEWN_OUT_OF_MEMORY;
  DLTensor *to = shorter->store->elements;
  for (const DLTensor *from = list->seen.elements; from < list->seen.elements + list->seen.length; ++from)
    if (from != gone)
      *to++ = *from;
  hewn_list_give(&outputs[0], shorter);
  return HEWN_OK;
}
