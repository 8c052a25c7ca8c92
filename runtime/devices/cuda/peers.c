// SPDX-License-Identifier: Apache-2.0
// Transfers device memory between ranks: with the communicator's device transport, in stream order,
// or through host memory if the communicator has none. Also waits for the device with a time limit,
// because the device itself may wait for other ranks.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"
#include "hewn/communicator.h"
#include "ops/element.h"

#include <time.h>

/// Polling intervals of a wait for the device: the device is polled continuously at first, then
/// with pauses; other ranks are checked from time to time.
#define BUSY_NANOSECONDS 200000
#define PAUSE_NANOSECONDS 20000
#define LOOK_NANOSECONDS 2000000

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void hewn_cuda_stop_ranks(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_device_transport *transport = hewn_ranks_transport(context);
  if (!transport)
    return;
  hewn_cuda_forget(state); // a graph in flight is destroyed when it ends
  transport->stop(context->communicator->user);
  state->met = 0;
}

/// Fails the run if a transport call returned a failure. May be called only while nothing is being
/// captured.
static int32_t told(hewn_context *context, int32_t code) {
  if (code == HEWN_OK)
    return code;
  hewn_ranks_fail(context, NULL, code);
  hewn_cuda_stop_ranks(context);
  return code;
}

int32_t hewn_cuda_begin_ranks(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_communicator *group = context->communicator;
  const hewn_device_transport *transport = hewn_ranks_transport(context);
  if (!transport)
    return HEWN_OK;
  if (!state->agreed && !(state->agreed = hewn_cuda_allocate(context, (size_t)group->num_ranks * sizeof(uint64_t))))
    return HEWN_OUT_OF_MEMORY;
  // the run must wait for the device, so that a failure of any rank fails this run, too
  state->waits = 1;
  // Ranks with different symbols would transfer different sizes, and a device that expects more
  // bytes than it is sent waits forever.
  int32_t code = hewn_ranks_agree(context, state->agreed);
  return code == HEWN_OK ? told(context, transport->open(group->user, 0, group->num_ranks)) : code;
}

int32_t hewn_device_meet(hewn_context *context, int32_t first, int32_t ranks) {
  const hewn_device_transport *transport = hewn_ranks_transport(context);
  hewn_cuda_state(context)->has_transfers = 1;
  // no transport, or the connection was opened at the beginning of the run
  if (!transport || ranks == 0)
    return HEWN_OK;
  return told(context, transport->open(context->communicator->user, first, ranks));
}

int32_t hewn_cuda_wait(hewn_context *context, cuda_event event) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_cuda_driver *driver = &state->driver;
  const hewn_device_transport *transport = state->met ? hewn_ranks_transport(context) : NULL;
  if (!transport)
    return hewn_cuda_ran(context,
                         event ? driver->cuEventSynchronize(event) : driver->cuStreamSynchronize(state->stream),
                         "running the model");
  int64_t begin = now(), looked = begin;
  for (;;) {
    cuda_result result = event ? driver->cuEventQuery(event) : driver->cuStreamQuery(state->stream);
    if (result != CUDA_NOT_READY) {
      state->met = event && result == CUDA_SUCCESS; // work after the event may still wait
      return hewn_cuda_ran(context, result, "running the model");
    }
    int64_t time = now();
    if (time - looked >= LOOK_NANOSECONDS) {
      looked = time;
      int32_t code = told(context, transport->check(context->communicator->user, (time - begin) / 1000000));
      if (code != HEWN_OK)
        return code;
    }
    if (time - begin >= BUSY_NANOSECONDS) {
      struct timespec pause = {0, PAUSE_NANOSECONDS};
      nanosleep(&pause, NULL);
    }
  }
}

/// Returns host memory for the tensor at the device address `memory`. If the tensor is in the
/// device's arena, that is the same offset of the host's arena; otherwise it is memory of this run,
/// which is also written to `*own`.
static void *hostPlace(hewn_context *context, void *memory, int64_t bytes, void **own) {
  const device_buffer *arena = &hewn_cuda_state(context)->arena;
  cuda_pointer at = (cuda_pointer)(uintptr_t)memory;
  if (at >= arena->memory && at - arena->memory < (cuda_pointer)arena->bytes)
    return context->arena + (at - arena->memory);
  return *own = hewn_rt_alloc(context, bytes, HEWN_ALIGNMENT);
}

static int64_t bytesOf(const hewn_part_tensor *tensor) {
  return hewn_part_product(tensor->dims, 0, tensor->rank) * hewn_part_bytes(tensor->dtype);
}

/// Calls a runtime function on copies of its operand and result in host memory.
static int32_t callOnHost(hewn_context *context, hewn_part_fn *part, const char *node, int32_t num_inputs,
                          const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                          const int64_t *params) {
  hewn_part_tensor input = {NULL, 0, 0, NULL}, output = {NULL, 0, 0, NULL};
  void *own[2] = {NULL, NULL};
  int32_t code = HEWN_OK;
  if (num_inputs > 0) {
    input = inputs[0];
    if (!(input.data = hostPlace(context, input.data, bytesOf(&input), &own[0])))
      return HEWN_OUT_OF_MEMORY;
    code = hewn_device_copy(context, input.data, inputs[0].data, bytesOf(&input), HEWN_DEVICE_TO_HOST);
  }
  if (code == HEWN_OK && num_outputs > 0) {
    output = outputs[0];
    if (!(output.data = hostPlace(context, output.data, bytesOf(&output), &own[1])))
      return HEWN_OUT_OF_MEMORY;
  }
  if (code == HEWN_OK)
    code = part(context, node, num_inputs, &input, num_outputs, &output, params);
  if (code == HEWN_OK && num_outputs > 0)
    code = hewn_device_copy(context, outputs[0].data, output.data, bytesOf(&output), HEWN_DEVICE_FROM_HOST);
  // Staging buffers already hold the data, so the host memory is free. Without them, the driver may
  // still be copying, and the memory stays until the end of the run.
  for (int i = 0; i < 2; ++i)
    if (own[i] && hewn_cuda_state(context)->staging)
      hewn_rt_free(context, own[i]);
  return code;
}

int32_t hewn_device_part(hewn_context *context, hewn_part_fn *part, const char *node, int32_t num_inputs,
                         const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                         const int64_t *params) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_device_transport *transport = hewn_ranks_transport(context);
  if (!transport)
    return callOnHost(context, part, node, num_inputs, inputs, num_outputs, outputs, params);
  context->transport = transport;
  context->transport_stream = state->recording ? state->own : state->stream;
  context->transfer.what = NULL;
  state->met = 1;
  int32_t code = HEWN_OK;
  if (context->transfer_hook.transfer)
    code = hewn_cuda_time_launch(context, NULL, context->transport_stream);
  if (code == HEWN_OK)
    code = part(context, node, num_inputs, inputs, num_outputs, outputs, params);
  if (code == HEWN_OK && context->transfer_hook.transfer)
    code = hewn_cuda_time_transferred(context, context->transport_stream);
  context->transport = NULL;
  return code;
}
