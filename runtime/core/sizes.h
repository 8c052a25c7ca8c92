// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_SIZES_H
#define HEWN_RUNTIME_SIZES_H

/// \file
/// Arithmetic on sizes. The result is -1 if an operand is negative or the result overflows.
/// Allocators and checks reject a size of -1.

#include <stdint.h>

static inline int64_t hewn_size_add(int64_t a, int64_t b) {
  int64_t sum;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

static inline int64_t hewn_size_mul(int64_t a, int64_t b) {
#if UINTPTR_MAX > UINT32_MAX
  int64_t product;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
#else
  // On 32-bit targets, __builtin_mul_overflow calls a function of the compiler's support library.
  // Of two factors whose product is below 2^63, at least one is below 2^32.
  if (a < 0 || b < 0 || (a > UINT32_MAX && b > UINT32_MAX))
    return -1;
  uint32_t factor = (uint32_t)(a > b ? b : a);
  uint64_t other = (uint64_t)(a > b ? a : b), low = (other & UINT32_MAX) * factor;
  uint64_t high = (other >> 32) * factor + (low >> 32); // < 2^63: other < 2^63, factor < 2^32
  return high > INT32_MAX ? -1 : (int64_t)(high << 32 | (low & UINT32_MAX));
#endif
}

#endif // HEWN_RUNTIME_SIZES_H
