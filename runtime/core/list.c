// SPDX-License-Identifier: Apache-2.0
#include "core/list.h"

#include "core/context.h"
#include "core/sizes.h"
#include "core/string.h"

hewn_list *hewn_list_make(hewn_context *context, int64_t length, int64_t capacity) {
  hewn_list *list = hewn_rt_keep(context, (int64_t)sizeof(hewn_list));
  hewn_list_store *store = list ? hewn_rt_keep(context, (int64_t)sizeof(hewn_list_store)) : NULL;
  if (!store)
    return NULL;
  if (capacity < length)
    capacity = length;
  store->elements = hewn_rt_keep(context, hewn_size_mul(capacity, (int64_t)sizeof(DLTensor)));
  if (!store->elements)
    return NULL;
  store->capacity = capacity;
  store->used = length;
  list->seen.length = length;
  list->seen.elements = store->elements;
  list->store = store;
  return list;
}

void *hewn_list_room(hewn_context *context, DLTensor *to, DLDataType dtype, int32_t rank, const int64_t *dims) {
  int64_t bytes = hewn_tensor_bytes(dtype, rank, dims);
  int64_t *shape = hewn_rt_keep(context, ((int64_t)rank + 1) * (int64_t)sizeof(int64_t));
  void *data = shape ? hewn_rt_keep(context, bytes > 0 ? bytes : bytes < 0 ? -1 : 1) : NULL;
  if (!data)
    return NULL;
  for (int32_t d = 0; d < rank; ++d)
    shape[d] = dims[d];
  DLDevice device = {kDLCPU, 0};
  to->data = data;
  to->device = device;
  to->ndim = rank;
  to->dtype = dtype;
  to->shape = shape;
  to->strides = NULL;
  to->byte_offset = 0;
  return data;
}

int32_t hewn_list_fill(hewn_context *context, DLTensor *to, DLDataType dtype, int32_t rank, const int64_t *dims,
                       const void *data) {
  void *copy = hewn_list_room(context, to, dtype, rank, dims);
  int64_t bytes = hewn_tensor_bytes(dtype, rank, dims);
  if (copy && bytes > 0)
    memcpy(copy, data, (size_t)bytes);
  return copy ? HEWN_OK : HEWN_OUT_OF_MEMORY;
}
