// SPDX-License-Identifier: Apache-2.0
#include "ops/element.h"
#include "philox.h"

int32_t hewn_part_bernoulli(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                            int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)node;
  (void)num_inputs;
  (void)num_outputs;
  hewn_philox philox = hewn_philox_make(context, params);
  int64_t n = hewn_part_product(inputs[0].dims, 0, inputs[0].rank);
  for (int64_t i = 0; i < n; ++i) {
    double probability = hewn_part_load(inputs[0].data, i, inputs[0].dtype);
    int isOne = hewn_philox_uniform(&philox, (uint64_t)i) < probability;
    hewn_part_store(outputs[0].data, i, outputs[0].dtype, isOne);
  }
  return HEWN_OK;
}
