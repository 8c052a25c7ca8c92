// SPDX-License-Identifier: Apache-2.0
#include "ops/scatter/combine.h"

/// Combines two 16-bit floats: computes in double and rounds the result once to the 16-bit type.
/// This gives the same bits as arithmetic in the 16-bit type.
static void combineHalves(void *to, int64_t to_index, const void *from, int64_t from_index, int32_t dtype,
                          int64_t reduction) {
  double a = hewn_part_load(to, to_index, dtype), b = hewn_part_load(from, from_index, dtype);
  double result = reduction == HEWN_PART_ADD   ? a + b
                  : reduction == HEWN_PART_MUL ? a * b
                  : a != a                     ? a
                  : reduction == HEWN_PART_MAX ? (a > b ? a : b)
                                               : (a < b ? a : b);
  hewn_part_store(to, to_index, dtype, result);
}

/// Combines an element with an update of a scatter op. NaN takes precedence over numbers, as in
/// numpy's maximum.
#define COMBINE(type, wide, a, b)                                                                                      \
  (type)(reduction == HEWN_PART_ADD   ? (type)((wide)(a) + (wide)(b))                                                  \
         : reduction == HEWN_PART_MUL ? (type)((wide)(a) * (wide)(b))                                                  \
         : (a) != (a)                 ? (a)                                                                            \
         : reduction == HEWN_PART_MAX ? ((a) > (b) ? (a) : (b))                                                        \
                                      : ((a) < (b) ? (a) : (b)))
// Integer elements wrap around on overflow: additions and multiplications are computed in unsigned
// types.
#define CASE(code, type, wide)                                                                                         \
  case code: {                                                                                                         \
    type *place = (type *)to + to_index, a = *place, b = ((const type *)from)[from_index];                             \
    *place = COMBINE(type, wide, a, b);                                                                                \
    return;                                                                                                            \
  }

static void combineElement(void *to, int64_t to_index, const void *from, int64_t from_index, int32_t dtype,
                           int64_t reduction) {
  switch (dtype) {
    CASE(HEWN_PART_FLOAT, float, float)
    CASE(HEWN_PART_DOUBLE, double, double)
    CASE(HEWN_PART_INT8, int8_t, uint32_t)
    CASE(HEWN_PART_INT16, int16_t, uint32_t)
    CASE(HEWN_PART_INT32, int32_t, uint32_t)
    CASE(HEWN_PART_INT64, int64_t, uint64_t)
    CASE(HEWN_PART_UINT8, uint8_t, uint32_t)
    CASE(HEWN_PART_BOOL, uint8_t, uint32_t)
    CASE(HEWN_PART_UINT16, uint16_t, uint32_t)
    CASE(HEWN_PART_UINT32, uint32_t, uint32_t)
    CASE(HEWN_PART_UINT64, uint64_t, uint64_t)
  default:
    combineHalves(to, to_index, from, from_index, dtype, reduction);
  }
}

/// Combines `count` float32 elements at the positions `AT` with the elements of `terms`.
#define FLOATS(AT)                                                                                                     \
  switch (reduction) {                                                                                                 \
  case HEWN_PART_ADD:                                                                                                  \
    for (int64_t i = 0; i < count; ++i)                                                                                \
      places[AT] += terms[i];                                                                                          \
    return;                                                                                                            \
  case HEWN_PART_MUL:                                                                                                  \
    for (int64_t i = 0; i < count; ++i)                                                                                \
      places[AT] *= terms[i];                                                                                          \
    return;                                                                                                            \
  case HEWN_PART_MAX:                                                                                                  \
    for (int64_t i = 0; i < count; ++i) {                                                                              \
      float a = places[AT], b = terms[i];                                                                              \
      places[AT] = ((a > b) | (a != a)) ? a : b;                                                                       \
    }                                                                                                                  \
    return;                                                                                                            \
  default:                                                                                                             \
    for (int64_t i = 0; i < count; ++i) {                                                                              \
      float a = places[AT], b = terms[i];                                                                              \
      places[AT] = ((a < b) | (a != a)) ? a : b;                                                                       \
    }                                                                                                                  \
  }

static void combineFloats(float *places, const float *terms, int64_t count, int64_t reduction) { FLOATS(i) }

static void combineFloatsAt(float *places, const int64_t *positions, const float *terms, int64_t count,
                            int64_t reduction) {
  FLOATS(positions[i])
}

void hewn_part_combine(void *to, int64_t to_index, const void *from, int64_t from_index, int64_t count, int32_t dtype,
                       int64_t reduction) {
  if (reduction == HEWN_PART_REPLACE) {
    int64_t bytes = hewn_part_bytes(dtype);
    memcpy((unsigned char *)to + to_index * bytes, (const unsigned char *)from + from_index * bytes,
           (size_t)(count * bytes));
  } else if (dtype == HEWN_PART_FLOAT) {
    combineFloats((float *)to + to_index, (const float *)from + from_index, count, reduction);
  } else {
    for (int64_t i = 0; i < count; ++i)
      combineElement(to, to_index + i, from, from_index + i, dtype, reduction);
  }
}

void hewn_part_combine_at(void *to, const int64_t *positions, const void *from, int64_t from_index, int64_t count,
                          int32_t dtype, int64_t reduction) {
  int64_t bytes = hewn_part_bytes(dtype);
  if (reduction != HEWN_PART_REPLACE && dtype == HEWN_PART_FLOAT)
    combineFloatsAt(to, positions, (const float *)from + from_index, count, reduction);
  else if (reduction != HEWN_PART_REPLACE)
    for (int64_t i = 0; i < count; ++i)
      combineElement(to, positions[i], from, from_index + i, dtype, reduction);
  else if (bytes == 4)
    for (int64_t i = 0; i < count; ++i)
      hewn_part_copy(to, positions[i], from, from_index + i, 4);
  else
    for (int64_t i = 0; i < count; ++i)
      hewn_part_copy(to, positions[i], from, from_index + i, bytes);
}
