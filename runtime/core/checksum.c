// SPDX-License-Identifier: Apache-2.0
// The checksum of weights: the XXH64 hash (specification at https://github.com/Cyan4973/xxHash) of
// each block, combined in order. The compiler computes it with LLVM's implementation.

#include "core/string.h"
#include "core/weights.h"

static const uint64_t primes[] = {UINT64_C(0x9E3779B185EBCA87), UINT64_C(0xC2B2AE3D27D4EB4F),
                                  UINT64_C(0x165667B19E3779F9), UINT64_C(0x85EBCA77C2B2AE63),
                                  UINT64_C(0x27D4EB2F165667C5)};

static uint64_t rotate(uint64_t value, int by) { return value << by | value >> (64 - by); }

static uint64_t word(const unsigned char *at) {
  uint64_t value;
  memcpy(&value, at, sizeof(value));
  return value;
}

static uint64_t turn(uint64_t lane, uint64_t input) { return rotate(lane + input * primes[1], 31) * primes[0]; }

static uint64_t finish(uint64_t hash, const unsigned char *at, const unsigned char *end) {
  for (; end - at >= 8; at += 8)
    hash = rotate(hash ^ turn(0, word(at)), 27) * primes[0] + primes[3];
  if (end - at >= 4) {
    uint32_t half;
    memcpy(&half, at, sizeof(half));
    hash = rotate(hash ^ half * primes[0], 23) * primes[1] + primes[2];
    at += 4;
  }
  for (; at < end; ++at)
    hash = rotate(hash ^ *at * primes[4], 11) * primes[0];
  hash = (hash ^ hash >> 33) * primes[1];
  hash = (hash ^ hash >> 29) * primes[2];
  return hash ^ hash >> 32;
}

static uint64_t hashBlock(const unsigned char *at, size_t bytes) {
  const unsigned char *end = at + bytes;
  uint64_t hash = primes[4];
  if (bytes >= 32) {
    uint64_t lanes[4] = {primes[0] + primes[1], primes[1], 0, 0 - primes[0]};
    for (; end - at >= 32; at += 32)
      for (int i = 0; i < 4; ++i)
        lanes[i] = turn(lanes[i], word(at + 8 * i));
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (int i = 0; i < 4; ++i)
      hash = (hash ^ turn(0, lanes[i])) * primes[0] + primes[3];
  }
  return finish(hash + bytes, at, end);
}

uint64_t hewn_weights_checksum(const unsigned char *data, uint64_t bytes) {
  uint64_t sum = 0;
  while (bytes > 0) {
    size_t block = bytes < HEWN_CHECKSUM_BLOCK ? (size_t)bytes : (size_t)HEWN_CHECKSUM_BLOCK;
    sum = HEWN_CHECKSUM_FOLD(sum, hashBlock(data, block));
    data += block;
    bytes -= block;
  }
  return sum;
}
