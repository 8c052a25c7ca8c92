// SPDX-License-Identifier: Apache-2.0
// ListJointDims and ListJoin: concatenate the tensors of a list along an existing dim, or stack
// them along a new one.
#include "ops/list/handles.h"

static int32_t unlike(hewn_context *context, const char *node, int64_t a, int64_t b) {
  return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "shape mismatch between concatenated tensors: {a} and {b}",
                      a, b);
}

/// Computes the dims of the joined tensor. `out` has `rank` entries, or `rank` + 1 if `fresh`.
static int32_t jointDims(hewn_context *context, const char *node, const hewn_list *list, int64_t rank, int64_t axis,
                         int64_t fresh, int64_t *out) {
  if (list->seen.length == 0)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "cannot concatenate an empty sequence", 0, 0);
  for (int64_t i = 0; i < list->seen.length; ++i) {
    const DLTensor *element = &list->seen.elements[i];
    if (element->ndim != rank)
      return unlike(context, node, element->ndim, rank);
    for (int64_t d = 0; d < rank; ++d) {
      int64_t *at = &out[fresh && d >= axis ? d + 1 : d];
      int joins = !fresh && d == axis;
      if (i > 0 && !joins && *at != element->shape[d])
        return unlike(context, node, element->shape[d], *at);
      if (!joins || i == 0)
        *at = element->shape[d];
      else if (__builtin_add_overflow(*at, element->shape[d], at))
        return unlike(context, node, element->shape[d], *at);
    }
  }
  if (fresh)
    out[axis] = list->seen.length;
  return HEWN_OK;
}

int32_t hewn_part_listjointdims(hewn_context *context, const char *node, int32_t num_inputs,
                                const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                                const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  return jointDims(context, node, hewn_list_of(&inputs[0]), params[0], params[1], params[2], outputs[0].data);
}

int32_t hewn_part_listjoin(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                           int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_list *list = hewn_list_of(&inputs[0]);
  hewn_part_tensor *y = &outputs[0];
  int64_t dims[64], axis = params[0], fresh = params[1], size = hewn_part_bytes(y->dtype);
  if (y->rank - fresh > 63 || size == 0)
    return hewn_part_refuse(context, node, y->dtype);
  int32_t code = jointDims(context, node, list, y->rank - fresh, axis, fresh, dims);
  for (int32_t d = 0; code == HEWN_OK && d < y->rank; ++d)
    if (dims[d] != y->dims[d])
      return unlike(context, node, dims[d], y->dims[d]);
  if (code != HEWN_OK)
    return code;
  int64_t outer = hewn_part_product(dims, 0, (int32_t)axis);
  int64_t inner = hewn_part_product(dims, (int32_t)axis + 1, y->rank) * size;
  unsigned char *to = y->data;
  for (int64_t o = 0; inner > 0 && o < outer; ++o)
    for (int64_t i = 0; i < list->seen.length; ++i) {
      const DLTensor *element = &list->seen.elements[i];
      if (element->dtype.bits != 8 * size)
        return hewn_part_refuse(context, node, y->dtype);
      int64_t bytes = (fresh ? 1 : element->shape[axis]) * inner;
      if (bytes > 0)
        memcpy(to, hewn_list_data(element) + o * bytes, (size_t)bytes);
      to += bytes;
    }
  return HEWN_OK;
}
