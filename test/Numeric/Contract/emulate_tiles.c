// SPDX-License-Identifier: Apache-2.0
// Emulates AMX's tile instructions in memory: a tile is 16 rows of 64 bytes (Intel SDM, volume 2).
// TDPBF16PS starts from zero, sums the products at even and at odd K positions separately with one
// rounding to nearest per FMA, adds both sums, and adds the result to the accumulator. Denormal
// inputs and results become zero. TDPBUSD adds groups of four products in 32 bits that wrap.
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct tile {
  unsigned char bytes[16][64];
} tile;

void hewn_emulate_load(int16_t rows, int16_t row, const char *from, int64_t stride, tile *to) {
  memset(to, 0, sizeof *to);
  for (int16_t r = 0; r < rows; ++r)
    memcpy(to->bytes[r], from + r * stride, (size_t)row);
}

void hewn_emulate_store(int16_t rows, int16_t row, char *to, int64_t stride, const tile *from) {
  for (int16_t r = 0; r < rows; ++r)
    memcpy(to + r * stride, from->bytes[r], (size_t)row);
}

static float flushed(float value) { return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value; }

static float widen(const unsigned char *bfloat) {
  unsigned char word[4] = {0, 0, bfloat[0], bfloat[1]};
  float value;
  memcpy(&value, word, 4);
  return flushed(value);
}

void hewn_emulate_tdpbf16ps(int16_t rows, int16_t row, int16_t depth, tile *sums, const tile *left, const tile *right) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < row / 4; ++c) {
      float sum, halves[2] = {0, 0};
      for (int k = 0; k < depth / 4; ++k)
        for (int i = 0; i < 2; ++i)
          halves[i] =
              flushed(fmaf(widen(&left->bytes[r][4 * k + 2 * i]), widen(&right->bytes[k][4 * c + 2 * i]), halves[i]));
      memcpy(&sum, &sums->bytes[r][4 * c], 4);
      sum = flushed(flushed(sum) + flushed(halves[0] + halves[1]));
      memcpy(&sums->bytes[r][4 * c], &sum, 4);
    }
}

void hewn_emulate_tdpbusd(int16_t rows, int16_t row, int16_t depth, tile *sums, const tile *left, const tile *right) {
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < depth / 4; ++k)
      for (int c = 0; c < row / 4; ++c) {
        uint32_t sum;
        memcpy(&sum, &sums->bytes[r][4 * c], 4);
        for (int i = 0; i < 4; ++i)
          sum += (uint32_t)((int32_t)left->bytes[r][4 * k + i] * (int8_t)right->bytes[k][4 * c + i]);
        memcpy(&sums->bytes[r][4 * c], &sum, 4);
      }
}
