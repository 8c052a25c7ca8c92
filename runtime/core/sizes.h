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
  int64_t product;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

#endif // HEWN_RUNTIME_SIZES_H
