// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_ELEMENT_H
#define HEWN_RUNTIME_PARTS_ELEMENT_H

/// \file
/// Elements of any ONNX type, for runtime functions: sizes, order, conversion.

#include "core/sizes.h"
#include "hewn/hash.h"
#include "hewn/services.h"

#include <string.h>

/// Values of ONNX's TensorProto.DataType.
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

/// Returns the size of an element in bytes; 0 for types that no runtime function supports (those
/// smaller than a byte).
int64_t hewn_part_bytes(int32_t dtype);

/// Returns the DLPack type for elements of an ONNX type, or that of strings if `isText`.
DLDataType hewn_part_dlpack(int32_t dtype, int isText);

/// Multiplies dims[from] .. dims[to - 1]: returns the number of elements that these dims span.
int64_t hewn_part_product(const int64_t *dims, int32_t from, int32_t to);

/// Returns `axis` as an index in 0..rank-1, or a negative value if it is out of range. A negative
/// `axis` counts from the end.
int64_t hewn_part_axis(int64_t axis, int32_t rank);

/// Records that a runtime function does not support `dtype`, and returns the status code.
int32_t hewn_part_refuse(hewn_context *context, const char *node, int32_t dtype);

/// Returns an integer for an element whose unsigned order is the order of the elements. Supports
/// all numeric types of up to 64 bits, and bool.
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

/// Returns true if `hewn_part_key` supports the type.
static inline int hewn_part_is_ordered(int32_t dtype) {
  return hewn_part_bytes(dtype) > 0 && dtype != HEWN_PART_STRING && dtype != HEWN_PART_COMPLEX64 &&
         dtype != HEWN_PART_COMPLEX128;
}

/// Returns element `index` of an array as a double. Supports real numeric types and bool.
double hewn_part_load(const void *data, int64_t index, int32_t dtype);

/// Stores a double to element `index` of an array: rounded to nearest even for float types,
/// truncated for integer types.
void hewn_part_store(void *data, int64_t index, int32_t dtype, double value);

/// Returns the float whose bits are the low half of a runtime function's parameter.
static inline float hewn_part_float(int64_t parameter) {
  uint32_t bits = (uint32_t)((uint64_t)parameter & 0xffffffffu);
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Copies one element of a tensor, which has `bytes` bytes.
static inline void hewn_part_copy(void *to, int64_t to_index, const void *from, int64_t from_index, int64_t bytes) {
  memcpy((unsigned char *)to + to_index * bytes, (const unsigned char *)from + from_index * bytes, (size_t)bytes);
}

#endif // HEWN_RUNTIME_PARTS_ELEMENT_H
