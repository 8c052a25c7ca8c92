// SPDX-License-Identifier: Apache-2.0
// ListSplit: splits a tensor into a list.
#include "ops/list/handles.h"

/// Returns the number of tensors into which a dim of size `whole` is split, or -1 if the sizes of
/// the tensors do not add up to `whole`.
static int64_t countParts(const hewn_part_tensor *sizes, int64_t whole) {
  const int64_t *size = sizes->data;
  if (sizes->rank == 0)
    return size[0] > 0 ? whole / size[0] + (whole % size[0] != 0) : -1;
  int64_t sum = 0;
  for (int64_t i = 0; i < sizes->dims[0]; ++i)
    if (size[i] < 0 || size[i] > whole - sum)
      return -1;
    else
      sum += size[i];
  return sum == whole ? sizes->dims[0] : -1;
}

int32_t hewn_part_listsplit(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                            int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0], *sizes = &inputs[1];
  int64_t axis = params[0], drop = params[1], size = hewn_part_bytes(x->dtype), whole = x->dims[axis], dims[64];
  int64_t count = countParts(sizes, whole);
  if (size == 0 || x->rank > 64)
    return hewn_part_refuse(context, node, x->dtype);
  if (count < 0)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "the split sizes do not add up to the dim size {a}",
                        whole, 0);
  int64_t outer = hewn_part_product(x->dims, 0, (int32_t)axis);
  int64_t inner = hewn_part_product(x->dims, (int32_t)axis + 1, x->rank) * size;
  hewn_list *list = hewn_list_make(context, count, count);
  if (!list)
    return HEWN_OUT_OF_MEMORY;
  for (int64_t i = 0, from = 0; i < count; ++i) {
    int64_t extent = sizes->rank == 0 ? ((const int64_t *)sizes->data)[0] : ((const int64_t *)sizes->data)[i];
    if (extent > whole - from)
      extent = whole - from;
    int32_t rank = 0;
    for (int32_t d = 0; d < x->rank; ++d)
      if (d != axis || !drop)
        dims[rank++] = d == axis ? extent : x->dims[d];
    unsigned char *part =
        hewn_list_room(context, &list->store->elements[i], hewn_part_dlpack(x->dtype, params[2] != 0), rank, dims);
    if (!part)
      return HEWN_OUT_OF_MEMORY;
    for (int64_t o = 0; extent * inner > 0 && o < outer; ++o)
      memcpy(part + o * extent * inner, (const unsigned char *)x->data + (o * whole + from) * inner,
             (size_t)(extent * inner));
    from += extent;
  }
  hewn_list_give(&outputs[0], list);
  return HEWN_OK;
}
