// SPDX-License-Identifier: Apache-2.0
// Arithmetic on 128-bit integers, for which LLVM calls functions on WebAssembly: products, also to
// detect the overflow of 64-bit products in generated code, and shifts.

#include <stdint.h>

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

int128 __multi3(int128 a, int128 b);
int128 __ashlti3(int128 a, int by);
int128 __lshrti3(int128 a, int by);
int128 __ashrti3(int128 a, int by);

/// A 128-bit integer as two words. Shifts by 64 in C would be calls of the functions below.
typedef union words {
  int128 all;
  struct {
    uint64_t low;
    uint64_t high;
  } part;
} words;

int128 __multi3(int128 a, int128 b) {
  const uint64_t half = UINT32_MAX;
  words x = {a}, y = {b}, product;
  uint64_t low = (x.part.low & half) * (y.part.low & half), left = (x.part.low >> 32) * (y.part.low & half);
  uint64_t right = (x.part.low & half) * (y.part.low >> 32);
  uint64_t middle = (low >> 32) + (left & half) + (right & half);
  product.part.low = middle << 32 | (low & half);
  product.part.high = (x.part.low >> 32) * (y.part.low >> 32) + (left >> 32) + (right >> 32) + (middle >> 32) +
                      x.part.low * y.part.high + y.part.low * x.part.high;
  return product.all;
}

int128 __ashlti3(int128 a, int by) {
  words x = {a};
  if (by >= 64) {
    x.part.high = x.part.low << (by - 64);
    x.part.low = 0;
  } else if (by > 0) {
    x.part.high = x.part.high << by | x.part.low >> (64 - by);
    x.part.low <<= by;
  }
  return x.all;
}

/// Shifts to the right by `by` bits. `fill` has the bits that enter from the left, 0 or all ones.
static int128 shiftRight(int128 a, int by, uint64_t fill) {
  words x = {a};
  if (by >= 64) {
    x.part.low = by == 64 ? x.part.high : x.part.high >> (by - 64) | fill << (128 - by);
    x.part.high = fill;
  } else if (by > 0) {
    x.part.low = x.part.low >> by | x.part.high << (64 - by);
    x.part.high = x.part.high >> by | fill << (64 - by);
  }
  return x.all;
}

int128 __lshrti3(int128 a, int by) { return shiftRight(a, by, 0); }

int128 __ashrti3(int128 a, int by) { return shiftRight(a, by, a < 0 ? UINT64_MAX : 0); }
