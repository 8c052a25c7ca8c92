// SPDX-License-Identifier: Apache-2.0
// Require: fails a run whose inputs violate an assumption of the compiler.
#include "element.h"

int32_t hewn_part_require(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                          int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)outputs;
  if (*(const unsigned char *)inputs[0].data)
    return HEWN_OK;
  return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, (const char *)params, 0, 0);
}
