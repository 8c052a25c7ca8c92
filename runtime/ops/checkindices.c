// SPDX-License-Identifier: Apache-2.0
// CheckIndices: fails a run if an index is out of bounds.
#include "combine.h"

/// Number of indices that are checked at once, without a branch for each.
enum { TOGETHER = 256 };

/// Returns true if one of `count` indices is outside [-extent, extent), for extent >= 0. Such an
/// index sets the sign bit of `index + extent` or of `extent - 1 - index`, also if the sum wraps
/// around. The loop has no branches, so that the compiler vectorizes it.
static inline int isAnyOutside(const hewn_part_tensor *indices, int64_t from, int64_t count, int64_t extent) {
  uint64_t signs = 0, size = (uint64_t)extent;
  if (indices->dtype == HEWN_PART_INT32) {
    const int32_t *narrow = (const int32_t *)indices->data + from;
    for (int64_t i = 0; i < count; ++i)
      signs |= ((uint64_t)narrow[i] + size) | (size - 1 - (uint64_t)narrow[i]);
  } else {
    const uint64_t *wide = (const uint64_t *)indices->data + from;
    for (int64_t i = 0; i < count; ++i)
      signs |= (wide[i] + size) | (size - 1 - wide[i]);
  }
  return signs >> 63 != 0;
}

/// Returns the start of the first group of TOGETHER indices that are not all in bounds, or `count`.
static inline int64_t passInside(const hewn_part_tensor *indices, int64_t count, int64_t extent) {
  int64_t i = 0;
  while (i < count) {
    int64_t next = count - i < TOGETHER ? count : i + TOGETHER;
    if (isAnyOutside(indices, i, next - i, extent))
      break;
    i = next;
  }
  return i;
}

#if defined(__x86_64__) && defined(__GNUC__)
/// passInside, compiled for AVX2.
__attribute__((target("avx2"), flatten)) static int64_t passInsideByAvx2(const hewn_part_tensor *indices, int64_t count,
                                                                         int64_t extent) {
  return passInside(indices, count, extent);
}
#endif

static int64_t passAllInside(const hewn_context *context, const hewn_part_tensor *indices, int64_t count,
                             int64_t extent) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (hewn_rt_cpu(context) & HEWN_CPU_X86_64_V3)
    return passInsideByAvx2(indices, count, extent);
#endif
  (void)context;
  return passInside(indices, count, extent);
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
  // The vectorized check finds only the group that contains the first index out of bounds; this
  // loop finds the index in the group.
  int64_t i = kinds == 1 && extent[0] >= 0 ? passAllInside(context, indices, count, extent[0]) : 0;
  for (int64_t kind = i % (kinds > 0 ? kinds : 1); i < count; ++i, kind = kind + 1 == kinds ? 0 : kind + 1) {
    int64_t index = hewn_part_integer(indices, i);
    if (index < -extent[kind] || index >= extent[kind])
      return hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "index {a} is outside of a dim of {b}", index,
                          extent[kind]);
  }
  return HEWN_OK;
}
