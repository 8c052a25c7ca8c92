// SPDX-License-Identifier: Apache-2.0
// What ranks hand each other where it lies on devices: by the communicator's
// transport in the order of the run's stream, or, where it has none, by the host's
// memory. And waiting for a device that itself may wait for other ranks: never
// without an end.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "cuda/state.h"
#include "hewn/communicator.h"
#include "parts/element.h"

#include <time.h>

/// A device is asked again at once for so long, then after pauses; other ranks are looked at now and then.
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
  hewn_cuda_forget(state); // if it is on its way, it is gone when that has ended
  transport->stop(context->communicator->user);
  state->met = 0;
}

/// The transport's word on a call of its own, while nothing is being recorded.
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
  state->waits = 1; // who has the outputs knows that all ranks have done their part
  // Devices that wait for other bytes than they are sent wait for ever.
  int32_t code = hewn_ranks_agree(context, state->agreed);
  return code == HEWN_OK ? told(context, transport->open(group->user, 0, group->num_ranks)) : code;
}

int32_t hewn_device_meet(hewn_context *context, int32_t first, int32_t ranks) {
  const hewn_device_transport *transport = hewn_ranks_transport(context);
  hewn_cuda_state(context)->has_transfers = 1;
  if (!transport || ranks == 0) // all ranks have met when the run began
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
      state->met = event && result == CUDA_SUCCESS; // behind an event there may be more
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

/// Where the host has what lies at `memory`, or will: in its arena at the same place, else in memory of this run's, which `*own` then is.
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

/// The part on copies of its operand and result that lie on the host.
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
  // The driver has a copy of what it is still to fetch, or has fetched it.
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
