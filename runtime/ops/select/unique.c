// SPDX-License-Identifier: Apache-2.0
// Unique: sorts the slices with a stable merge sort of their indices, or single elements with a
// radix sort, then numbers the groups of equal slices.
#include "ops/element.h"

/// The input as [outer, n, inner]: slice i is x[:, i, :].
typedef struct slices {
  const unsigned char *data;
  int64_t outer, n, inner;
  int64_t bytes;
  int32_t dtype;
} slices;

/// Scratch arrays for sorting and grouping the slices, of n integers each.
typedef struct scratch {
  int64_t *order;   ///< sorted slices; later the groups in the order of output
  int64_t *other;   ///< second buffer of the sort; later the new numbers of the groups
  int64_t *first;   ///< for each group, its first slice
  int64_t *size;    ///< for each group, its number of slices
  int64_t *inverse; ///< for each slice, its group
} scratch;

static const char *textAt(const slices *s, int64_t i) {
  const char *text = hewn_handle_object(((const hewn_handle *)(const void *)s->data)[i]);
  return text ? text : "";
}

static int compareElements(const slices *s, int64_t a, int64_t b) {
  if (s->dtype == HEWN_PART_STRING)
    return strcmp(textAt(s, a), textAt(s, b));
  uint64_t keyA = hewn_part_key(s->data, a, s->dtype);
  uint64_t keyB = hewn_part_key(s->data, b, s->dtype);
  return (keyA > keyB) - (keyA < keyB);
}

/// Compares slices element by element.
static int compareSlices(const slices *s, int64_t a, int64_t b) {
  if (s->inner == 0) // slices are empty, and `outer` may be arbitrarily large
    return 0;
  for (int64_t o = 0; o < s->outer; ++o)
    for (int64_t i = 0; i < s->inner; ++i) {
      int order = compareElements(s, (o * s->n + a) * s->inner + i, (o * s->n + b) * s->inner + i);
      if (order != 0)
        return order;
    }
  return 0;
}

/// Merges the sorted runs [begin, middle) and [middle, end) of `from`.
static void merge(const slices *s, const int64_t *from, int64_t *to, int64_t begin, int64_t middle, int64_t end) {
  int64_t left = begin, right = middle;
  for (int64_t at = begin; at < end; ++at)
    if (left < middle && (right >= end || compareSlices(s, from[left], from[right]) <= 0))
      to[at] = from[left++];
    else
      to[at] = from[right++];
}

/// Sorts the slices with a stable merge sort, and writes their indices to `order`.
static void sortSlices(const slices *s, scratch *scratch) {
  for (int64_t i = 0; i < s->n; ++i)
    scratch->order[i] = i;
  for (int64_t run = 1; run < s->n; run *= 2) {
    for (int64_t begin = 0; begin < s->n; begin += 2 * run) {
      int64_t middle = begin + run < s->n ? begin + run : s->n;
      int64_t end = middle + run < s->n ? middle + run : s->n;
      merge(s, scratch->order, scratch->other, begin, middle, end);
    }
    int64_t *sorted = scratch->other;
    scratch->other = scratch->order;
    scratch->order = sorted;
  }
}

/// Sorts single elements with a radix sort of their keys, from the lowest byte on. Skips bytes that
/// are equal in all keys. `keys` has space for two integers per element.
static void sortElements(const slices *s, scratch *scratch, uint64_t *keys) {
  uint64_t *other = keys + s->n, differ = 0;
  for (int64_t i = 0; i < s->n; ++i) {
    scratch->order[i] = i;
    keys[i] = hewn_part_key(s->data, i, s->dtype);
    differ |= keys[i] ^ keys[0];
  }
  for (int shift = 0; shift < 64; shift += 8) {
    if (!(differ >> shift & 255))
      continue;
    int64_t begins[257] = {0};
    for (int64_t i = 0; i < s->n; ++i)
      ++begins[(keys[i] >> shift & 255) + 1];
    for (int byte = 0; byte < 256; ++byte)
      begins[byte + 1] += begins[byte];
    for (int64_t i = 0; i < s->n; ++i) {
      int64_t to = begins[keys[i] >> shift & 255]++;
      other[to] = keys[i];
      scratch->other[to] = scratch->order[i];
    }
    uint64_t *sortedKeys = other;
    int64_t *sorted = scratch->other;
    other = keys, keys = sortedKeys;
    scratch->other = scratch->order, scratch->order = sorted;
  }
}

