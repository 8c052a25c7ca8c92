// SPDX-License-Identifier: Apache-2.0
// Functions of the custom ops that test_custom_ops.py defines.
#include "hewn/custom.h"

#include <stdio.h>
#include <string.h>

static float *floats(const DLTensor *tensor) { return hewn_custom_data(tensor); }

// Computes y = alpha * x + bias, for any rank.
int32_t t_affine(hewn_custom_call *c) {
  for (int64_t i = 0, n = hewn_custom_elements(c->outputs[0]); i < n; ++i)
    floats(c->outputs[0])[i] = (float)c->attributes[0].f * floats(c->inputs[0])[i] + (float)c->attributes[1].i;
  return HEWN_OK;
}

// Adds adjacent pairs: [n, floordiv(m, 2)]. Also returns the sum of all pairs per row: [n].
int32_t t_pairs(hewn_custom_call *c) {
  int64_t n = c->outputs[0]->shape[0], half = c->outputs[0]->shape[1], m = c->inputs[0]->shape[1];
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < half; ++j)
      sum += floats(c->outputs[0])[i * half + j] =
          floats(c->inputs[0])[i * m + 2 * j] + floats(c->inputs[0])[i * m + 2 * j + 1];
    floats(c->outputs[1])[i] = sum;
  }
  return HEWN_OK;
}

// Returns the indices of the positive elements, [count, 2], and their values, [count].
int32_t t_above(hewn_custom_call *c) {
  int64_t columns = c->inputs[0]->shape[1], count = 0, *places = hewn_custom_data(c->outputs[0]);
  for (int64_t i = 0, n = hewn_custom_elements(c->inputs[0]); i < n; ++i)
    if (floats(c->inputs[0])[i] > 0) {
      places[2 * count] = i / columns;
      places[2 * count + 1] = i % columns;
      floats(c->outputs[1])[count++] = floats(c->inputs[0])[i];
    }
  c->sizes[0] = count;
  return HEWN_OK;
}

int32_t t_too_many(hewn_custom_call *c) {
  c->sizes[0] = hewn_custom_elements(c->inputs[0]) + 1;
  return HEWN_OK;
}

// Repeats each x[i] as often as times[i]. The shape function t_total returns the sum of `times`.
int32_t t_total(hewn_custom_call *c) {
  const int64_t *times = hewn_custom_data(c->inputs[1]);
  c->sizes[0] = 0;
  for (int64_t i = 0; i < c->inputs[1]->shape[0]; ++i)
    c->sizes[0] += times[i];
  return HEWN_OK;
}

int32_t t_repeat(hewn_custom_call *c) {
  const int64_t *times = hewn_custom_data(c->inputs[1]);
  int64_t at = 1;
  if (c->outputs[0]->shape[0] != c->sizes[0] + 1)
    return hewn_custom_fail(c, "{a} is not one more than {b}", c->outputs[0]->shape[0], c->sizes[0]);
  floats(c->outputs[0])[0] = -1;
  for (int64_t i = 0; i < c->inputs[0]->shape[0]; ++i)
    for (int64_t k = 0; k < times[i]; ++k)
      floats(c->outputs[0])[at++] = floats(c->inputs[0])[i];
  return HEWN_OK;
}

// Adds all present inputs elementwise. They have the same shape.
int32_t t_sum(hewn_custom_call *c) {
  int64_t n = hewn_custom_elements(c->outputs[0]);
  memset(floats(c->outputs[0]), 0, (size_t)n * sizeof(float));
  for (int32_t k = 0; k < c->num_inputs; ++k)
    for (int64_t i = 0; c->inputs[k] && i < n; ++i)
      floats(c->outputs[0])[i] += floats(c->inputs[k])[i];
  return HEWN_OK;
}

// Prints all attributes to one string.
int32_t t_describe(hewn_custom_call *c) {
  char *line = hewn_custom_keep(c, 1000);
  if (!line)
    return HEWN_OUT_OF_MEMORY;
  size_t at = 0;
  for (int32_t i = 0; i < c->num_attributes; ++i) {
    const hewn_custom_attribute *a = &c->attributes[i];
    char *to = line + at;
    size_t room = 1000 - at;
    if (a->kind == HEWN_CUSTOM_INT)
      at += (size_t)snprintf(to, room, "%lld;", (long long)a->i);
    else if (a->kind == HEWN_CUSTOM_FLOAT)
      at += (size_t)snprintf(to, room, "%g;", a->f);
    else if (a->kind == HEWN_CUSTOM_STRING)
      at += (size_t)snprintf(to, room, "%s/%d;", a->s, (int)a->count);
    else if (a->kind == HEWN_CUSTOM_TENSOR)
      at += (size_t)snprintf(to, room, "%g of %d;", floats(a->tensor)[1], (int)a->tensor->shape[0]);
    else if (a->kind == HEWN_CUSTOM_ABSENT)
      at += (size_t)snprintf(to, room, "none;");
    for (int64_t k = 0; k < (a->ints || a->floats || a->strings ? a->count : 0); ++k)
      at += a->ints     ? (size_t)snprintf(line + at, 1000 - at, "%lld,", (long long)a->ints[k])
            : a->floats ? (size_t)snprintf(line + at, 1000 - at, "%g,", a->floats[k])
                        : (size_t)snprintf(line + at, 1000 - at, "%s,", a->strings[k]);
  }
  *(const char **)hewn_custom_data(c->outputs[0]) = line;
  return HEWN_OK;
}

// Appends "!" to each string.
int32_t t_mark(hewn_custom_call *c) {
  const char *const *from = hewn_custom_data(c->inputs[0]);
  const char **to = hewn_custom_data(c->outputs[0]);
  for (int64_t i = 0; i < hewn_custom_elements(c->inputs[0]); ++i) {
    const char *text = from[i] ? from[i] : "";
    char *made = hewn_custom_keep(c, (int64_t)strlen(text) + 2);
    if (!made)
      return HEWN_OUT_OF_MEMORY;
    strcpy(made, text);
    strcat(made, "!");
    to[i] = made;
  }
  return HEWN_OK;
}

// Returns how often the function was called before in this process.
int32_t t_count(hewn_custom_call *c) {
  static float calls;
  floats(c->outputs[0])[0] = calls++;
  return HEWN_OK;
}

int32_t t_fail(hewn_custom_call *c) {
  return hewn_custom_fail(c, "{a} samples are too few for {b}", c->inputs[0]->shape[0], c->attributes[0].i);
}
