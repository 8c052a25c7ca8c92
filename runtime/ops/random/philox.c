// SPDX-License-Identifier: Apache-2.0
#include "philox.h"

#include <string.h>

hewn_philox hewn_philox_make(hewn_context *context, const int64_t *params) {
  uint64_t seed = (uint64_t)params[1];
  uint64_t draw = params[0] ? 0 : hewn_rt_draw_index(context) + 1;
  hewn_philox philox = {{(uint32_t)seed, (uint32_t)(seed >> 32)}, {(uint32_t)draw, (uint32_t)(draw >> 32)}};
  return philox;
}

void hewn_philox_block(const hewn_philox *philox, uint64_t counter, uint32_t words[4]) {
  uint32_t key0 = philox->key[0], key1 = philox->key[1];
  words[0] = (uint32_t)counter;
  words[1] = (uint32_t)(counter >> 32);
  words[2] = philox->stream[0];
  words[3] = philox->stream[1];
  for (int round = 0; round < 10; ++round) {
    uint64_t first = (uint64_t)words[0] * 0xD2511F53u;
    uint64_t second = (uint64_t)words[2] * 0xCD9E8D57u;
    uint32_t next0 = (uint32_t)(second >> 32) ^ words[1] ^ key0;
    uint32_t next2 = (uint32_t)(first >> 32) ^ words[3] ^ key1;
    words[0] = next0;
    words[1] = (uint32_t)second;
    words[2] = next2;
    words[3] = (uint32_t)first;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/// Converts 64 random bits to a float: the middle of one of 2^52 equal intervals of (0, 1), so that
/// the result is never 0 or 1.
static double toUniform(uint32_t high, uint32_t low) {
  uint64_t bits = ((uint64_t)high << 32 | low) >> 12;
  return ((double)bits + 0.5) * 0x1p-52;
}

double hewn_philox_uniform(const hewn_philox *philox, uint64_t index) {
  uint32_t words[4];
  hewn_philox_block(philox, index / 2, words);
  unsigned pair = (unsigned)(index % 2) * 2;
  return toUniform(words[pair], words[pair + 1]);
}

double hewn_philox_log(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof(bits));
  // Splits x into m * 2^e with m in [sqrt(1/2), sqrt(2)), to compute log x as log m + e log 2.
  uint64_t shifted = bits - UINT64_C(0x3fe6a09e667f3bcd);
  int64_t exponent = (int64_t)shifted >> 52;
  bits -= (uint64_t)exponent << 52;
  double m;
  memcpy(&m, &bits, sizeof(m));
  // Computes log m as the series of 2 atanh((m - 1) / (m + 1)), which converges fast because the
  // absolute value of the argument is less than 0.172.
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int i = 21; i >= 1; i -= 2)
    sum = sum * square + 1.0 / i;
  return (double)exponent * 0.69314718055994530942 + 2 * s * sum;
}

/// Returns cos(2 pi t) for t in [0, 1).
static double cosineOfTurns(double t) {
  double sign = 1;
  if (t > 0.5) // the cosine is symmetric around half a period
    t = 1 - t;
  if (t > 0.25) { // the cosine is antisymmetric around a quarter period
    t = 0.5 - t;
    sign = -1;
  }
  double x = 6.283185307179586477 * t, square = x * x;
  double term = 1, sum = 1; // Taylor series of cos x, for x <= pi / 2
  for (int i = 2; i <= 22; i += 2) {
    term *= -square / (i * (i - 1));
    sum += term;
  }
  return sign * sum;
}

double hewn_philox_normal(const hewn_philox *philox, uint64_t index) {
  uint32_t words[4];
  hewn_philox_block(philox, index / 2, words);
  double radius = __builtin_sqrt(-2 * hewn_philox_log(toUniform(words[0], words[1])));
  double turn = toUniform(words[2], words[3]);
  if (index % 2 != 0) // odd indices use the sine: the cosine a quarter period earlier
    turn = turn < 0.25 ? turn + 0.75 : turn - 0.25;
  return radius * cosineOfTurns(turn);
}
