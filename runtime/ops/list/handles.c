// SPDX-License-Identifier: Apache-2.0
#include "ops/list/handles.h"

static const hewn_list empty = {{0, NULL}, NULL};

const hewn_list *hewn_list_of(const hewn_part_tensor *handle) {
  const hewn_list *list = hewn_handle_object(*(const hewn_handle *)handle->data);
  return list ? list : &empty;
}

void hewn_list_give(hewn_part_tensor *result, const hewn_list *list) {
  *(hewn_handle *)result->data = hewn_handle_of(list);
}

const DLTensor *hewn_list_element(hewn_context *context, const char *node, const hewn_list *list,
                                  const hewn_part_tensor *place) {
  int64_t at = *(const int64_t *)place->data, length = list->seen.length;
  if (at >= -length && at < length)
    return &list->seen.elements[at < 0 ? at + length : at];
  hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "position {a} is out of range for a sequence of length {b}", at,
               length);
  return NULL;
}

const unsigned char *hewn_list_data(const DLTensor *tensor) {
  return (const unsigned char *)tensor->data + tensor->byte_offset;
}
