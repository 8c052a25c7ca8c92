// SPDX-License-Identifier: Apache-2.0
#include "ops/element.h"
#include "philox.h"

int32_t hewn_part_randomnormal(hewn_context *context, const char *node, int32_t num_inputs,
                               const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                               const int64_t *params) {
  (void)node;
  (void)num_inputs;
  (void)inputs;
  (void)num_outputs;
  hewn_philox philox = hewn_philox_make(context, params);
  double mean = hewn_part_float(params[2]);
  double scale = hewn_part_float(params[3]);
  int64_t n = hewn_part_product(outputs[0].dims, 0, outputs[0].rank);
  for (int64_t i = 0; i < n; ++i)
    hewn_part_store(outputs[0].data, i, outputs[0].dtype, mean + scale * hewn_philox_normal(&philox, (uint64_t)i));
  return HEWN_OK;
}
