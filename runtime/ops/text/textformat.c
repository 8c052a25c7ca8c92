// SPDX-License-Identifier: Apache-2.0
// TextFormat, for Cast of numbers to strings. Floats are written with eight significant digits and
// doubles with 15, as in onnxruntime, or with as many more as are needed to read the same number
// back.
#include "ops/text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 40 };

static void formatFloat(char *text, double value, int isFloat) {
  if (isnan(value) || isinf(value)) {
    snprintf(text, MOST, "%s", isnan(value) ? "NaN" : value < 0 ? "-INF" : "INF");
    return;
  }
  for (int digits = isFloat ? 8 : 15, enough = isFloat ? 9 : 17; digits <= enough; ++digits) {
    snprintf(text, MOST, "%.*g", digits, value);
    if (isFloat ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
      return;
  }
}

int32_t hewn_part_textformat(hewn_context *context, const char *node, int32_t num_inputs,
                             const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                             const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  const hewn_part_tensor *x = &inputs[0];
  hewn_number_scope scope;
  int32_t code = hewn_number_enter(context, node, &scope);
  if (code != HEWN_OK)
    return code;
  for (int64_t i = 0, n = hewn_text_count(x); i < n && code == HEWN_OK; ++i) {
    char text[MOST];
    switch (x->dtype) {
    case HEWN_PART_FLOAT:
      formatFloat(text, (double)((const float *)x->data)[i], 1);
      break;
    case HEWN_PART_DOUBLE:
      formatFloat(text, ((const double *)x->data)[i], 0);
      break;
    case HEWN_PART_INT64:
      snprintf(text, MOST, "%" PRId64, ((const int64_t *)x->data)[i]);
      break;
    case HEWN_PART_UINT64:
      snprintf(text, MOST, "%" PRIu64, ((const uint64_t *)x->data)[i]);
      break;
    default:
      code = hewn_part_refuse(context, node, x->dtype);
      continue;
    }
    size_t bytes = strlen(text) + 1;
    char *kept = hewn_rt_keep(context, (int64_t)bytes);
    if (!kept) {
      code = HEWN_OUT_OF_MEMORY;
      continue;
    }
    memcpy(kept, text, bytes);
    hewn_text_set(&outputs[0], i, kept);
  }
  hewn_number_leave(scope);
  return code;
}