/// Numbers the groups of equal slices in the order of their values. Returns the number of groups.
static int64_t groupSlices(const slices *s, scratch *scratch) {
  int64_t groups = 0;
  for (int64_t i = 0; i < s->n; ++i) {
    int64_t slice = scratch->order[i];
    if (i == 0 || compareSlices(s, scratch->order[i - 1], slice) != 0) {
      scratch->first[groups] = slice; // first occurrence, because the sort is stable
      scratch->size[groups++] = 0;
    }
    ++scratch->size[groups - 1];
    scratch->inverse[slice] = groups - 1;
  }
  return groups;
}

/// Sets `order` to the groups of equal slices in the order in which they are output, and `other` to
/// the inverse permutation.
static void orderGroups(const slices *s, scratch *scratch, int64_t groups, int isSorted) {
  int64_t at = 0;
  for (int64_t g = 0; isSorted && g < groups; ++g)
    scratch->order[at++] = g;
  for (int64_t i = 0; !isSorted && i < s->n; ++i)
    if (scratch->first[scratch->inverse[i]] == i)
      scratch->order[at++] = scratch->inverse[i];
  for (int64_t g = 0; g < groups; ++g)
    scratch->other[scratch->order[g]] = g;
}

static void writeOutputs(const slices *s, const scratch *scratch, int64_t groups, int32_t num_outputs,
                         hewn_part_tensor *outputs) {
  int64_t slice = s->inner * s->bytes;
  unsigned char *to = outputs[0].data;
  for (int64_t o = 0; slice > 0 && to && o < s->outer; ++o)
    for (int64_t g = 0; g < groups; ++g, to += slice) {
      int64_t from = o * s->n + scratch->first[scratch->order[g]];
      memcpy(to, s->data + from * slice, (size_t)slice);
    }
  int64_t *indices = num_outputs > 1 ? outputs[1].data : NULL;
  int64_t *inverse = num_outputs > 2 ? outputs[2].data : NULL;
  int64_t *counts = num_outputs > 3 ? outputs[3].data : NULL;
  for (int64_t g = 0; g < groups; ++g) {
    if (indices)
      indices[g] = scratch->first[scratch->order[g]];
    if (counts)
      counts[g] = scratch->size[scratch->order[g]];
  }
  for (int64_t i = 0; inverse && i < s->n; ++i)
    inverse[i] = scratch->other[scratch->inverse[i]];
  const int64_t sizes[] = {0, groups, s->n, groups};
  for (int32_t i = 1; i < num_outputs && i < 4; ++i)
    if (outputs[i].data)
      outputs[i].dims[0] = sizes[i];
}

int32_t hewn_part_unique(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                         int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  const hewn_part_tensor *x = &inputs[0];
  int64_t axis = params[1] ? hewn_part_axis(params[2], x->rank) : 0;
  if ((!hewn_part_is_ordered(x->dtype) && x->dtype != HEWN_PART_STRING) || axis < 0)
    return hewn_part_refuse(context, node, x->dtype);
  slices s = {x->data, 1, hewn_part_product(x->dims, 0, x->rank), 1, 0, x->dtype};
  s.bytes = hewn_part_bytes(x->dtype);
  if (params[1]) {
    s.outer = hewn_part_product(x->dims, 0, (int32_t)axis);
    s.n = x->dims[axis];
    s.inner = hewn_part_product(x->dims, (int32_t)axis + 1, x->rank);
  }
  int single = s.outer == 1 && s.inner == 1 && s.dtype != HEWN_PART_STRING;
  int64_t *memory =
      hewn_rt_alloc(context, hewn_size_mul(hewn_size_mul(single ? 7 : 5, s.n), (int64_t)sizeof(int64_t)), 64);
  if (!memory)
    return hewn_rt_code(context);
  scratch scratch = {memory, memory + s.n, memory + 2 * s.n, memory + 3 * s.n, memory + 4 * s.n};
  if (single)
    sortElements(&s, &scratch, (uint64_t *)(memory + 5 * s.n));
  else
    sortSlices(&s, &scratch);
  int64_t groups = groupSlices(&s, &scratch);
  orderGroups(&s, &scratch, groups, params[0] != 0);
  writeOutputs(&s, &scratch, groups, num_outputs, outputs);
  outputs[0].dims[axis] = groups;
  hewn_rt_free(context, memory);
  return HEWN_OK;
}
