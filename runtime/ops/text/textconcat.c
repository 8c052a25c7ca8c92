// SPDX-License-Identifier: Apache-2.0
// TextConcat, for StringConcat.
#include "ops/text/strings.h"

int32_t hewn_part_textconcat(hewn_context *context, const char *node, int32_t num_inputs,
                             const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                             const int64_t *params) {
  (void)node;
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  for (int64_t i = 0, n = hewn_text_count(&inputs[0]); i < n; ++i) {
    const char *a = hewn_text_at(&inputs[0], i), *b = hewn_text_at(&inputs[1], i);
    size_t left = strlen(a), right = strlen(b);
    char *both = hewn_rt_keep(context, (int64_t)(left + right + 1));
    if (!both)
      return HEWN_OUT_OF_MEMORY;
    memcpy(both, a, left);
    memcpy(both + left, b, right + 1);
    hewn_text_set(&outputs[0], i, both);
  }
  return HEWN_OK;
}
