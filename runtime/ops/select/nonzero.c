// SPDX-License-Identifier: Apache-2.0
// NonZero in two passes: counts the elements, then writes their coordinates, one row per dim.
#include "ops/element.h"

/// Returns the bits that make an element (or a component of a complex element) nonzero: all but the
/// sign of a float.
static uint64_t bitsThatCount(int32_t dtype) {
  switch (dtype) {
  case HEWN_PART_FLOAT:
  case HEWN_PART_COMPLEX64:
    return UINT32_MAX >> 1;
  case HEWN_PART_DOUBLE:
  case HEWN_PART_COMPLEX128:
    return UINT64_MAX >> 1;
  case HEWN_PART_FLOAT16:
  case HEWN_PART_BFLOAT16:
    return UINT16_MAX >> 1;
  default:
    return UINT64_MAX;
  }
}

/// Number of elements that are processed at once.
enum { TOGETHER = 64 };

/// Sets `is` to 1 for nonzero elements and to 0 for others, for `count` (at most TOGETHER)
/// elements. Returns the number of nonzero elements. `bytes` is the size of an element; components
/// of complex elements count as elements.
static int64_t markNonZero(const unsigned char *data, int64_t count, int64_t bytes, uint64_t bits, uint8_t *is) {
  const void *elements = data;
  unsigned found = 0;
#define MARK(type)                                                                                                     \
  for (int64_t i = 0; i < count; ++i)                                                                                  \
  found += is[i] = (((const type *)elements)[i] & (type)bits) != 0
  if (bytes == 8)
    MARK(uint64_t);
  else if (bytes == 4)
    MARK(uint32_t);
  else if (bytes == 2)
    MARK(uint16_t);
  else
    MARK(uint8_t);
#undef MARK
  return found;
}

/// Does the work of `markNonZero` for elements of any type, including complex ones.
static int64_t markElements(const unsigned char *data, int64_t count, int64_t bytes, int32_t dtype, uint8_t *is) {
  uint64_t bits = bitsThatCount(dtype);
  if (dtype != HEWN_PART_COMPLEX64 && dtype != HEWN_PART_COMPLEX128)
    return markNonZero(data, count, bytes, bits, is);
  uint8_t halves[2 * TOGETHER];
  int64_t found = 0;
  markNonZero(data, 2 * count, bytes / 2, bits, halves);
  for (int64_t i = 0; i < count; ++i)
    found += is[i] = halves[2 * i] | halves[2 * i + 1];
  return found;
}

/// Writes the index `first + i` for each `i` below `count` that is marked as nonzero. `n` is the
/// number of marked elements.
static void writeNumbers(const uint8_t *is, int64_t count, int64_t n, int64_t first, int64_t *out) {
  int64_t found[TOGETHER + 1], number = 0;
  if (n == count) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = first + i;
    return;
  }
  // Writes the index of every element, but advances the output position only for marked elements.
  // That needs no unpredictable branch.
  for (int64_t i = 0; i < count; ++i) {
    found[number] = first + i;
    number += is[i];
  }
  memcpy(out, found, (size_t)n * sizeof(*out));
}

int32_t hewn_part_nonzero(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                          int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  const hewn_part_tensor *x = &inputs[0];
  int64_t bytes = hewn_part_bytes(x->dtype);
  if (bytes == 0 || x->dtype == HEWN_PART_STRING)
    return hewn_part_refuse(context, node, x->dtype);
  const unsigned char *data = x->data;
  int64_t elements = hewn_part_product(x->dims, 0, x->rank), count = 0;
  uint8_t is[TOGETHER];
  for (int64_t i = 0; i < elements; i += TOGETHER)
    count += markElements(data + i * bytes, elements - i < TOGETHER ? elements - i : TOGETHER, bytes, x->dtype, is);
  // Processes the tensor by rows along the last dim, because all elements of a row have equal
  // coordinates in the other dims.
  int32_t last = x->rank - 1;
  int64_t width = x->rank > 0 ? x->dims[last] : 1, written = 0;
  int64_t *out = outputs[0].data;
  for (int64_t line = 0; count > 0 && line < elements; line += width) {
    for (int64_t from = 0; from < width; from += TOGETHER) {
      int64_t some = width - from < TOGETHER ? width - from : TOGETHER, rest = line / width;
      int64_t n = markElements(data + (line + from) * bytes, some, bytes, x->dtype, is);
      if (n == 0)
        continue;
      for (int32_t d = last; d-- > 0; rest /= x->dims[d]) {
        int64_t index = rest % x->dims[d];
        for (int64_t i = 0; i < n; ++i)
          out[d * count + written + i] = index;
      }
      if (last >= 0)
        writeNumbers(is, some, n, from, out + last * count + written);
      written += n;
    }
  }
  outputs[0].dims[0] = x->rank;
  outputs[0].dims[1] = count;
  return HEWN_OK;
}
