// SPDX-License-Identifier: Apache-2.0
// No include guard: topk.c includes this file once for each width of entries. ENTRY is an unsigned
// integer type, KEY_BITS half of its width, and NAME(x) the name of function x for this type.

/// Packs the key of an element and its index into one integer, which is larger for better elements.
static inline ENTRY NAME(pack)(const row *row, uint64_t key, int64_t i) {
#if KEY_BITS == 32
  // Truncated keys of signed types keep their order if the sign bit is inverted.
  key = (uint32_t)key ^ row->sign;
  return (ENTRY)(uint32_t)(key ^ row->flip) << KEY_BITS | (uint32_t)~i;
#else
  return (ENTRY)(key ^ row->flip) << KEY_BITS | (uint64_t)~i;
#endif
}

static inline ENTRY NAME(entryOf)(const row *row, int64_t i) {
  return NAME(pack)(row, hewn_part_key(row->input, i * row->stride, row->dtype), i);
}

/// Returns the same as `entryOf`, by a call, for loops over few elements.
__attribute__((noinline)) static ENTRY NAME(entryAt)(const row *row, int64_t i) { return NAME(entryOf)(row, i); }

/// Returns the index of the element of an entry.
static inline int64_t NAME(indexOf)(ENTRY entry) {
#if KEY_BITS == 32
  return (int64_t)(uint32_t)~entry;
#else
  return (int64_t)(uint64_t)~entry;
#endif
}

/// Inserts `entry` into the heap of `size` entries (the least on top) at `slot` or below.
static void NAME(sink)(ENTRY *heap, int64_t slot, int64_t size, ENTRY entry) {
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

/// Builds a heap of the first k elements of a row.
static void NAME(fill)(const row *row, ENTRY *heap, int64_t k) {
  for (int64_t i = 0; i < k; ++i)
    heap[i] = NAME(entryAt)(row, i);
  for (int64_t i = k / 2; i-- > 0;)
    NAME(sink)(heap, i, k, heap[i]);
}

/// Writes the elements of the heap to the outputs, best first.
static void NAME(finish)(const row *row, ENTRY *heap, int64_t k) {
  for (int64_t i = k; i-- > 1;) {
    ENTRY least = heap[0];
    NAME(sink)(heap, 0, i, heap[i]);
    heap[i] = least;
  }
  for (int64_t i = 0; i < k; ++i)
    put(row, i, NAME(indexOf)(heap[i]));
}

/// Adds TOGETHER elements from index `i` on, which have the keys `keys`, to the heap of the k best.
/// Returns 1 if the heap has changed.
static int NAME(addBlock)(const row *row, const uint64_t *keys, int64_t i, ENTRY *heap, int64_t k) {
  ENTRY entries[TOGETHER], least = heap[0];
  int better = 0, changed = 0;
  for (int j = 0; j < TOGETHER; ++j)
    entries[j] = NAME(pack)(row, keys[j], i + j);
  for (int j = 0; j < TOGETHER; ++j)
    better |= (entries[j] > least) << j;
  for (; better; better &= better - 1) {
    ENTRY entry = entries[__builtin_ctz((unsigned)better)];
    if (entry <= heap[0])
      continue;
    NAME(sink)(heap, 0, k, entry);
    changed = 1;
  }
  return changed;
}

/// Selects the k best elements of a single row.
static void NAME(selectLine)(const row *row, int64_t n, int64_t k, ENTRY *heap) {
  worst worst;
  uint64_t keys[TOGETHER];
  NAME(fill)(row, heap, k);
  for (int64_t i = k, fresh = 1; i < n;) {
    if (row->stride == 1 && i + TOGETHER <= n) {
      if (fresh)
        setAllWorst(row, &worst, NAME(indexOf)(heap[0]));
      i = row->access->scan(row->input, 1, TOGETHER, i, n, &worst);
      fresh = 0;
      if (i + TOGETHER > n)
        continue;
      row->access->keys(row->input, i, keys);
      fresh = NAME(addBlock)(row, keys, i, heap, k);
      i += TOGETHER;
    } else {
      ENTRY entry = NAME(entryAt)(row, i++);
      if (entry > heap[0])
        NAME(sink)(heap, 0, k, entry);
    }
  }
  NAME(finish)(row, heap, k);
}

/// Selects the k best elements of each of TOGETHER adjacent rows.
static void NAME(selectLines)(const row *rows, int64_t n, int64_t k, ENTRY *heaps) {
  const access *access = rows[0].access;
  worst worst;
  uint64_t keys[TOGETHER];
  for (int j = 0; j < TOGETHER; ++j) {
    NAME(fill)(&rows[j], heaps + j * k, k);
    setWorst(&rows[j], &worst, j, NAME(indexOf)(heaps[j * k]));
  }
  for (int64_t i = k; (i = access->scan(rows[0].input, rows[0].stride, 1, i, n, &worst)) < n; ++i) {
    access->keys(rows[0].input, i * rows[0].stride, keys);
    for (int j = 0; j < TOGETHER; ++j) {
      ENTRY entry = NAME(pack)(&rows[j], keys[j], i), *heap = heaps + j * k;
      if (entry <= heap[0])
        continue;
      NAME(sink)(heap, 0, k, entry);
      setWorst(&rows[j], &worst, j, NAME(indexOf)(heap[0]));
    }
  }
  for (int j = 0; j < TOGETHER; ++j)
    NAME(finish)(&rows[j], heaps + j * k, k);
}

/// Sorts all elements of a row by radix sort, and writes the k best. `entries` has space for 2 n
/// entries.
static void NAME(sortLine)(const row *row, int64_t n, int64_t k, ENTRY *entries) {
  enum { DIGITS = KEY_BITS / 8 };
  int64_t counts[DIGITS][256];
  ENTRY *from = entries, *to = entries + n;
  memset(counts, 0, sizeof(counts));
  for (int64_t i = 0; i < n; ++i) {
    from[i] = NAME(entryOf)(row, i);
    for (int digit = 0; digit < DIGITS; ++digit)
      ++counts[digit][(uint8_t)(from[i] >> (KEY_BITS + 8 * digit))];
  }
  for (int digit = 0; digit < DIGITS; ++digit) {
    int shift = KEY_BITS + 8 * digit;
    int64_t *count = counts[digit], start = 0;
    if (count[(uint8_t)(from[0] >> shift)] == n) // all elements have this digit
      continue;
    for (int value = 256; value-- > 0;) { // the best first
      int64_t here = count[value];
      count[value] = start;
      start += here;
    }
    // Equal elements stay in the order of their indices.
    for (int64_t i = 0; i < n; ++i)
      to[count[(uint8_t)(from[i] >> shift)]++] = from[i];
    ENTRY *sorted = to;
    to = from;
    from = sorted;
  }
  for (int64_t i = 0; i < k; ++i)
    put(row, i, NAME(indexOf)(from[i]));
}
