// SPDX-License-Identifier: Apache-2.0
// Text: the addresses of constant strings in the bytes of the weights.
#include "ops/text/strings.h"

int32_t hewn_part_text(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                       int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  const char *bytes = inputs[0].data;
  const int64_t *starts = inputs[1].data;
  if (!hewn_text_ends(&inputs[0]))
    return hewn_rt_fail(context, HEWN_INTERNAL, node, "the constant strings do not end with a zero byte", 0, 0);
  for (int64_t i = 0, n = hewn_text_count(&inputs[1]); i < n; ++i) {
    if (starts[i] < 0 || starts[i] >= inputs[0].dims[0])
      return hewn_rt_fail(context, HEWN_INTERNAL, node, "a constant string begins at byte {a} of {b}", starts[i],
                          inputs[0].dims[0]);
    hewn_text_set(&outputs[0], i, bytes + starts[i]);
  }
  return HEWN_OK;
}
