// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_COMBINE_H
#define HEWN_RUNTIME_PARTS_COMBINE_H

/// \file
/// Combines scattered updates with the existing elements.

#include "ops/element.h"

enum hewn_part_reduction {
  HEWN_PART_REPLACE = 0,
  HEWN_PART_ADD = 1,
  HEWN_PART_MUL = 2,
  HEWN_PART_MAX = 3,
  HEWN_PART_MIN = 4
};

/// Combines `count` adjacent elements with updates: computes to[to_index + i] = to[to_index + i]
/// (reduction) from[from_index + i] for i < count.
void hewn_part_combine(void *to, int64_t to_index, const void *from, int64_t from_index, int64_t count, int32_t dtype,
                       int64_t reduction);

/// Number of scatter positions that a runtime function computes before it combines the elements
/// there.
enum { HEWN_PART_TOGETHER = 64 };

/// Combines scattered elements with updates: computes to[positions[i]] = to[positions[i]]
/// (reduction) from[from_index + i] for i < count, in this order.
void hewn_part_combine_at(void *to, const int64_t *positions, const void *from, int64_t from_index, int64_t count,
                          int32_t dtype, int64_t reduction);

/// Returns element `at` of an int32 or int64 tensor.
static inline int64_t hewn_part_integer(const hewn_part_tensor *tensor, int64_t at) {
  return tensor->dtype == HEWN_PART_INT32 ? ((const int32_t *)tensor->data)[at] : ((const int64_t *)tensor->data)[at];
}

#endif // HEWN_RUNTIME_PARTS_COMBINE_H
