// SPDX-License-Identifier: Apache-2.0
// TopK by a heap of the k best, kept in the outputs themselves: no scratch,
// n log k steps, most of which only compare with the worst of the best.
#include "element.h"

/// One row of the input and its k outputs. All have the same stride.
typedef struct row {
  const unsigned char *input;
  unsigned char *values;
  int64_t *indices;
  int64_t stride;
  int64_t bytes;
  int32_t dtype;
  uint64_t flip; ///< all ones for the smallest instead of the largest
} row;

/// The order in which the larger key wins, whatever `largest` says.
static uint64_t keyOf(const row *row, const void *data, int64_t at) {
  return hewn_part_key(data, at * row->stride, row->dtype) ^ row->flip;
}

/// Entry `a` of the heap is worse than entry `b`.
static int isWorse(const row *row, int64_t a, int64_t b) {
  uint64_t keyA = keyOf(row, row->values, a);
  uint64_t keyB = keyOf(row, row->values, b);
  if (keyA != keyB)
    return keyA < keyB;
  return row->indices[a * row->stride] > row->indices[b * row->stride];
}

static void put(const row *row, int64_t slot, int64_t index) {
  hewn_part_copy(row->values, slot * row->stride, row->input, index * row->stride, row->bytes);
  row->indices[slot * row->stride] = index;
}

static void swap(const row *row, int64_t a, int64_t b) {
  unsigned char held[8];
  int64_t index = row->indices[a * row->stride];
  hewn_part_copy(held, 0, row->values, a * row->stride, row->bytes);
  hewn_part_copy(row->values, a * row->stride, row->values, b * row->stride, row->bytes);
  hewn_part_copy(row->values, b * row->stride, held, 0, row->bytes);
  row->indices[a * row->stride] = row->indices[b * row->stride];
  row->indices[b * row->stride] = index;
}

/// Restores the heap of `size` entries (the worst on top) below `slot`.
static void siftDown(const row *row, int64_t slot, int64_t size) {
  for (;;) {
    int64_t child = 2 * slot + 1;
    if (child >= size)
      return;
    if (child + 1 < size && isWorse(row, child + 1, child))
      ++child;
    if (!isWorse(row, child, slot))
      return;
    swap(row, child, slot);
    slot = child;
  }
}

/// How many elements are passed over at once.
enum { TOGETHER = 16 };

/// The first index from `i` on whose float may be better than the worst of the best: most are passed over here, many at once.
static int64_t passOver(const row *row, int64_t i, int64_t n) {
  if (row->dtype != HEWN_PART_FLOAT || row->stride != 1)
    return i;
  const float *values = (const float *)row->input;
  float worst = *(const float *)row->values;
  int smallest = row->flip != 0;
  for (; i + TOGETHER <= n; i += TOGETHER) {
    int better = 0;
    for (int j = 0; j < TOGETHER; ++j) // whatever is no number is looked at
      better |= smallest ? !(values[i + j] >= worst) : !(values[i + j] <= worst);
    if (better)
      return i;
  }
  return i;
}

static void selectRow(const row *row, int64_t n, int64_t k) {
  for (int64_t i = 0; i < k; ++i)
    put(row, i, i);
  for (int64_t i = k / 2; i-- > 0;)
    siftDown(row, i, k);
  uint64_t worst = keyOf(row, row->values, 0);
  int64_t checked = k; // nothing before it is passed over unseen
  for (int64_t i = k; i < n; ++i) {
    if (i == checked) {
      i = passOver(row, i, n);
      checked = i + TOGETHER;
      if (i >= n)
        break;
    }
    // Of equal values the one that came first stays.
    if (keyOf(row, row->input, i) <= worst)
      continue;
    put(row, 0, i);
    siftDown(row, 0, k);
    worst = keyOf(row, row->values, 0);
  }
  for (int64_t i = k; i-- > 1;) { // The worst to the end: best first.
    swap(row, 0, i);
    siftDown(row, 0, i);
  }
}

int32_t hewn_part_topk(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                       int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0];
  int64_t axis = hewn_part_axis(params[0], x->rank);
  if (!hewn_part_is_ordered(x->dtype) || axis < 0)
    return hewn_part_refuse(context, node, x->dtype);
  int64_t n = x->dims[axis];
  int64_t k = outputs[0].dims[axis];
  if (k < 0 || k > n)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "k = {a} is outside 0..{b}", k, n);
  int64_t outer = hewn_part_product(x->dims, 0, (int32_t)axis);
  int64_t inner = hewn_part_product(x->dims, (int32_t)axis + 1, x->rank);
  int64_t bytes = hewn_part_bytes(x->dtype);
  for (int64_t o = 0; k > 0 && o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      int64_t from = o * n * inner + i;
      int64_t to = o * k * inner + i;
      row row = {(const unsigned char *)x->data + from * bytes,
                 (unsigned char *)outputs[0].data + to * bytes,
                 (int64_t *)outputs[1].data + to,
                 inner,
                 bytes,
                 x->dtype,
                 params[1] ? 0 : UINT64_MAX};
      selectRow(&row, n, k);
    }
  return HEWN_OK;
}
