// SPDX-License-Identifier: Apache-2.0
// NonZero in two passes: count, then write the coordinates, one row a dim.
#include "parts/element.h"

static int isNonZero(const unsigned char *element, int64_t bytes, int32_t dtype) {
  int isFloat = dtype == HEWN_PART_FLOAT || dtype == HEWN_PART_DOUBLE || dtype == HEWN_PART_FLOAT16 ||
                dtype == HEWN_PART_BFLOAT16;
  unsigned any = 0;
  if (dtype == HEWN_PART_COMPLEX64 || dtype == HEWN_PART_COMPLEX128) {
    int32_t part = dtype == HEWN_PART_COMPLEX64 ? HEWN_PART_FLOAT : HEWN_PART_DOUBLE;
    return isNonZero(element, bytes / 2, part) || isNonZero(element + bytes / 2, bytes / 2, part);
  }
  for (int64_t i = 0; i + 1 < bytes; ++i)
    any |= element[i];
  // The sign of a zero does not count.
  any |= isFloat ? element[bytes - 1] & 0x7fu : element[bytes - 1];
  return any != 0;
}

/// How many elements are looked at before their coordinates are written.
enum { TOGETHER = 256 };

/// Leaves the numbers of those of `count` (at most TOGETHER) elements that are not zero in `found`; returns how many.
static int64_t findNonZero(const unsigned char *data, int64_t count, int64_t bytes, int32_t dtype, int64_t *found) {
  int64_t n = 0;
  // Written always, counted where it holds: no branch to guess.
#define FIND(condition)                                                                                                \
  for (int64_t i = 0; i < count; ++i) {                                                                                \
    found[n] = i;                                                                                                      \
    n += (condition);                                                                                                  \
  }                                                                                                                    \
  return n
  const void *elements = data;
  switch (dtype) {
  case HEWN_PART_FLOAT:
    FIND(((const float *)elements)[i] != 0.0f);
  case HEWN_PART_INT32:
  case HEWN_PART_UINT32:
    FIND(((const uint32_t *)elements)[i] != 0);
  case HEWN_PART_INT64:
  case HEWN_PART_UINT64:
    FIND(((const uint64_t *)elements)[i] != 0);
  case HEWN_PART_BOOL:
  case HEWN_PART_INT8:
  case HEWN_PART_UINT8:
    FIND(data[i] != 0);
  default:
    FIND(isNonZero(data + i * bytes, bytes, dtype));
  }
#undef FIND
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
  int64_t elements = hewn_part_product(x->dims, 0, x->rank), found[TOGETHER];
  int64_t count = 0;
  for (int64_t i = 0; i < elements; i += TOGETHER)
    count += findNonZero(data + i * bytes, elements - i < TOGETHER ? elements - i : TOGETHER, bytes, x->dtype, found);
  // Lines along the last dim: their other coordinates are the same for all that is found in one.
  int32_t last = x->rank - 1;
  int64_t width = x->rank > 0 ? x->dims[last] : 1, written = 0;
  int64_t *out = outputs[0].data;
  for (int64_t line = 0; count > 0 && line < elements; line += width) {
    for (int64_t from = 0; from < width; from += TOGETHER) {
      int64_t n = findNonZero(data + (line + from) * bytes, width - from < TOGETHER ? width - from : TOGETHER, bytes,
                              x->dtype, found);
      int64_t rest = line / width;
      for (int32_t d = last; d-- > 0; rest /= x->dims[d])
        for (int64_t i = 0; i < n; ++i)
          out[d * count + written + i] = rest % x->dims[d];
      for (int64_t i = 0; last >= 0 && i < n; ++i)
        out[last * count + written + i] = from + found[i];
      written += n;
    }
  }
  outputs[0].dims[0] = x->rank;
  outputs[0].dims[1] = count;
  return HEWN_OK;
}
