// SPDX-License-Identifier: Apache-2.0
// Compress: the slices along an axis (or the elements) for which a condition is true.
#include "ops/element.h"

int32_t hewn_part_compress(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                           int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0];
  const uint8_t *condition = inputs[1].data;
  int64_t bytes = hewn_part_bytes(x->dtype);
  int64_t axis = params[0] ? hewn_part_axis(params[1], x->rank) : 0;
  if (bytes == 0 || axis < 0)
    return hewn_part_refuse(context, node, x->dtype);
  int64_t outer = 1, inner = 1;
  int64_t n = hewn_part_product(x->dims, 0, x->rank);
  if (params[0]) {
    n = x->dims[axis];
    outer = hewn_part_product(x->dims, 0, (int32_t)axis);
    inner = hewn_part_product(x->dims, (int32_t)axis + 1, x->rank);
  }
  // The condition may be shorter than the axis: the slices that have no element of the condition
  // are dropped.
  int64_t length = hewn_part_product(inputs[1].dims, 0, inputs[1].rank);
  if (length > n)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "the condition has {a} entries, the axis only {b}",
                        length, n);
  int64_t kept = 0;
  for (int64_t i = 0; i < length; ++i)
    kept += condition[i] != 0;
  int64_t slice = inner * bytes;
  const unsigned char *from = x->data;
  unsigned char *to = outputs[0].data;
  for (int64_t o = 0; slice > 0 && o < outer; ++o, from += n * slice)
    for (int64_t i = 0; i < length; ++i)
      if (condition[i]) {
        memmove(to, from + i * slice, (size_t)slice);
        to += slice;
      }
  outputs[0].dims[axis] = kept;
  return HEWN_OK;
}
