// SPDX-License-Identifier: Apache-2.0
// Lookup: the indices of elements among keys, by a hash table that the compiler filled.
#include "ops/text/strings.h"

typedef struct table {
  const hewn_part_tensor *keys;
  const int32_t *slots;
  uint64_t mask;  ///< number of slots - 1
  uint32_t count; ///< number of keys
} table;

static void findTexts(const table *table, const hewn_part_tensor *x, int64_t n, int64_t *found) {
  for (int64_t i = 0; i < n; ++i) {
    const char *text = hewn_text_at(x, i);
    uint64_t at = hewn_hash_text(text) & table->mask;
    uint32_t key;
    // An empty slot is no index of a key, and ends the search.
    while ((key = (uint32_t)table->slots[at]) < table->count && strcmp(hewn_text_at(table->keys, key), text) != 0)
      at = (at + 1) & table->mask;
    found[i] = key < table->count ? key : table->count;
  }
}

/// Searches for numbers. Callers pass a constant as `dtype`, so that the loop has no test of the
/// type.
static inline void findNumbers(const table *table, const hewn_part_tensor *x, int64_t n, int64_t *found,
                               int32_t dtype) {
  const void *elements = x->data, *keys = table->keys->data;
  const int32_t *slots = table->slots;
  uint64_t mask = table->mask;
  uint32_t count = table->count;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t number = hewn_part_key(elements, i, dtype);
    uint64_t at = hewn_hash_word(0, number) & mask;
    uint32_t key;
    while ((key = (uint32_t)slots[at]) < count && hewn_part_key(keys, key, dtype) != number)
      at = (at + 1) & mask;
    found[i] = key < count ? key : count;
  }
}

int32_t hewn_part_lookup(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                         int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0], *keys = &inputs[1], *slots = &inputs[2];
  int isText = params[0] != 0;
  int64_t size = slots->dims[0];
  if (x->dtype != keys->dtype || (!isText && !hewn_part_is_ordered(x->dtype)) || slots->dtype != HEWN_PART_INT32 ||
      size <= keys->dims[0] || (size & (size - 1)) != 0)
    return hewn_part_refuse(context, node, x->dtype);
  table table = {keys, slots->data, (uint64_t)size - 1, (uint32_t)keys->dims[0]};
  int64_t n = hewn_part_product(x->dims, 0, x->rank), *found = outputs[0].data;
  if (isText)
    findTexts(&table, x, n, found);
  else if (x->dtype == HEWN_PART_INT64)
    findNumbers(&table, x, n, found, HEWN_PART_INT64);
  else if (x->dtype == HEWN_PART_INT32)
    findNumbers(&table, x, n, found, HEWN_PART_INT32);
  else if (x->dtype == HEWN_PART_FLOAT)
    findNumbers(&table, x, n, found, HEWN_PART_FLOAT);
  else if (x->dtype == HEWN_PART_DOUBLE)
    findNumbers(&table, x, n, found, HEWN_PART_DOUBLE);
  else
    findNumbers(&table, x, n, found, x->dtype);
  return HEWN_OK;
}
