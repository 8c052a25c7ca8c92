// SPDX-License-Identifier: Apache-2.0
// ListInsert: a list with an additional tensor. Appending uses the same storage unless another list
// has appended to it already, so that a loop that collects tensors copies each tensor once.
#include "ops/list/handles.h"

int32_t hewn_part_listinsert(hewn_context *context, const char *node, int32_t num_inputs,
                             const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                             const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_list *list = hewn_list_of(&inputs[0]);
  int64_t length = list->seen.length, at = *(const int64_t *)inputs[2].data;
  if (at == INT64_MAX)
    at = length;
  if (at < -length || at > length)
    return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node,
                        "position {a} is out of range for a sequence of length {b}", at, length);
  at += at < 0 ? length : 0;
  hewn_list *longer;
  if (at == length && list->store && list->store->used == length && length < list->store->capacity) {
    longer = hewn_rt_keep(context, (int64_t)sizeof(hewn_list));
    if (!longer)
      return HEWN_OUT_OF_MEMORY;
    longer->seen.length = length + 1;
    longer->seen.elements = list->seen.elements;
    longer->store = list->store;
    list->store->used = length + 1;
  } else {
    longer = hewn_list_make(context, length + 1, 2 * length + 4);
    if (!longer)
      return HEWN_OUT_OF_MEMORY;
    DLTensor *to = longer->store->elements;
    for (int64_t i = 0; i < length; ++i)
      to[i < at ? i : i + 1] = list->seen.elements[i];
  }
  const hewn_part_tensor *element = &inputs[1];
  int32_t code = hewn_list_fill(context, &longer->store->elements[at], hewn_part_dlpack(element->dtype, params[0] != 0),
                                element->rank, element->dims, element->data);
  if (code == HEWN_OK)
    hewn_list_give(&outputs[0], longer);
  return code;
}
