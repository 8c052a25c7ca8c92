// SPDX-License-Identifier: Apache-2.0
// CheckIndices: fails a run if an index or length is out of range.
#include "ops/scatter/combine.h"

/// Number of indices that are checked at once, without a branch for each.
enum { TOGETHER = 256 };

/// The lowest and the highest valid index.
typedef struct bounds {
  int64_t low, high;
} bounds;

/// Returns true if one of `count` indices is outside of [low, high], for low <= 0 and high >= -1.
/// Such an index sets the sign bit of `index - low` or of `high - index`, also if the difference
/// wraps around. The loop has no branches, so that the compiler vectorizes it.
static inline int isAnyOutside(const hewn_part_tensor *indices, int64_t from, int64_t count, bounds valid) {
  uint64_t signs = 0, low = (uint64_t)valid.low, high = (uint64_t)valid.high;
  if (indices->dtype == HEWN_PART_INT32) {
    const int32_t *narrow = (const int32_t *)indices->data + from;
    for (int64_t i = 0; i < count; ++i)
      signs |= ((uint64_t)narrow[i] - low) | (high - (uint64_t)narrow[i]);
  } else {
    const uint64_t *wide = (const uint64_t *)indices->data + from;
    for (int64_t i = 0; i < count; ++i)
      signs |= (wide[i] - low) | (high - wide[i]);
  }
  return signs >> 63 != 0;
}

/// Returns the start of the first group of TOGETHER indices that are not all in bounds, or `count`.
static inline int64_t passInside(const hewn_part_tensor *indices, int64_t count, bounds valid) {
  int64_t i = 0;
  while (i < count) {
    int64_t next = count - i < TOGETHER ? count : i + TOGETHER;
    if (isAnyOutside(indices, i, next - i, valid))
      break;
    i = next;
  }
  return i;
}

#if defined(__x86_64__) && defined(__GNUC__)
/// passInside, compiled for AVX2.
__attribute__((target("avx2"), flatten)) static int64_t passInsideByAvx2(const hewn_part_tensor *indices, int64_t count,
                                                                         bounds valid) {
  return passInside(indices, count, valid);
}
#endif

static int64_t passAllInside(const hewn_context *context, const hewn_part_tensor *indices, int64_t count,
                             bounds valid) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (hewn_rt_cpu(context) & HEWN_CPU_X86_64_V3)
    return passInsideByAvx2(indices, count, valid);
#endif
  (void)context;
  return passInside(indices, count, valid);
}

/// Fails the run, for an index or length that is outside of [low, high].
static int32_t failOutside(hewn_context *context, const char *node, int64_t index, bounds valid) {
  return index < valid.low ? hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node,
                                          "value {a} is below the lowest valid value, {b}", index, valid.low)
                           : hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node,
                                          "value {a} is above the highest valid value, {b}", index, valid.high);
}

int32_t hewn_part_checkindices(hewn_context *context, const char *node, int32_t num_inputs,
                               const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                               const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)outputs;
  (void)params;
  const hewn_part_tensor *indices = &inputs[0], *extents = &inputs[1];
  int64_t count = hewn_part_product(indices->dims, 0, indices->rank), kinds = extents->dims[0];
  const int64_t *extent = extents->data;
  int isRange = extents->rank == 2;
  if (count == 0 || kinds == 0)
    return HEWN_OK;
  // The vectorized check finds only the group that contains the first index out of range; this
  // loop finds the index in the group.
  bounds first = {isRange ? extent[0] : -extent[0], isRange ? extent[1] : extent[0] - 1};
  int64_t i = kinds == 1 && first.low <= 0 && first.high >= -1 ? passAllInside(context, indices, count, first) : 0;
  for (int64_t kind = i % kinds; i < count; ++i, kind = kind + 1 == kinds ? 0 : kind + 1) {
    int64_t index = hewn_part_integer(indices, i);
    bounds valid = {isRange ? first.low : -extent[kind], isRange ? first.high : extent[kind] - 1};
    if (index >= valid.low && index <= valid.high)
      continue;
    if (isRange)
      return failOutside(context, node, index, valid);
    return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "index {a} is outside of a dim of {b}", index,
                        extent[kind]);
  }
  return HEWN_OK;
}
