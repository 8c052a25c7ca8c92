// SPDX-License-Identifier: Apache-2.0
// TextEqual, for Equal of strings.
#include "ops/text/strings.h"

int32_t hewn_part_textequal(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                            int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)context;
  (void)node;
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  for (int64_t i = 0, n = hewn_text_count(&inputs[0]); i < n; ++i)
    ((uint8_t *)outputs[0].data)[i] = strcmp(hewn_text_at(&inputs[0], i), hewn_text_at(&inputs[1], i)) == 0;
  return HEWN_OK;
}
