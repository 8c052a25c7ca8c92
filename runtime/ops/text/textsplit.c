// SPDX-License-Identifier: Apache-2.0
// TextFields and TextSplit, for StringSplit: the number of substrings of each string, and the
// substrings.
#include "ops/text/strings.h"

static int isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Returns the next substring of `text` and its length, or NULL if there is none. Sets `rest` to
/// the remaining text, or to NULL after the last substring. If `splits` is 0, the remaining text is
/// one substring.
static const char *next(const char *text, const char *delimiter, int64_t splits, size_t *length, const char **rest) {
  size_t width = strlen(delimiter);
  *rest = NULL;
  if (width == 0) {
    while (isSpace(*text))
      ++text;
    if (!*text)
      return NULL;
    *length = 0;
    if (splits == 0) { // the remaining text without trailing white space
      *length = strlen(text);
      while (*length > 0 && isSpace(text[*length - 1]))
        --*length;
      return text;
    }
    while (text[*length] && !isSpace(text[*length]))
      ++*length;
    *rest = text + *length;
    return text;
  }
  const char *found = splits == 0 ? NULL : strstr(text, delimiter);
  *length = found ? (size_t)(found - text) : strlen(text);
  *rest = found ? found + width : NULL;
  return text;
}

int32_t hewn_part_textfields(hewn_context *context, const char *node, int32_t num_inputs,
                             const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                             const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const char *delimiter = inputs[1].data;
  if (!hewn_text_ends(&inputs[1]))
    return hewn_part_refuse(context, node, inputs[1].dtype);
  for (int64_t i = 0, n = hewn_text_count(&inputs[0]); i < n; ++i) {
    const char *rest = hewn_text_at(&inputs[0], i);
    int64_t fields = 0, splits = params[0] < 0 ? INT64_MAX : params[0];
    size_t length;
    // An empty string counts as having no substrings, for any delimiter.
    while (rest && *hewn_text_at(&inputs[0], i) && next(rest, delimiter, splits - fields, &length, &rest))
      ++fields;
    ((int64_t *)outputs[0].data)[i] = fields;
  }
  return HEWN_OK;
}

int32_t hewn_part_textsplit(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                            int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const char *delimiter = inputs[1].data;
  hewn_part_tensor *y = &outputs[0];
  int64_t width = y->dims[y->rank - 1];
  if (!hewn_text_ends(&inputs[1]))
    return hewn_part_refuse(context, node, inputs[1].dtype);
  for (int64_t i = 0, n = hewn_text_count(&inputs[0]); i < n; ++i) {
    const char *rest = hewn_text_at(&inputs[0], i);
    int64_t splits = params[0] < 0 ? INT64_MAX : params[0];
    if (!*rest)
      rest = NULL;
    for (int64_t k = 0; k < width; ++k) {
      size_t length;
      const char *substring = rest ? next(rest, delimiter, splits - k, &length, &rest) : NULL;
      hewn_text_set(y, i * width + k, "");
      if (!substring)
        continue;
      char *copy = hewn_rt_keep(context, (int64_t)length + 1);
      if (!copy)
        return HEWN_OUT_OF_MEMORY;
      memcpy(copy, substring, length);
      copy[length] = '\0';
      hewn_text_set(y, i * width + k, copy);
    }
  }
  return HEWN_OK;
}
