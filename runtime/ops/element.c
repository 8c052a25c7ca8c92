// SPDX-License-Identifier: Apache-2.0
#include "element.h"

int64_t hewn_part_bytes(int32_t dtype) {
  static const uint8_t bytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 8, 1, 2, 8, 4, 8, 8, 16, 2};
  if (dtype >= 17 && dtype <= 20) // the 8-bit floats, which are copied, but never compared
    return 1;
  return dtype >= 0 && dtype < (int32_t)sizeof(bytes) ? bytes[dtype] : 0;
}

DLDataType hewn_part_dlpack(int32_t dtype, int isText) {
  // DLPack types of elements, indexed by ONNX's TensorProto.DataType
  static const DLDataType types[] = {{0, 0, 0},
                                     {kDLFloat, 32, 1},
                                     {kDLUInt, 8, 1},
                                     {kDLInt, 8, 1},
                                     {kDLUInt, 16, 1},
                                     {kDLInt, 16, 1},
                                     {kDLInt, 32, 1},
                                     {kDLInt, 64, 1},
                                     {0, 0, 0},
                                     {HEWN_DL_BOOL, 8, 1},
                                     {kDLFloat, 16, 1},
                                     {kDLFloat, 64, 1},
                                     {kDLUInt, 32, 1},
                                     {kDLUInt, 64, 1},
                                     {kDLComplex, 64, 1},
                                     {kDLComplex, 128, 1},
                                     {kDLBfloat, 16, 1},
                                     {HEWN_DL_FLOAT8_E4M3FN, 8, 1},
                                     {HEWN_DL_FLOAT8_E4M3FNUZ, 8, 1},
                                     {HEWN_DL_FLOAT8_E5M2, 8, 1},
                                     {HEWN_DL_FLOAT8_E5M2FNUZ, 8, 1},
                                     {kDLUInt, 4, 1},
                                     {kDLInt, 4, 1},
                                     {HEWN_DL_FLOAT4_E2M1FN, 4, 1},
                                     {HEWN_DL_FLOAT8_E8M0FNU, 8, 1},
                                     {kDLUInt, 2, 1},
                                     {kDLInt, 2, 1}};
  static const DLDataType string = {kDLOpaqueHandle, 64, 1};
  if (isText)
    return string;
  return types[dtype >= 0 && dtype < (int32_t)(sizeof(types) / sizeof(types[0])) ? dtype : 0];
}

int64_t hewn_part_product(const int64_t *dims, int32_t from, int32_t to) {
  // The multiplication of dims can overflow only for a tensor without elements, whose other dims
  // may be arbitrarily large: the result is then 0.
  int64_t product = 1;
  for (int32_t i = from; i < to; ++i)
    product = hewn_size_mul(product, dims[i]);
  return product < 0 ? 0 : product;
}

int64_t hewn_part_axis(int64_t axis, int32_t rank) {
  if (axis < 0)
    axis += rank;
  return axis < rank ? axis : -1;
}

int32_t hewn_part_refuse(hewn_context *context, const char *node, int32_t dtype) {
  return hewn_rt_fail(context, HEWN_UNSUPPORTED, node, "ONNX data type {a} is not supported", dtype, 0);
}

static float halfToFloat(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  uint32_t magnitude = half & 0x7fff;
  uint32_t bits;
  float value;
  if (magnitude >= 0x7c00) {
    bits = 0x7f800000 | (magnitude & 0x3ff) << 13;
  } else if (magnitude >= 0x400) {
    bits = (magnitude << 13) + (UINT32_C(112) << 23);
  } else { // subnormal float16: the magnitude is in units of 2^-24
    value = (float)magnitude * 5.9604644775390625e-8f;
    memcpy(&bits, &value, sizeof(bits));
  }
  bits |= sign;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static uint16_t floatToHalf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return (uint16_t)(sign | 0x7e00);
  if (magnitude >= 0x47800000) // 65536 and above: infinity in float16
    return (uint16_t)(sign | 0x7c00);
  // subnormal in float16 (below 2^-14): adding 0.5 rounds to multiples of 2^-24
  if (magnitude < 0x38800000) {
    float rounded;
    memcpy(&rounded, &magnitude, sizeof(rounded));
    rounded += 0.5f;
    memcpy(&bits, &rounded, sizeof(bits));
    return (uint16_t)(sign | (bits - 0x3f000000));
  }
  magnitude += 0xfff + (magnitude >> 13 & 1);
  return (uint16_t)(sign | (magnitude - (UINT32_C(112) << 23)) >> 13);
}

static uint16_t floatToBfloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double hewn_part_load(const void *data, int64_t index, int32_t dtype) {
  switch (dtype) {
  case HEWN_PART_FLOAT:
    return ((const float *)data)[index];
  case HEWN_PART_DOUBLE:
    return ((const double *)data)[index];
  case HEWN_PART_FLOAT16:
    return halfToFloat(((const uint16_t *)data)[index]);
  case HEWN_PART_BFLOAT16: {
    uint32_t bits = (uint32_t)((const uint16_t *)data)[index] << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
  case HEWN_PART_INT8:
    return ((const int8_t *)data)[index];
  case HEWN_PART_INT16:
    return ((const int16_t *)data)[index];
  case HEWN_PART_INT32:
    return ((const int32_t *)data)[index];
  case HEWN_PART_INT64:
    return (double)((const int64_t *)data)[index];
  case HEWN_PART_UINT16:
    return ((const uint16_t *)data)[index];
  case HEWN_PART_UINT32:
    return ((const uint32_t *)data)[index];
  case HEWN_PART_UINT64:
    return (double)((const uint64_t *)data)[index];
  default: // uint8, bool
    return ((const uint8_t *)data)[index];
  }
}

void hewn_part_store(void *data, int64_t index, int32_t dtype, double value) {
  switch (dtype) {
  case HEWN_PART_FLOAT:
    ((float *)data)[index] = (float)value;
    return;
  case HEWN_PART_DOUBLE:
    ((double *)data)[index] = value;
    return;
  case HEWN_PART_FLOAT16:
    ((uint16_t *)data)[index] = floatToHalf((float)value);
    return;
  case HEWN_PART_BFLOAT16:
    ((uint16_t *)data)[index] = floatToBfloat((float)value);
    return;
  case HEWN_PART_INT64:
  case HEWN_PART_UINT64:
    ((int64_t *)data)[index] = (int64_t)value;
    return;
  case HEWN_PART_INT32:
  case HEWN_PART_UINT32:
    ((uint32_t *)data)[index] = (uint32_t)(int64_t)value;
    return;
  case HEWN_PART_INT16:
  case HEWN_PART_UINT16:
    ((uint16_t *)data)[index] = (uint16_t)(int64_t)value;
    return;
  default: // int8, uint8, bool
    ((uint8_t *)data)[index] = (uint8_t)(int64_t)value;
    return;
  }
}
