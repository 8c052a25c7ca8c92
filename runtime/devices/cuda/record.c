// SPDX-License-Identifier: Apache-2.0
// Captures the launches of a run in a CUDA graph. Later runs with the same symbols and addresses
// launch the graph. While the caller's tensors have the same addresses in each run, the graph uses
// these addresses. Otherwise it uses those of buffers, and each run copies between the buffers and
// the caller's tensors, so that no new capture is needed.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"
#include "hewn/communicator.h"

#include <string.h>

void hewn_cuda_forget(cuda_state *state) {
  if (state->recorded)
    state->driver.cuGraphExecDestroy(state->recorded);
  state->recorded = NULL;
}

static size_t bytesOfSymbols(const hewn_context *context) {
  return (size_t)context->model->num_symbols * sizeof(int64_t);
}

static int sameSymbols(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  return state->recorded && memcmp(state->recorded_symbols, context->symbols, bytesOfSymbols(context)) == 0;
}

static size_t bytesOfPlaces(const hewn_context *context) {
  return (size_t)(context->model->num_inputs + context->model->num_outputs) * sizeof(cuda_pointer);
}

/// Returns the caller's device memory if it has the alignment that kernels require, else 0.
static cuda_pointer callersPlace(const void *data, int onDevice) {
  cuda_pointer place = (cuda_pointer)(uintptr_t)data;
  return onDevice && place % HEWN_ALIGNMENT == 0 ? place : 0;
}

static cuda_pointer placeOfInput(hewn_context *context, int32_t index) {
  return callersPlace(context->input_data[index], context->input_on_device[index]);
}

static cuda_pointer placeOfOutput(hewn_context *context, int32_t index) {
  const hewn_output_state *output = &context->outputs[index];
  return output->dynamic ? 0 : callersPlace(output->given, output->on_device);
}

void hewn_cuda_choose_places(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  int32_t inputs = context->model->num_inputs;
  memset(state->places, 0, bytesOfPlaces(context));
  if (state->copies || !sameSymbols(context))
    return;
  for (int32_t i = 0; i < inputs + context->model->num_outputs; ++i) {
    cuda_pointer place = i < inputs ? placeOfInput(context, i) : placeOfOutput(context, i - inputs);
    if (place && state->recorded_places[i] && place != state->recorded_places[i])
      state->copies = 1;
  }
}

void *hewn_device_input(hewn_context *context, int32_t index, int64_t bytes) {
  cuda_state *state = hewn_cuda_state(context);
  device_buffer *buffer = &state->inputs[index];
  cuda_pointer place = state->copies || bytes <= 0 ? 0 : placeOfInput(context, index);
  if (!place) {
    if (hewn_cuda_grow(context, buffer, bytes > 0 ? bytes : 1, "an input") != HEWN_OK)
      return NULL;
    place = buffer->memory;
    int32_t direction = context->input_on_device[index] ? HEWN_DEVICE_WITHIN : HEWN_DEVICE_FROM_HOST;
    if (hewn_device_copy(context, (void *)(uintptr_t)place, context->input_data[index], bytes, direction) != HEWN_OK)
      return NULL;
  }
  state->places[index] = place;
  return (void *)(uintptr_t)place;
}

void *hewn_device_output(hewn_context *context, int32_t index, int64_t bytes) {
  cuda_state *state = hewn_cuda_state(context);
  device_buffer *buffer = &state->outputs[index];
  cuda_pointer place = state->copies || bytes <= 0 ? 0 : placeOfOutput(context, index);
  if (!place) {
    if (hewn_cuda_grow(context, buffer, bytes > 0 ? bytes : 1, "an output") != HEWN_OK)
      return NULL;
    place = buffer->memory;
  }
  state->places[context->model->num_inputs + index] = place;
  return (void *)(uintptr_t)place;
}

int32_t hewn_cuda_end_recording(hewn_context *context, int keep) {
  cuda_state *state = hewn_cuda_state(context);
  hewn_cuda_driver *driver = &state->driver;
  cuda_graph graph = NULL;
  state->recording = 0;
  int32_t code = hewn_cuda_ran(context, driver->cuStreamEndCapture(state->own, &graph), "capturing the run");
  if (context->communicator)
    state->recorded_moved = context->communicator->moved - state->recorded_moved;
  if (code == HEWN_OK && keep) {
    code = hewn_cuda_ran(context, driver->cuGraphInstantiateWithFlags(&state->recorded, graph, 0), "capturing the run");
    if (code != HEWN_OK)
      state->recorded = NULL;
  }
  if (graph)
    driver->cuGraphDestroy(graph);
  if (code == HEWN_OK && keep)
    code = hewn_cuda_ran(context, driver->cuGraphLaunch(state->recorded, state->stream), "running the model");
  return code;
}

static int32_t copyOutput(hewn_context *context, int32_t index, given_output given) {
  void *to = context->output_data[index];
  if (given.bytes <= 0)
    return HEWN_OK;
  if (context->outputs[index].on_device)
    return hewn_device_copy(context, to, (const void *)(uintptr_t)given.from, given.bytes, HEWN_DEVICE_WITHIN);
  return hewn_cuda_copy_out(context, to, given.from, (size_t)given.bytes);
}

int32_t hewn_device_replay(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  // hooks observe each launch, so no graph is used
  if (context->trace_hook.event || hewn_cuda_times(context))
    return HEWN_DEVICE_GO_ON;
  // a graph cannot contain transfers through host memory
  if (state->has_transfers && !hewn_ranks_transport(context))
    return HEWN_DEVICE_GO_ON;
  if (!sameSymbols(context) || memcmp(state->recorded_places, state->places, bytesOfPlaces(context)) != 0) {
    hewn_cuda_forget(state);
    for (int32_t i = 0; i < context->model->num_outputs; ++i)
      state->given[i].bytes = -1;
    memcpy(state->recorded_symbols, context->symbols, bytesOfSymbols(context));
    memcpy(state->recorded_places, state->places, bytesOfPlaces(context));
    const int thisThread = 1;
    // Captures the graph on the context's own stream, because a caller's stream may be in use for
    // other work.
    if (hewn_cuda_ran(context, state->driver.cuStreamBeginCapture(state->own, thisThread), "capturing the run") !=
        HEWN_OK)
      return HEWN_DEVICE_FAILED;
    state->recording = 1;
    state->recorded_moved = context->communicator ? context->communicator->moved : 0;
    return HEWN_DEVICE_GO_ON;
  }
  if (hewn_cuda_ran(context, state->driver.cuGraphLaunch(state->recorded, state->stream), "running the model") !=
      HEWN_OK)
    return HEWN_DEVICE_FAILED;
  if (state->has_transfers) {
    state->met = 1;
    context->communicator->moved += state->recorded_moved;
  }
  for (int32_t i = 0; i < context->model->num_outputs; ++i)
    if (copyOutput(context, i, state->given[i]) != HEWN_OK)
      return HEWN_DEVICE_FAILED;
  return HEWN_DEVICE_DONE;
}

int32_t hewn_device_give(hewn_context *context, int32_t index, const void *from, int64_t bytes) {
  cuda_state *state = hewn_cuda_state(context);
  int32_t code = state->recording ? hewn_cuda_end_recording(context, 1) : HEWN_OK;
  state->given[index].from = (cuda_pointer)(uintptr_t)from;
  state->given[index].bytes = bytes;
  return code != HEWN_OK ? code : copyOutput(context, index, state->given[index]);
}
