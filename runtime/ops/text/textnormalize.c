// SPDX-License-Identifier: Apache-2.0
// TextNormalize, for StringNormalizer: drops the strings of a list and changes the case of the
// others. Only ASCII letters are changed.
#include "ops/text/strings.h"

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }
static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c; }

static int isSame(const char *a, const char *b, int caseSensitive) {
  while (*a && (caseSensitive ? *a == *b : lower(*a) == lower(*b)))
    ++a, ++b;
  return !*a && !*b;
}

int32_t hewn_part_textnormalize(hewn_context *context, const char *node, int32_t num_inputs,
                                const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                                const int64_t *params) {
  (void)node;
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0], *dropped = &inputs[1];
  int64_t kept = 0;
  for (int64_t i = 0, n = hewn_text_count(x), m = hewn_text_count(dropped); i < n; ++i) {
    const char *text = hewn_text_at(x, i);
    int isDropped = 0;
    for (int64_t k = 0; k < m && !isDropped; ++k)
      isDropped = isSame(text, hewn_text_at(dropped, k), params[1] != 0);
    if (isDropped)
      continue;
    if (params[0] == 0) {
      hewn_text_set(&outputs[0], kept++, text);
      continue;
    }
    size_t length = strlen(text);
    char *changed = hewn_rt_keep(context, (int64_t)length + 1);
    if (!changed)
      return HEWN_OUT_OF_MEMORY;
    for (size_t k = 0; k <= length; ++k)
      changed[k] = params[0] == 1 ? lower(text[k]) : upper(text[k]);
    hewn_text_set(&outputs[0], kept++, changed);
  }
  if (kept == 0)
    hewn_text_set(&outputs[0], kept++, "");
  outputs[0].dims[0] = kept;
  return HEWN_OK;
}
