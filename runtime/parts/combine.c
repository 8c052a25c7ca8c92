// SPDX-License-Identifier: Apache-2.0
#include "combine.h"

// Integers wrap: sums and products are taken unsigned.
#define INTEGERS(type, wide)                                                                                           \
  for (int64_t i = 0; i < count; ++i) {                                                                                \
    type *a = (type *)to + to_index + i;                                                                               \
    type b = ((const type *)from)[from_index + i];                                                                     \
    if (reduction == HEWN_PART_ADD)                                                                                    \
      *a = (type)((wide) * a + (wide)b);                                                                               \
    else if (reduction == HEWN_PART_MUL)                                                                               \
      *a = (type)((wide) * a * (wide)b);                                                                               \
    else if (reduction == HEWN_PART_MAX ? b > *a : b < *a)                                                             \
      *a = b;                                                                                                          \
  }                                                                                                                    \
  break

/// NaN wins over numbers, as in numpy's maximum.
static double combineFloats(double a, double b, int64_t reduction) {
  switch (reduction) {
  case HEWN_PART_ADD:
    return a + b;
  case HEWN_PART_MUL:
    return a * b;
  case HEWN_PART_MAX:
    return a != a || a > b ? a : b;
  default:
    return a != a || a < b ? a : b;
  }
}

void hewn_part_combine(void *to, int64_t to_index, const void *from, int64_t from_index, int64_t count, int32_t dtype,
                       int64_t reduction) {
  if (reduction == HEWN_PART_REPLACE) {
    int64_t bytes = hewn_part_bytes(dtype);
    memcpy((unsigned char *)to + to_index * bytes, (const unsigned char *)from + from_index * bytes,
           (size_t)(count * bytes));
    return;
  }
  switch (dtype) {
  case HEWN_PART_INT8:
    INTEGERS(int8_t, uint32_t);
  case HEWN_PART_INT16:
    INTEGERS(int16_t, uint32_t);
  case HEWN_PART_INT32:
    INTEGERS(int32_t, uint32_t);
  case HEWN_PART_INT64:
    INTEGERS(int64_t, uint64_t);
  case HEWN_PART_UINT8:
  case HEWN_PART_BOOL:
    INTEGERS(uint8_t, uint32_t);
  case HEWN_PART_UINT16:
    INTEGERS(uint16_t, uint32_t);
  case HEWN_PART_UINT32:
    INTEGERS(uint32_t, uint32_t);
  case HEWN_PART_UINT64:
    INTEGERS(uint64_t, uint64_t);
  default: // A sum of two floats in double, rounded once, is their sum in their own type.
    for (int64_t i = 0; i < count; ++i)
      hewn_part_store(to, to_index + i, dtype,
                      combineFloats(hewn_part_load(to, to_index + i, dtype),
                                    hewn_part_load(from, from_index + i, dtype), reduction));
  }
}
