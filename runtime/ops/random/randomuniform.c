// SPDX-License-Identifier: Apache-2.0
#include "ops/element.h"
#include "philox.h"

int32_t hewn_part_randomuniform(hewn_context *context, const char *node, int32_t num_inputs,
                                const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                                const int64_t *params) {
  (void)node;
  (void)num_inputs;
  (void)inputs;
  (void)num_outputs;
  hewn_philox philox = hewn_philox_make(context, params);
  double low = hewn_part_float(params[2]);
  double span = hewn_part_float(params[3]) - low;
  int64_t n = hewn_part_product(outputs[0].dims, 0, outputs[0].rank);
  for (int64_t i = 0; i < n; ++i)
    hewn_part_store(outputs[0].data, i, outputs[0].dtype, low + span * hewn_philox_uniform(&philox, (uint64_t)i));
  return HEWN_OK;
}
