// SPDX-License-Identifier: Apache-2.0
// TextParse, for Cast of strings to numbers: plain and scientific notation, INF and NaN in any
// case, surrounding white space.
#include "ops/text/decimal.h"
#include "ops/text/strings.h"

static int isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Parses a number of `dtype` into `to`. Returns the end of the number in the text, or `text` if
/// there is none.
static const char *parse(const char *text, int32_t dtype, void *to) {
  double wide;
  const char *end = hewn_decimal_parse(text, dtype == HEWN_PART_FLOAT, &wide);
  if (dtype == HEWN_PART_FLOAT)
    *(float *)to = (float)wide; // exact
  else if (dtype == HEWN_PART_DOUBLE)
    *(double *)to = wide;
  if (end == text || dtype == HEWN_PART_FLOAT || dtype == HEWN_PART_DOUBLE)
    return end;
  // Integers are parsed as integers, because a double cannot represent all of them. Numbers with a
  // fraction or an exponent are truncated.
  const char *whole =
      dtype == HEWN_PART_INT64 ? hewn_decimal_parse_int64(text, to) : hewn_decimal_parse_uint64(text, to);
  if (whole == end)
    return end;
  const double most = 9223372036854775808.0; // 2^63
  if (!(wide > -most && wide < (dtype == HEWN_PART_INT64 ? most : 2 * most)))
    return text;
  if (dtype == HEWN_PART_INT64)
    *(int64_t *)to = (int64_t)wide;
  else
    *(uint64_t *)to = wide < 0 ? (uint64_t)(int64_t)wide : (uint64_t)wide;
  return end;
}

int32_t hewn_part_textparse(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                            int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  int64_t width = hewn_part_bytes(outputs[0].dtype), wrong = -1;
  for (int64_t i = 0, n = hewn_text_count(&inputs[0]); i < n && wrong < 0; ++i) {
    const char *text = hewn_text_at(&inputs[0], i);
    const char *end = parse(text, outputs[0].dtype, (char *)outputs[0].data + i * width);
    int none = end == text;
    while (isSpace(*end))
      ++end;
    if (none || *end)
      wrong = i;
  }
  return wrong < 0 ? HEWN_OK
                   : hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "string {a} is not a number", wrong, 0);
}
