// SPDX-License-Identifier: Apache-2.0
// TextParse, for Cast of strings to numbers: plain and scientific notation, INF and NaN in any
// case, surrounding white space.
#include "ops/text/number.h"

#include <errno.h>
#include <stdlib.h>

static int isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Returns true if the text of a number has a form that C's functions accept but ONNX does not:
/// hexadecimal digits, or the bits of a NaN.
static int isOther(const char *text) { return strpbrk(text, "xX(") != NULL; }

/// Parses a number of `dtype` into `to`. Returns the end of the number in the text, or `text` if
/// there is none.
static char *parse(const char *text, int32_t dtype, void *to) {
  char *end = NULL;
  if (dtype == HEWN_PART_FLOAT) {
    *(float *)to = strtof(text, &end);
    return end;
  }
  double wide = strtod(text, &end);
  if (dtype == HEWN_PART_DOUBLE) {
    *(double *)to = wide;
    return end;
  }
  // Integers are parsed as integers, because a double cannot represent all of them. Numbers with a
  // fraction or an exponent are truncated.
  char *whole = NULL;
  if (dtype == HEWN_PART_INT64)
    *(int64_t *)to = strtoll(text, &whole, 10);
  else
    *(uint64_t *)to = strtoull(text, &whole, 10);
  if (whole == end)
    return end;
  const double most = 9223372036854775808.0; // 2^63
  if (!(wide > -most && wide < (dtype == HEWN_PART_INT64 ? most : 2 * most)))
    return (char *)text;
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
  int before = errno;
  hewn_number_scope scope;
  int32_t code = hewn_number_enter(context, node, &scope);
  if (code != HEWN_OK)
    return code;
  for (int64_t i = 0, n = hewn_text_count(&inputs[0]); i < n && wrong < 0; ++i) {
    const char *text = hewn_text_at(&inputs[0], i);
    char *end = parse(text, outputs[0].dtype, (char *)outputs[0].data + i * width);
    int none = end == text;
    while (isSpace(*end))
      ++end;
    if (none || *end || isOther(text))
      wrong = i;
  }
  hewn_number_leave(scope);
  errno = before;
  return wrong < 0 ? HEWN_OK
                   : hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "string {a} is not a number", wrong, 0);
}
