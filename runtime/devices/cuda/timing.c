// SPDX-License-Identifier: Apache-2.0
// Measures the device time of each launch with events, for hooks that are called after the run.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"

#include <string.h>

/// Grows the array of timed launches if it has no free entry.
static int32_t grow(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  if (state->num_launches < state->most_launches)
    return HEWN_OK;
  if (state->most_launches > INT32_MAX / 2)
    return hewn_message_fail(context, HEWN_OUT_OF_MEMORY, "a run has too many launches to time");
  int32_t most = state->most_launches ? 2 * state->most_launches : 64;
  timed_launch *larger = hewn_cuda_allocate(context, (size_t)most * sizeof(timed_launch));
  if (!larger)
    return HEWN_OUT_OF_MEMORY;
  if (state->launches)
    memcpy(larger, state->launches, (size_t)state->most_launches * sizeof(timed_launch));
  hewn_cuda_release(context, state->launches);
  state->launches = larger;
  state->most_launches = most;
  return HEWN_OK;
}

/// Records the event `*event` on the stream, and creates the event if it does not exist.
static int32_t mark(hewn_context *context, cuda_event *event, cuda_stream stream) {
  cuda_state *state = hewn_cuda_state(context);
  const unsigned withTime = 0;
  int32_t code = HEWN_OK;
  if (!*event)
    code = hewn_cuda_ran(context, state->driver.cuEventCreate(event, withTime), "creating an event");
  if (code != HEWN_OK) {
    *event = NULL;
    return code;
  }
  return hewn_cuda_ran(context, state->driver.cuEventRecord(*event, stream), "timing a kernel");
}

int hewn_cuda_times(const hewn_context *context) {
  // If the communicator has no device transport, the host measures the times of transfers.
  int timesTransfers = context->transfer_hook.transfer && hewn_ranks_transport(context);
  return context->device_hook.kernel || timesTransfers;
}

int32_t hewn_cuda_time_run(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  state->num_launches = 0;
  if (!hewn_cuda_times(context))
    return HEWN_OK;
  int32_t code = grow(context);
  if (code == HEWN_OK)
    code = mark(context, &state->launches[0].end, state->stream);
  if (code == HEWN_OK)
    state->num_launches = 1;
  return code;
}

int32_t hewn_cuda_time_launch(hewn_context *context, const char *kernel, cuda_stream stream) {
  cuda_state *state = hewn_cuda_state(context);
  if (state->num_launches == 0)
    return HEWN_OK;
  int32_t code = grow(context);
  if (code != HEWN_OK)
    return code;
  timed_launch *launch = &state->launches[state->num_launches];
  launch->kernel = kernel;
  return mark(context, &launch->begin, stream);
}

int32_t hewn_cuda_time_landed(hewn_context *context, cuda_stream stream) {
  cuda_state *state = hewn_cuda_state(context);
  if (state->num_launches == 0)
    return HEWN_OK;
  int32_t code = mark(context, &state->launches[state->num_launches].end, stream);
  if (code == HEWN_OK)
    ++state->num_launches;
  return code;
}

int32_t hewn_cuda_time_transferred(hewn_context *context, cuda_stream stream) {
  cuda_state *state = hewn_cuda_state(context);
  if (state->num_launches == 0 || !context->transfer.what) // the runtime call made no transfer
    return HEWN_OK;
  state->launches[state->num_launches].transfer = context->transfer;
  return hewn_cuda_time_landed(context, stream);
}

int32_t hewn_cuda_tell_times(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_device_hook *hook = &context->device_hook;
  for (int32_t i = 1; i < state->num_launches; ++i) {
    const timed_launch *launch = &state->launches[i];
    float begin = 0, end = 0; // milliseconds
    int32_t code = hewn_cuda_ran(
        context, state->driver.cuEventElapsedTime(&begin, state->launches[0].end, launch->begin), "timing a kernel");
    if (code == HEWN_OK)
      code = hewn_cuda_ran(context, state->driver.cuEventElapsedTime(&end, state->launches[0].end, launch->end),
                           "timing a kernel");
    if (code != HEWN_OK)
      return code;
    if (launch->kernel && hook->kernel)
      hook->kernel(hook->user, launch->kernel, 1e3 * (double)begin, 1e3 * (double)end);
    if (launch->kernel)
      continue;
    hewn_transfer transfer = launch->transfer;
    transfer.begin = 1e3 * (double)begin;
    transfer.end = 1e3 * (double)end;
    transfer.on_device = 1;
    context->transfer_hook.transfer(context->transfer_hook.user, &transfer);
  }
  return HEWN_OK;
}

void hewn_cuda_free_times(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  for (int32_t i = 0; i < state->most_launches; ++i) {
    if (state->launches[i].begin)
      state->driver.cuEventDestroy(state->launches[i].begin);
    if (state->launches[i].end)
      state->driver.cuEventDestroy(state->launches[i].end);
  }
}
