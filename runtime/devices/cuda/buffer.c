// SPDX-License-Identifier: Apache-2.0
// Device memory: growable buffers, memory of data-dependent size, and the check of the caller's
// pointers.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"

static int32_t failMemory(hewn_context *context, int64_t bytes, const char *what) {
  size_t available = 0, total = 0;
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return HEWN_OUT_OF_MEMORY;
  hewn_text_put(&text, "out of device memory: ");
  hewn_text_put(&text, what);
  hewn_text_put(&text, " needs ");
  hewn_text_int(&text, bytes);
  hewn_text_put(&text, " bytes");
  if (hewn_cuda_state(context)->driver.cuMemGetInfo(&available, &total) == CUDA_SUCCESS) {
    hewn_text_put(&text, "; device ");
    hewn_text_int(&text, context->device_number);
    hewn_text_put(&text, " has ");
    hewn_text_int(&text, (int64_t)available);
    hewn_text_put(&text, " of ");
    hewn_text_int(&text, (int64_t)total);
    hewn_text_put(&text, " free");
  }
  return hewn_text_close(context, HEWN_OUT_OF_MEMORY, &text);
}

int32_t hewn_cuda_grow(hewn_context *context, device_buffer *buffer, int64_t bytes, const char *what) {
  cuda_state *state = hewn_cuda_state(context);
  if (bytes <= buffer->bytes)
    return HEWN_OK;
  int32_t code = hewn_cuda_settle(context); // wait: the last run may still use the buffer
  if (code != HEWN_OK)
    return code;
  if (buffer->memory) {
    hewn_cuda_forget(state); // the captured graph contains the buffer's old address
    state->driver.cuMemFree(buffer->memory);
  }
  buffer->memory = 0;
  buffer->bytes = 0;
  cuda_result result = state->driver.cuMemAlloc(&buffer->memory, (size_t)bytes);
  if (result == CUDA_SUCCESS) {
    buffer->bytes = bytes;
    return HEWN_OK;
  }
  buffer->memory = 0;
  return result == CUDA_OUT_OF_MEMORY ? failMemory(context, bytes, what) : hewn_cuda_ran(context, result, what);
}

void hewn_cuda_free_buffers(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  for (int32_t i = 0; state->inputs && i < context->model->num_inputs; ++i)
    if (state->inputs[i].memory)
      state->driver.cuMemFree(state->inputs[i].memory);
  for (int32_t i = 0; state->outputs && i < context->model->num_outputs; ++i)
    if (state->outputs[i].memory)
      state->driver.cuMemFree(state->outputs[i].memory);
  if (state->arena.memory)
    state->driver.cuMemFree(state->arena.memory);
  if (state->counters.memory)
    state->driver.cuMemFree(state->counters.memory);
}

static int32_t checkPlace(hewn_context *context, const char *kind, const char *name, const void *data) {
  cuda_state *state = hewn_cuda_state(context);
  const int ordinal = 9;
  int number = -1;
  hewn_text text;
  if (!data) // an empty tensor, which is not accessed
    return HEWN_OK;
  cuda_result result = state->driver.cuPointerGetAttribute(&number, ordinal, (cuda_pointer)(uintptr_t)data);
  if (result == CUDA_SUCCESS && number == context->device_number)
    return HEWN_OK;
  if (result != CUDA_SUCCESS && result != CUDA_INVALID_VALUE)
    return hewn_cuda_ran(context, result, "querying the location of a tensor");
  if (!hewn_message_open(context, &text))
    return HEWN_INVALID_ARGUMENT;
  hewn_text_put(&text, kind);
  hewn_text_name(&text, name);
  hewn_text_put(&text, ": memory of device ");
  hewn_text_int(&text, context->device_number);
  hewn_text_put(&text, result == CUDA_SUCCESS ? " expected, but the driver reports memory of device "
                                              : " expected, but the driver reports that it is not device memory");
  if (result == CUDA_SUCCESS)
    hewn_text_int(&text, number);
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

int32_t hewn_cuda_check_places(hewn_context *context) {
  const hewn_model *model = context->model;
  int32_t code = HEWN_OK;
  for (int32_t i = 0; code == HEWN_OK && i < model->num_inputs; ++i)
    if (context->input_on_device[i])
      code = checkPlace(context, "input ", model->inputs[i].name, context->input_data[i]);
  for (int32_t i = 0; code == HEWN_OK && i < model->num_outputs; ++i)
    if (context->outputs[i].on_device)
      code = checkPlace(context, "output ", model->outputs[i].name, context->outputs[i].given);
  return code;
}

void *hewn_device_alloc(hewn_context *context, int64_t bytes) {
  cuda_state *state = hewn_cuda_state(context);
  device_buffer buffer = {0, 0};
  if (bytes < 0) {
    hewn_message_fail(context, HEWN_OUT_OF_MEMORY, "a buffer whose size depends on data is larger than any memory");
    return NULL;
  }
  device_block *block = hewn_cuda_allocate(context, sizeof(device_block));
  // cuMemAlloc may wait for the device without a time limit. If the stream may be waiting for other
  // ranks, wait here first, with a time limit.
  if (!block || (state->met && hewn_cuda_wait(context, NULL) != HEWN_OK) ||
      hewn_cuda_grow(context, &buffer, bytes > 0 ? bytes : 1, "a buffer whose size depends on data") != HEWN_OK) {
    hewn_cuda_release(context, block);
    return NULL;
  }
  block->memory = buffer.memory;
  block->next = state->blocks;
  state->blocks = block;
  state->waits = 1; // the run must wait for the device: this memory is freed at its end
  return (void *)(uintptr_t)buffer.memory;
}

void hewn_device_free(hewn_context *context, void *memory) {
  cuda_state *state = hewn_cuda_state(context);
  for (device_block **link = &state->blocks; memory && *link; link = &(*link)->next)
    if ((*link)->memory == (cuda_pointer)(uintptr_t)memory) {
      device_block *block = *link;
      *link = block->next;
      // cuMemFree waits for work that uses the memory, and that work may wait for a rank that has
      // exited. So wait first, with a time limit.
      if (state->met)
        hewn_cuda_wait(context, NULL);
      state->driver.cuMemFree(block->memory);
      hewn_cuda_release(context, block);
      return;
    }
}
