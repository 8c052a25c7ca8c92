// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_ELEMENT_H
#define HEWN_RUNTIME_PARTS_ELEMENT_H

/// \file
/// Elements of any ONNX type, for parts: sizes, order, conversion.

#include "hewn/services.h"
#include "sizes.h"

#include <string.h>

/// TensorProto.DataType.
enum hewn_part_dtype {
  HEWN_PART_FLOAT = 1,
  HEWN_PART_UINT8 = 2,
  HEWN_PART_INT8 = 3,
  HEWN_PART_UINT16 = 4,
  HEWN_PART_INT16 = 5,
  HEWN_PART_INT32 = 6,
  HEWN_PART_INT64 = 7,
  HEWN_PART_STRING = 8,
  HEWN_PART_BOOL = 9,
  HEWN_PART_FLOAT16 = 10,
  HEWN_PART_DOUBLE = 11,
  HEWN_PART_UINT32 = 12,
  HEWN_PART_UINT64 = 13,
  HEWN_PART_COMPLEX64 = 14,
  HEWN_PART_COMPLEX128 = 15,
  HEWN_PART_BFLOAT16 = 16
};

/// Bytes of an element; 0 for types that no part takes (those below a byte).
int64_t hewn_part_bytes(int32_t dtype);

/// DLPack's type of such elements; `isText`: they are strings.
DLDataType hewn_part_dlpack(int32_t dtype, int isText);

/// The product of dims[from] .. dims[to - 1].
int64_t hewn_part_product(const int64_t *dims, int32_t from, int32_t to);

/// An axis in 0..rank-1, also from the end; negative when there is no such.
int64_t hewn_part_axis(int64_t axis, int32_t rank);

/// Records that a part does not take `dtype`, and returns the code.
int32_t hewn_part_refuse(hewn_context *context, const char *node, int32_t dtype);

/// Turns float bits into a number whose unsigned order is the floats' order:
/// -0 equals 0, and every NaN is above infinity.
static inline uint64_t hewn_part_float_key(uint64_t bits, int width, uint64_t infinity) {
  uint64_t sign = UINT64_C(1) << (width - 1);
  uint64_t magnitude = bits & (sign - 1);
  if (magnitude > infinity)
    return sign | (sign - 1);
  return bits & sign ? sign - magnitude : sign + magnitude;
}

/// A number whose unsigned order is the order of the elements. For all numeric
/// types of up to 64 bits, and bool.
static inline uint64_t hewn_part_key(const void *data, int64_t index, int32_t dtype) {
  const uint64_t sign = UINT64_C(1) << 63;
  switch (dtype) {
  case HEWN_PART_FLOAT: {
    uint32_t bits = ((const uint32_t *)data)[index];
    return hewn_part_float_key(bits, 32, 0x7f800000);
  }
  case HEWN_PART_DOUBLE:
    return hewn_part_float_key(((const uint64_t *)data)[index], 64, UINT64_C(0x7ff0000000000000));
  case HEWN_PART_FLOAT16:
    return hewn_part_float_key(((const uint16_t *)data)[index], 16, 0x7c00);
  case HEWN_PART_BFLOAT16:
    return hewn_part_float_key(((const uint16_t *)data)[index], 16, 0x7f80);
  case HEWN_PART_INT8:
    return (uint64_t)((const int8_t *)data)[index] ^ sign;
  case HEWN_PART_INT16:
    return (uint64_t)((const int16_t *)data)[index] ^ sign;
  case HEWN_PART_INT32:
    return (uint64_t)((const int32_t *)data)[index] ^ sign;
  case HEWN_PART_INT64:
    return (uint64_t)((const int64_t *)data)[index] ^ sign;
  case HEWN_PART_UINT16:
    return ((const uint16_t *)data)[index];
  case HEWN_PART_UINT32:
    return ((const uint32_t *)data)[index];
  case HEWN_PART_UINT64:
    return ((const uint64_t *)data)[index];
  default: // uint8, bool
    return ((const uint8_t *)data)[index];
  }
}

/// Whether `hewn_part_key` knows the type.
static inline int hewn_part_is_ordered(int32_t dtype) {
  return hewn_part_bytes(dtype) > 0 && dtype != HEWN_PART_STRING && dtype != HEWN_PART_COMPLEX64 &&
         dtype != HEWN_PART_COMPLEX128;
}

/// Element `index` as a double; for real numeric types and bool.
double hewn_part_load(const void *data, int64_t index, int32_t dtype);

/// Stores a double, rounded to nearest even, or cut to an integer.
void hewn_part_store(void *data, int64_t index, int32_t dtype, double value);

/// The float whose bits are the low half of a parameter.
static inline float hewn_part_float(int64_t parameter) {
  uint32_t bits = (uint32_t)((uint64_t)parameter & 0xffffffffu);
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Copies one element of `bytes` bytes.
static inline void hewn_part_copy(void *to, int64_t to_index, const void *from, int64_t from_index, int64_t bytes) {
  memcpy((unsigned char *)to + to_index * bytes, (const unsigned char *)from + from_index * bytes, (size_t)bytes);
}

#endif // HEWN_RUNTIME_PARTS_ELEMENT_H
