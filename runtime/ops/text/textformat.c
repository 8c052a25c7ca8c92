// SPDX-License-Identifier: Apache-2.0
// TextFormat, for Cast of numbers to strings. Floats are written with eight significant digits and
// doubles with 15, as in onnxruntime, or with as many more as are needed to read the same number
// back.
#include "ops/text/decimal.h"
#include "ops/text/strings.h"

#include <string.h>

static void formatFloat(char *text, double value, int isFloat) {
  for (int digits = isFloat ? 8 : 15, enough = isFloat ? 9 : 17; digits <= enough; ++digits) {
    double back = 0;
    hewn_decimal_format(text, value, digits);
    hewn_decimal_parse(text, isFloat, &back);
    if (back == value)
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
  int32_t code = HEWN_OK;
  for (int64_t i = 0, n = hewn_text_count(x); i < n && code == HEWN_OK; ++i) {
    char text[HEWN_DECIMAL_BYTES];
    switch (x->dtype) {
    case HEWN_PART_FLOAT:
      formatFloat(text, (double)((const float *)x->data)[i], 1);
      break;
    case HEWN_PART_DOUBLE:
      formatFloat(text, ((const double *)x->data)[i], 0);
      break;
    case HEWN_PART_INT64:
      hewn_decimal_format_int64(text, ((const int64_t *)x->data)[i]);
      break;
    case HEWN_PART_UINT64:
      hewn_decimal_format_uint64(text, ((const uint64_t *)x->data)[i]);
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
  return code;
}
