// SPDX-License-Identifier: Apache-2.0
// Copies between host and device through pinned buffers: while copies of some buffers are in
// flight, the host fills or empties others. If pinned memory cannot be allocated, the driver copies
// pageable memory.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"

#include <string.h>

/// Returns true if there are pinned buffers. Allocates them on the first call.
static int haveStages(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  void *memory = NULL;
  if (state->staging || state->no_stages)
    return state->staging != NULL;
  const unsigned withoutTime = 2;
  int made = 0;
  while (made < HEWN_CUDA_STAGES && state->driver.cuEventCreate(&state->stages[made].done, withoutTime) == CUDA_SUCCESS)
    ++made;
  if (made == HEWN_CUDA_STAGES &&
      state->driver.cuMemHostAlloc(&memory, HEWN_CUDA_STAGES * HEWN_CUDA_STAGE_BYTES, 0) == CUDA_SUCCESS) {
    state->staging = memory;
    return 1;
  }
  while (made-- > 0)
    state->driver.cuEventDestroy(state->stages[made].done);
  state->no_stages = 1;
  return 0;
}

void hewn_cuda_free_stages(cuda_state *state) {
  if (!state->staging)
    return;
  for (int i = 0; i < HEWN_CUDA_STAGES; ++i) {
    if (state->stages[i].busy)
      state->driver.cuEventSynchronize(state->stages[i].done);
    state->driver.cuEventDestroy(state->stages[i].done);
  }
  state->driver.cuMemFreeHost(state->staging);
  state->staging = NULL;
}

static unsigned char *memoryOf(cuda_state *state, uint32_t number) {
  return state->staging + number * HEWN_CUDA_STAGE_BYTES;
}

/// Waits for the copy of a pinned buffer. If it was a copy from the device, copies the data to its
/// host destination.
static int32_t empty(hewn_context *context, uint32_t number) {
  cuda_state *state = hewn_cuda_state(context);
  stage *one = &state->stages[number];
  if (!one->busy)
    return HEWN_OK;
  one->busy = 0;
  int32_t code = hewn_cuda_wait(context, one->done);
  if (code == HEWN_OK && one->to)
    memcpy(one->to, memoryOf(state, number), one->bytes);
  one->to = NULL;
  return code;
}

/// Takes the next pinned buffer in rotation, after waiting for its previous copy.
static int32_t take(hewn_context *context, uint32_t *number) {
  cuda_state *state = hewn_cuda_state(context);
  *number = state->next_stage;
  state->next_stage = (state->next_stage + 1) % HEWN_CUDA_STAGES;
  return empty(context, *number);
}

static int32_t begun(hewn_context *context, uint32_t number, void *to, size_t bytes) {
  cuda_state *state = hewn_cuda_state(context);
  stage *one = &state->stages[number];
  int32_t code = hewn_cuda_ran(context, state->driver.cuEventRecord(one->done, state->stream), "copying");
  one->busy = code == HEWN_OK;
  one->to = to;
  one->bytes = bytes;
  return code;
}

/// Starts the copy of one chunk between a pinned buffer and `device`. `host` is the chunk's source
/// or destination in pageable memory.
static int32_t send(hewn_context *context, cuda_pointer device, unsigned char *host, size_t bytes, int toDevice,
                    const char *what) {
  cuda_state *state = hewn_cuda_state(context);
  uint32_t number;
  int32_t code = take(context, &number);
  if (code != HEWN_OK)
    return code;
  unsigned char *memory = memoryOf(state, number);
  if (toDevice)
    memcpy(memory, host, bytes);
  code = hewn_cuda_ran(context,
                       toDevice ? state->driver.cuMemcpyHtoDAsync(device, memory, bytes, state->stream)
                                : state->driver.cuMemcpyDtoHAsync(memory, device, bytes, state->stream),
                       what);
  return code == HEWN_OK ? begun(context, number, toDevice ? NULL : host, bytes) : code;
}

static int32_t copy(hewn_context *context, cuda_pointer device, unsigned char *host, size_t bytes, int toDevice) {
  cuda_state *state = hewn_cuda_state(context);
  const char *what = toDevice ? "copying to the device" : "copying from the device";
  int32_t code = HEWN_OK;
  if (!haveStages(context)) {
    state->waits = 1; // the copy accesses host memory until the run ends
    return hewn_cuda_ran(context,
                         toDevice ? state->driver.cuMemcpyHtoDAsync(device, host, bytes, state->stream)
                                  : state->driver.cuMemcpyDtoHAsync(host, device, bytes, state->stream),
                         what);
  }
  for (size_t at = 0; code == HEWN_OK && at < bytes; at += HEWN_CUDA_STAGE_BYTES) {
    size_t size = bytes - at < HEWN_CUDA_STAGE_BYTES ? bytes - at : HEWN_CUDA_STAGE_BYTES;
    code = send(context, device + at, host + at, size, toDevice, what);
  }
  return code;
}

int32_t hewn_cuda_copy_in(hewn_context *context, cuda_pointer to, const void *from, size_t bytes) {
  return copy(context, to, (unsigned char *)from, bytes, 1); // `from` is only read
}

int32_t hewn_cuda_copy_out(hewn_context *context, void *to, cuda_pointer from, size_t bytes) {
  hewn_cuda_state(context)->waits = 1;
  return copy(context, from, to, bytes, 0);
}

int32_t hewn_cuda_arrive(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  int32_t code = HEWN_OK;
  if (!state->staging) // the driver copies pageable memory: wait for the stream
    return hewn_cuda_wait(context, NULL);
  for (uint32_t i = 0; i < HEWN_CUDA_STAGES; ++i) { // oldest copy first
    int32_t one = empty(context, (state->next_stage + i) % HEWN_CUDA_STAGES);
    code = code != HEWN_OK ? code : one;
  }
  return code;
}
