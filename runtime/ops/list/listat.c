// SPDX-License-Identifier: Apache-2.0
// ListDims and ListAt: the dims of a tensor of a list, and its elements.
#include "ops/list/handles.h"

int32_t hewn_part_listdims(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                           int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const DLTensor *element = hewn_list_element(context, node, hewn_list_of(&inputs[0]), &inputs[1]);
  if (!element)
    return HEWN_INDEX_OUT_OF_RANGE;
  if (element->ndim != params[0])
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node,
                        "expected a tensor of rank {a} in the sequence, got rank {b}", params[0], element->ndim);
  for (int32_t d = 0; d < element->ndim; ++d)
    ((int64_t *)outputs[0].data)[d] = element->shape[d];
  return HEWN_OK;
}

int32_t hewn_part_listat(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                         int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  const DLTensor *element = hewn_list_element(context, node, hewn_list_of(&inputs[0]), &inputs[1]);
  if (!element)
    return HEWN_INDEX_OUT_OF_RANGE;
  int64_t bytes = hewn_part_bytes(outputs[0].dtype) * hewn_part_product(outputs[0].dims, 0, outputs[0].rank);
  int fits = element->ndim == outputs[0].rank && element->dtype.bits == 8 * hewn_part_bytes(outputs[0].dtype);
  for (int32_t d = 0; fits && d < element->ndim; ++d)
    fits = element->shape[d] == outputs[0].dims[d];
  if (!fits)
    return hewn_rt_fail(context, HEWN_INTERNAL, node, "the shape of a tensor in the sequence has changed", 0, 0);
  if (bytes > 0)
    memcpy(outputs[0].data, hewn_list_data(element), (size_t)bytes);
  return HEWN_OK;
}
