// SPDX-License-Identifier: Apache-2.0
// A run on a device: begin, end, and the functions that generated code calls in between.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"

#include <string.h>

/// Checks that the caller's stream is not being captured: a run waits for its own work, which is
/// not allowed during a capture.
static int32_t checkRecording(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  int recorded = 0;
  if (state->stream == state->own)
    return HEWN_OK;
  int32_t code = hewn_cuda_done(context, state->driver.cuStreamIsCapturing(state->stream, &recorded),
                                "querying whether the caller's stream is being captured");
  if (code == HEWN_OK && recorded)
    return hewn_message_fail(context, HEWN_INVALID_ARGUMENT,
                             "the caller's stream is being captured: a run cannot be part of a capture");
  return code;
}

int32_t hewn_device_begin(hewn_context *context, void **arena, void **weights) {
  cuda_state *state = hewn_cuda_state(context);
  if (state->lost)
    return hewn_message_fail(context, HEWN_UNSUPPORTED, "the device failed in an earlier run: create a new context");
  int32_t code = hewn_cuda_done(context, state->driver.cuCtxPushCurrent(state->context), "using the device");
  if (code != HEWN_OK)
    return code;
  state->waits = state->stream == state->own || hewn_cuda_times(context);
  code = checkRecording(context);
  if (code == HEWN_OK)
    code = hewn_cuda_check_places(context);
  if (code == HEWN_OK)
    code = hewn_cuda_grow(context, &state->arena, context->variant->arena_bytes(context->symbols), "the model's arena");
  if (code == HEWN_OK)
    code = hewn_cuda_begin_ranks(context);
  if (code == HEWN_OK)
    code = hewn_cuda_time_run(context);
  if (code != HEWN_OK) {
    cuda_context popped;
    state->driver.cuCtxPopCurrent(&popped);
    return code;
  }
  hewn_cuda_choose_places(context);
  *arena = (void *)(uintptr_t)state->arena.memory;
  *weights = (void *)(uintptr_t)state->shared->weights;
  return HEWN_OK;
}

int32_t hewn_device_end(hewn_context *context, int32_t code) {
  cuda_state *state = hewn_cuda_state(context);
  int32_t ended = HEWN_OK;
  if (state->recording) { // discard the capture of a failed run
    hewn_cuda_end_recording(context, 0);
    hewn_cuda_forget(state);
  }
  if (code == HEWN_PEER_FAILED)
    hewn_cuda_stop_ranks(context);
  state->pending = 0;
  if (state->waits || code != HEWN_OK) {
    if (state->staging)
      ended = hewn_cuda_arrive(context);
    int32_t waited = hewn_cuda_wait(context, NULL);
    ended = ended != HEWN_OK ? ended : waited;
    if (code == HEWN_OK && ended == HEWN_OK)
      ended = hewn_cuda_tell_times(context);
  } else {
    ended = hewn_cuda_ran(context, state->driver.cuEventRecord(state->done, state->stream), "running the model");
    state->pending = ended == HEWN_OK;
  }
  while (state->blocks)
    hewn_device_free(context, (void *)(uintptr_t)state->blocks->memory);
  cuda_context popped;
  state->driver.cuCtxPopCurrent(&popped);
  return code != HEWN_OK ? code : ended;
}

const void *hewn_device_host_input(hewn_context *context, int32_t index, int64_t bytes) {
  if (!context->input_on_device[index])
    return context->input_data[index];
  void *memory = hewn_rt_alloc(context, bytes, HEWN_ALIGNMENT);
  if (memory && hewn_device_copy(context, memory, context->input_data[index], bytes, HEWN_DEVICE_TO_HOST) != HEWN_OK)
    return NULL;
  return memory;
}

int32_t hewn_device_give_host(hewn_context *context, int32_t index, const void *from, int64_t bytes) {
  void *to = context->output_data[index];
  if (context->outputs[index].on_device)
    return hewn_device_copy(context, to, from, bytes, HEWN_DEVICE_FROM_HOST);
  if (bytes > 0 && to != from)
    memcpy(to, from, (size_t)bytes);
  return HEWN_OK;
}

int32_t hewn_device_copy(hewn_context *context, void *to, const void *from, int64_t bytes, int32_t direction) {
  cuda_state *state = hewn_cuda_state(context);
  cuda_pointer toDevice = (cuda_pointer)(uintptr_t)to, fromDevice = (cuda_pointer)(uintptr_t)from;
  if (bytes <= 0 || to == from)
    return HEWN_OK;
  if (direction == HEWN_DEVICE_FROM_HOST)
    return hewn_cuda_copy_in(context, toDevice, from, (size_t)bytes);
  if (direction == HEWN_DEVICE_TO_HOST) {
    int32_t code = hewn_cuda_copy_out(context, to, fromDevice, (size_t)bytes);
    return code != HEWN_OK ? code : hewn_cuda_arrive(context); // the host reads the data next
  }
  cuda_stream stream = state->recording ? state->own : state->stream;
  return hewn_cuda_ran(context, state->driver.cuMemcpyDtoDAsync(toDevice, fromDevice, (size_t)bytes, stream),
                       "copying on the device");
}

int32_t hewn_device_launch(hewn_context *context, int32_t kernel, int64_t blocks, void **arguments) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_device_kernel *info = &context->model->device->kernels[kernel];
  if (blocks <= 0)
    return HEWN_OK;
  cuda_stream stream = state->recording ? state->own : state->stream;
  unsigned threads = (unsigned)info->threads, shared = (unsigned)info->shared_bytes;
  cuda_result result;
  int32_t code = hewn_cuda_time_launch(context, info->name, stream);
  if (code != HEWN_OK)
    return code;
  if (info->meets) {
    int64_t grid = blocks < state->together[kernel] ? blocks : state->together[kernel];
    result = state->driver.cuLaunchCooperativeKernel(state->functions[kernel], (unsigned)grid, 1, 1, threads, 1, 1,
                                                     shared, stream, arguments);
  } else {
    result = state->driver.cuLaunchKernel(state->functions[kernel], (unsigned)blocks, 1, 1, threads, 1, 1, shared,
                                          stream, arguments, NULL);
  }
  code = hewn_cuda_ran(context, result, info->name);
  return code == HEWN_OK ? hewn_cuda_time_landed(context, stream) : code;
}

void *hewn_device_counters(hewn_context *context) {
  return (void *)(uintptr_t)hewn_cuda_state(context)->counters.memory;
}
