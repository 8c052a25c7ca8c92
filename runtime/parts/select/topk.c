// SPDX-License-Identifier: Apache-2.0
// TopK by a heap of the k best: n log k steps, most of which only compare with
// the worst of the best. Elements of up to 32 bits and their indices are one
// number each, in scratch memory; of others the heap is in the outputs.
#include "parts/element.h"

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

static void selectRow(const row *row, int64_t n, int64_t k) {
  for (int64_t i = 0; i < k; ++i)
    put(row, i, i);
  for (int64_t i = k / 2; i-- > 0;)
    siftDown(row, i, k);
  uint64_t worst = keyOf(row, row->values, 0);
  for (int64_t i = k; i < n; ++i) {
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

/// Lines that lie side by side and are gone through together, and elements of one line that are passed over at once.
enum { TOGETHER = 16 };

/// Element `i` of a line and its index as one number; the larger ones are better.
static uint64_t entryOf(const row *row, int64_t i) {
  uint32_t key = (uint32_t)hewn_part_key(row->input, i * row->stride, row->dtype);
  if (row->dtype == HEWN_PART_INT8 || row->dtype == HEWN_PART_INT16 || row->dtype == HEWN_PART_INT32)
    key ^= UINT32_C(1) << 31;
  return (uint64_t)(key ^ (uint32_t)row->flip) << 32 | ~(uint32_t)i;
}

/// Puts `entry` into the heap of `size` numbers (the least on top) at `slot`, or below it.
static void sink(uint64_t *heap, int64_t slot, int64_t size, uint64_t entry) {
  for (;;) {
    int64_t child = 2 * slot + 1;
    if (child >= size)
      break;
    child += child + 1 < size && heap[child + 1] < heap[child];
    if (heap[child] >= entry)
      break;
    heap[slot] = heap[child];
    slot = child;
  }
  heap[slot] = entry;
}

/// The k best of the first k elements: a heap.
static void fill(const row *row, uint64_t *heap, int64_t k) {
  for (int64_t i = 0; i < k; ++i)
    heap[i] = entryOf(row, i);
  for (int64_t i = k / 2; i-- > 0;)
    sink(heap, i, k, heap[i]);
}

/// Writes what is in the heap, best first.
static void finish(const row *row, uint64_t *heap, int64_t k) {
  for (int64_t i = k; i-- > 1;) {
    uint64_t least = heap[0];
    sink(heap, 0, i, heap[i]);
    heap[i] = least;
  }
  for (int64_t i = 0; i < k; ++i)
    put(row, i, (int64_t)(uint32_t)~heap[i]);
}

/// The number of the best's worst, as float.
static float worstOf(const row *row, const uint64_t *heap) {
  return ((const float *)row->input)[(int64_t)(uint32_t)~heap[0] * row->stride];
}

/// Whether a float may be better than the worst of its line; whatever is no number is looked at.
static int isBetter(float value, float worst, int smallest) { return smallest ? !(value >= worst) : !(value <= worst); }

/// Whether any of some floats may be better than the worst of its line; whatever is no number is looked at.
static int anyBetter(const float *values, const float *worst, int smallest) {
  int better = 0;
  if (smallest)
    for (int j = 0; j < TOGETHER; ++j)
      better |= isBetter(values[j], worst[j], 1);
  else
    for (int j = 0; j < TOGETHER; ++j)
      better |= isBetter(values[j], worst[j], 0);
  return better;
}

/// A line of its own.
static void selectLine(const row *row, int64_t n, int64_t k, uint64_t *heap) {
  fill(row, heap, k);
  int passes = row->dtype == HEWN_PART_FLOAT && row->stride == 1, smallest = row->flip != 0;
  float worst[TOGETHER];
  int fresh = 1;
  for (int64_t i = k; i < n;) {
    int64_t end = n - i < TOGETHER ? n : i + TOGETHER;
    if (passes && fresh)
      for (int j = 0; j < TOGETHER; ++j)
        worst[j] = worstOf(row, heap);
    fresh = 0;
    if (passes && i + TOGETHER <= n && !anyBetter((const float *)row->input + i, worst, smallest)) {
      i = end;
      continue;
    }
    for (; i < end; ++i) {
      if (passes && !isBetter(((const float *)row->input)[i], worst[0], smallest))
        continue;
      uint64_t entry = entryOf(row, i);
      if (entry <= heap[0])
        continue;
      sink(heap, 0, k, entry);
      worst[0] = passes ? worstOf(row, heap) : 0;
      fresh = 1;
    }
  }
  finish(row, heap, k);
}

/// TOGETHER lines side by side.
static void selectLines(const row *rows, int64_t n, int64_t k, uint64_t *heaps) {
  int passes = rows[0].dtype == HEWN_PART_FLOAT, smallest = rows[0].flip != 0;
  float worst[TOGETHER];
  for (int j = 0; j < TOGETHER; ++j) {
    fill(&rows[j], heaps + j * k, k);
    if (passes)
      worst[j] = worstOf(&rows[j], heaps + j * k);
  }
  for (int64_t i = k; i < n; ++i) {
    const float *values = (const float *)rows[0].input + i * rows[0].stride;
    if (passes && !anyBetter(values, worst, smallest))
      continue;
    for (int j = 0; j < TOGETHER; ++j) {
      uint64_t entry = entryOf(&rows[j], i), *heap = heaps + j * k;
      if (entry <= heap[0])
        continue;
      sink(heap, 0, k, entry);
      if (passes)
        worst[j] = worstOf(&rows[j], heap);
    }
  }
  for (int j = 0; j < TOGETHER; ++j)
    finish(&rows[j], heaps + j * k, k);
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
  int packs = bytes <= 4 && n <= (int64_t)UINT32_MAX;
  uint64_t *heaps = NULL;
  if (packs && k > 0) {
    heaps = hewn_rt_alloc(
        context, hewn_size_mul(hewn_size_mul(inner < TOGETHER ? 1 : TOGETHER, k), (int64_t)sizeof(uint64_t)), 64);
    if (!heaps)
      return hewn_rt_code(context);
  }
  for (int64_t o = 0; k > 0 && o < outer; ++o)
    for (int64_t i = 0; i < inner;) {
      row rows[TOGETHER];
      int64_t count = packs && inner - i >= TOGETHER ? TOGETHER : 1;
      for (int64_t j = 0; j < count; ++j) {
        int64_t from = o * n * inner + i + j, to = o * k * inner + i + j;
        rows[j] = (row){(const unsigned char *)x->data + from * bytes,
                        (unsigned char *)outputs[0].data + to * bytes,
                        (int64_t *)outputs[1].data + to,
                        inner,
                        bytes,
                        x->dtype,
                        params[1] ? 0 : UINT64_MAX};
      }
      i += count;
      if (!packs)
        selectRow(rows, n, k);
      else if (count == 1)
        selectLine(rows, n, k, heaps);
      else
        selectLines(rows, n, k, heaps);
    }
  hewn_rt_free(context, heaps);
  return HEWN_OK;
}
