// SPDX-License-Identifier: Apache-2.0
// TextMatch, for RegexFullMatch, with PCRE2: a C library that supports all of RE2's syntax (\v and
// \s differ in vertical white space). Its memory comes from the context, which compiles each
// pattern once. A match that exceeds PCRE2's step limit fails the run.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "ops/text/strings.h"

#include <pcre2.h>

static void *allocate(size_t bytes, void *context) {
  return bytes > (size_t)INT64_MAX / 2 ? NULL : hewn_rt_alloc(context, (int64_t)bytes, 16);
}
static void *allocateForAllRuns(size_t bytes, void *context) {
  void *memory = allocate(bytes, context);
  if (memory)
    hewn_rt_hold(context, memory);
  return memory;
}
static void release(void *memory, void *context) {
  if (memory)
    hewn_rt_free(context, memory);
}

static pcre2_code *compile(const void *pattern, int *error, PCRE2_SIZE *where, pcre2_compile_context *options) {
  return pcre2_compile(pattern, PCRE2_ZERO_TERMINATED,
                       PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOLLAR_ENDONLY,
                       error, where, options);
}

/// Returns the compiled form of a pattern, which the context keeps for later runs. Returns NULL on
/// failure, after recording it.
static const pcre2_code *compiled(hewn_context *context, const char *node, const char *pattern) {
  static const char part = 0;
  void **place = hewn_rt_place(context, &part, pattern);
  if (!place || *place)
    return place ? *place : NULL;
  int error = PCRE2_ERROR_NOMEMORY;
  PCRE2_SIZE where = 0;
  pcre2_general_context *memory = pcre2_general_context_create(allocateForAllRuns, release, context);
  pcre2_compile_context *options = memory ? pcre2_compile_context_create(memory) : NULL;
  if (options)
    *place = compile(pattern, &error, &where, options);
  pcre2_compile_context_free(options);
  pcre2_general_context_free(memory);
  if (!*place) // no effect if an allocation failure is recorded already
    hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "invalid regular expression: PCRE2 error {b} at byte {a}",
                 (int64_t)where, error);
  return *place;
}

static int32_t matchAll(hewn_context *context, const char *node, const pcre2_code *code, pcre2_match_data *found,
                        const hewn_part_tensor *x, uint8_t *y) {
  for (int64_t i = 0, n = hewn_text_count(x); i < n; ++i) {
    const char *text = hewn_text_at(x, i);
    int result = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, found, NULL);
    // PCRE2's result 0 is a match, too, with more groups than `found` has space for.
    if (result < 0 && result != PCRE2_ERROR_NOMATCH)
      return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node,
                          "the pattern exceeds the step or memory limit for string {a} (PCRE2 error {b})", i, result);
    y[i] = result >= 0;
  }
  return HEWN_OK;
}

int32_t hewn_part_textmatch(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                            int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  if (!hewn_text_ends(&inputs[1]))
    return hewn_part_refuse(context, node, inputs[1].dtype);
  const pcre2_code *pattern = compiled(context, node, inputs[1].data);
  if (!pattern)
    return hewn_rt_code(context);
  int32_t code = HEWN_OUT_OF_MEMORY;
  pcre2_general_context *memory = pcre2_general_context_create(allocate, release, context);
  pcre2_match_data *found = memory ? pcre2_match_data_create(1, memory) : NULL;
  if (found)
    code = matchAll(context, node, pattern, found, &inputs[0], outputs[0].data);
  pcre2_match_data_free(found);
  pcre2_general_context_free(memory);
  return code;
}

int32_t hewn_part_textpattern(const char *pattern, int64_t *where, char *message, size_t bytes) {
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code *code = compile(pattern, &error, &at, NULL);
  pcre2_code_free(code);
  *where = (int64_t)at;
  if (!code)
    pcre2_get_error_message(error, (PCRE2_UCHAR *)message, bytes);
  return code != NULL;
}
