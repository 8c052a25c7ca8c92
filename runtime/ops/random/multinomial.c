// SPDX-License-Identifier: Apache-2.0
// Multinomial by the Gumbel-max trick: the maximum of x + g, with g from the Gumbel distribution,
// is at each class with probability softmax(x). Needs no exp and no cumulative sums.
#include "ops/element.h"
#include "philox.h"

static int64_t drawClass(const hewn_philox *philox, uint64_t draw, const hewn_part_tensor *x, int64_t row) {
  int64_t classes = x->dims[1], best = 0;
  double largest = 0;
  for (int64_t c = 0; c < classes; ++c) {
    double uniform = hewn_philox_uniform(philox, draw * (uint64_t)classes + (uint64_t)c);
    double value = hewn_part_load(x->data, row * classes + c, x->dtype) - hewn_philox_log(-hewn_philox_log(uniform));
    if (c == 0 || value > largest) {
      largest = value;
      best = c;
    }
  }
  return best;
}

int32_t hewn_part_multinomial(hewn_context *context, const char *node, int32_t num_inputs,
                              const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                              const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  if (inputs[0].dims[1] == 0)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "there are no classes to choose from", 0, 0);
  hewn_philox philox = hewn_philox_make(context, params);
  int64_t samples = outputs[0].dims[1];
  for (int64_t row = 0; row < inputs[0].dims[0]; ++row)
    for (int64_t s = 0; s < samples; ++s) {
      int64_t draw = row * samples + s;
      int64_t drawn = drawClass(&philox, (uint64_t)draw, &inputs[0], row);
      hewn_part_store(outputs[0].data, draw, outputs[0].dtype, (double)drawn);
    }
  return HEWN_OK;
}
