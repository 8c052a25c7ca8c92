// SPDX-License-Identifier: Apache-2.0
// The places of elements among ascending keys: by halves.
#include "parts/text/strings.h"

int32_t hewn_part_lookup(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                         int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0], *keys = &inputs[1];
  int isText = params[0] != 0;
  if (x->dtype != keys->dtype || (!isText && !hewn_part_is_ordered(x->dtype)))
    return hewn_part_refuse(context, node, x->dtype);
  int64_t count = keys->dims[0];
  for (int64_t i = 0, n = hewn_part_product(x->dims, 0, x->rank); i < n; ++i) {
    int64_t from = 0, to = count;
    uint64_t number = isText ? 0 : hewn_part_key(x->data, i, x->dtype);
    const char *text = isText ? hewn_text_at(x, i) : NULL;
    int found = 0;
    while (from < to) { // all keys before `from` are less
      int64_t middle = from + (to - from) / 2;
      int order;
      if (isText) {
        order = strcmp(hewn_text_at(keys, middle), text);
      } else {
        uint64_t key = hewn_part_key(keys->data, middle, keys->dtype);
        order = key < number ? -1 : key > number;
      }
      if (order < 0) {
        from = middle + 1;
      } else {
        to = middle;
        found |= order == 0;
      }
    }
    ((int64_t *)outputs[0].data)[i] = found ? from : count;
  }
  return HEWN_OK;
}
