// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_HASH_H
#define HEWN_HASH_H

/// \file
/// Hash tables of constants: the compiler fills them, the runtime searches them. A table is an
/// array of int32 slots with linear probing. Its size is a power of two and at least twice the
/// number of entries. A slot has the index of an entry, or -1 if it is empty.

#include <stdint.h>
#include <string.h>

/// Extends a hash by one word. The low bits of the result depend on all bits of both.
static inline uint64_t hewn_hash_word(uint64_t hash, uint64_t word) {
  uint64_t mixed = hash ^ word;
  mixed = (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
  return mixed ^ mixed >> 29;
}

/// Returns the hash of a string.
static inline uint64_t hewn_hash_text(const char *text) {
  size_t length = strlen(text), at = 0;
  uint64_t hash = (uint64_t)length, word;
  for (; at + sizeof(word) <= length; at += sizeof(word)) {
    memcpy(&word, text + at, sizeof(word));
    hash = hewn_hash_word(hash, word);
  }
  word = 0;
  for (int shift = 0; at < length; ++at, shift += 8)
    word |= (uint64_t)(unsigned char)text[at] << shift;
  return hewn_hash_word(hash, word);
}

/// Maps the bits of a float to an integer whose unsigned order is the order of the floats: -0
/// equals 0, and every NaN is above infinity.
static inline uint64_t hewn_part_float_key(uint64_t bits, int width, uint64_t infinity) {
  uint64_t sign = UINT64_C(1) << (width - 1);
  uint64_t magnitude = bits & (sign - 1);
  if (magnitude > infinity)
    return sign | (sign - 1);
  return bits & sign ? sign - magnitude : sign + magnitude;
}

#endif // HEWN_HASH_H
