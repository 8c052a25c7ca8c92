// SPDX-License-Identifier: Apache-2.0
// Elementwise sums for communicators.
#include "hewn/communicator.h"

#include <string.h>

static float fromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static uint32_t bitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static float fromBfloat(uint16_t bits) { return fromBits((uint32_t)bits << 16); }

/// Rounds a float32 to the nearest bfloat16, to even in a tie. NaN stays NaN.
static uint16_t toBfloat(float value) {
  uint32_t bits = bitsOf(value);
  if (value != value)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float fromHalf(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
  if (rest >= 0x7c00)
    return fromBits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x400)
    return fromBits(sign | ((rest << 13) + (112u << 23)));
  float small = (float)rest * 0x1p-24f;
  return sign ? -small : small;
}

static uint16_t toHalf(float value) {
  uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000)
    return (uint16_t)(sign | 0x7e00);
  if (rest >= 0x477ff000)
    return (uint16_t)(sign | 0x7c00);
  if (rest < 0x38800000) // subnormal float16: adding 0.5 rounds to the precision of subnormals
    return (uint16_t)(sign | (bitsOf(fromBits(rest) + 0.5f) & 0x7ff));
  return (uint16_t)(sign | ((rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13));
}

#define ADD(type)                                                                                                      \
  do {                                                                                                                 \
    type *to = sum;                                                                                                    \
    const type *from = other;                                                                                          \
    for (int64_t i = 0; i < count; ++i)                                                                                \
      to[i] = (type)(to[i] + from[i]);                                                                                 \
  } while (0)

int32_t hewn_communicator_add(void *sum, const void *other, int64_t count, DLDataType type) {
  int isFloat = type.code == kDLFloat, isSigned = type.code == kDLInt;
  if (type.lanes != 1 || !(isFloat || isSigned || type.code == kDLUInt || type.code == kDLBfloat))
    return HEWN_UNSUPPORTED;
  if (type.code == kDLBfloat || (isFloat && type.bits == 16)) {
    uint16_t *to = sum;
    const uint16_t *from = other;
    if (type.bits != 16)
      return HEWN_UNSUPPORTED;
    for (int64_t i = 0; i < count; ++i)
      to[i] = isFloat ? toHalf(fromHalf(to[i]) + fromHalf(from[i])) : toBfloat(fromBfloat(to[i]) + fromBfloat(from[i]));
    return HEWN_OK;
  }
  switch (type.bits) { // integers wrap around
  case 8:
    if (isFloat)
      return HEWN_UNSUPPORTED;
    ADD(uint8_t);
    return HEWN_OK;
  case 16:
    ADD(uint16_t);
    return HEWN_OK;
  case 32:
    if (isFloat)
      ADD(float);
    else
      ADD(uint32_t);
    return HEWN_OK;
  case 64:
    if (isFloat)
      ADD(double);
    else
      ADD(uint64_t);
    return HEWN_OK;
  default:
    return HEWN_UNSUPPORTED;
  }
}
