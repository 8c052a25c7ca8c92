// SPDX-License-Identifier: Apache-2.0
// Ngrams: counts n-grams of words. The hash of an n-gram extends the hash of its first n - 1 words
// by its last word. Each window of a row is looked up in a hash table that the compiler filled.
#include "ops/element.h"

/// The longest n-gram that counts.
enum { LONGEST = 64 };

typedef struct pool {
  const int64_t *words;
  const int64_t *columns;
  const int32_t *slots;
  uint64_t mask;
  /// For each length - 1: where its first n-gram is in `words`, and the index of this n-gram. The
  /// entries after the longest length are the ends.
  int64_t start[LONGEST + 1], first[LONGEST + 1];
} pool;

/// Counts the window of `length` words from `x` on, which are `step` apart and have this hash.
/// Equal n-grams of the pool have a slot each, so the search ends at an empty slot.
static void count(const pool *pool, const int64_t *x, int64_t length, int64_t step, uint64_t hash, float *y) {
  int64_t first = pool->first[length - 1], end = pool->first[length], entry;
  for (uint64_t at = hash & pool->mask; (entry = pool->slots[at]) >= 0; at = (at + 1) & pool->mask) {
    if (entry < first || entry >= end || pool->columns[entry] < 0)
      continue;
    const int64_t *words = pool->words + pool->start[length - 1] + (entry - first) * length;
    int64_t same = 0;
    while (same < length && words[same] == x[same * step])
      ++same;
    if (same == length)
      y[pool->columns[entry]] += 1;
  }
}

static void countRow(const pool *pool, const int64_t *x, int64_t n, int64_t least, int64_t most, int64_t skips,
                     float *y) {
  for (int64_t step = 1; step <= skips + 1; ++step)
    for (int64_t i = 0; i < n; ++i) {
      uint64_t hash = 0;
      for (int64_t length = 1; length <= most && i + (length - 1) * step < n; ++length) {
        hash = hewn_hash_word(hash, (uint64_t)x[i + (length - 1) * step]);
        // Single words have no words between them to skip.
        if (length >= least && (length > 1 || step == 1) && pool->first[length] > pool->first[length - 1])
          count(pool, x + i, length, step, hash, y);
      }
    }
}

int32_t hewn_part_ngrams(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                         int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0], *weights = &inputs[5];
  int64_t lengths = inputs[2].dims[0], most = params[1] < LONGEST ? params[1] : LONGEST, slots = inputs[4].dims[0];
  if (x->dtype != HEWN_PART_INT64 || slots <= inputs[3].dims[0] || (slots & (slots - 1)) != 0)
    return hewn_part_refuse(context, node, x->dtype);
  pool pool = {inputs[1].data, inputs[3].data, inputs[4].data, (uint64_t)slots - 1, {0}, {0}};
  if (most > lengths)
    most = lengths;
  for (int64_t i = 0; i < most; ++i) {
    const int64_t *starts = inputs[2].data;
    pool.start[i] = starts[i];
    pool.start[i + 1] = i + 1 < lengths ? starts[i + 1] : inputs[1].dims[0];
    pool.first[i + 1] = pool.first[i] + (pool.start[i + 1] - pool.start[i]) / (i + 1);
  }
  int64_t rows = x->dims[0], n = x->dims[1], columns = outputs[0].dims[1];
  for (int64_t row = 0; row < rows; ++row) {
    float *y = (float *)outputs[0].data + row * columns;
    memset(y, 0, (size_t)columns * sizeof(float));
    countRow(&pool, (const int64_t *)x->data + row * n, n, params[0], most, params[2], y);
    const float *weight = weights->data;
    for (int64_t i = 0; i < weights->dims[0]; ++i)
      y[i] = (params[3] && y[i] > 1 ? 1 : y[i]) * weight[i];
  }
  return HEWN_OK;
}
