// SPDX-License-Identifier: Apache-2.0
// TMA descriptors (CUtensorMap) of tensors.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"

#include <string.h>

#define MOST_DIMS 5

/// Returns the CUtensorMapDataType for elements of the given size, or -1 if there is none. TMA
/// copies elements of this type unchanged or rounds them to TF32.
static int wordType(int32_t bytes, int32_t rounds) {
  const int uint8 = 0, uint16 = 1, uint32 = 2, tfloat32 = 11;
  if (rounds)
    return bytes == 4 ? tfloat32 : -1;
  return bytes == 1 ? uint8 : bytes == 2 ? uint16 : bytes == 4 ? uint32 : -1;
}

int32_t hewn_device_describe(hewn_context *context, hewn_device_box *box, void *memory, int32_t element_bytes,
                             int32_t rounds, int32_t rank, const int64_t *sizes) {
  cuda_state *state = hewn_cuda_state(context);
  uint64_t extents[MOST_DIMS], strides[MOST_DIMS];
  unsigned ofBox[MOST_DIMS], steps[MOST_DIMS];
  const int none = 0, throughCache128 = 2;
  memset(box, 0, sizeof(*box));
  if (rank < 1 || rank > MOST_DIMS || wordType(element_bytes, rounds) < 0)
    return hewn_message_fail(context, HEWN_UNSUPPORTED,
                             "a kernel needs a TMA descriptor that the device does not support");
  for (int32_t i = 0; i < rank; ++i) {
    if (sizes[i] <= 0)
      return HEWN_OK;
    extents[i] = (uint64_t)sizes[i];
    strides[i] = i + 1 < rank ? (uint64_t)sizes[rank + i] : 0;
    ofBox[i] = (unsigned)sizes[2 * rank - 1 + i];
    steps[i] = 1;
  }
  // Tile rows of 32, 64 and 128 bytes use the swizzle mode of that width.
  unsigned line = ofBox[0] * (unsigned)element_bytes;
  int swaps = line == 128 ? 3 : line == 64 ? 2 : line == 32 ? 1 : 0;
  return hewn_cuda_done(context,
                        state->driver.cuTensorMapEncodeTiled(box, wordType(element_bytes, rounds), (unsigned)rank,
                                                             memory, extents, strides, ofBox, steps, none, swaps,
                                                             throughCache128, none),
                        "encoding a TMA descriptor");
}
