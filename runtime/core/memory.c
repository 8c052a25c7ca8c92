// SPDX-License-Identifier: Apache-2.0
// Memory from the context's allocator: scratch memory whose size depends on data, objects that
// runtime functions keep for all runs, and outputs. All other memory is in the arena.

#include "core/context.h"
#include "core/sizes.h"
#include "core/string.h"

void *hewn_allocate(const hewn_allocator *allocator, int64_t bytes, int64_t alignment) {
  if (bytes < 0 || bytes > PTRDIFF_MAX)
    return NULL;
  return allocator->allocate(allocator->user, (size_t)bytes, (size_t)alignment);
}

int64_t hewn_tensor_bytes(DLDataType dtype, int32_t rank, const int64_t *dims) {
  // Elements are rounded up to whole bytes: bools and 4-bit integers take one byte each, as in
  // numpy.
  int64_t bytes = ((int64_t)dtype.bits * dtype.lanes + 7) / 8;
  int64_t elements = 1;
  int isEmpty = 0;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return -1;
    isEmpty |= dims[i] == 0;
  }
  if (isEmpty) // returns 0 even if multiplying the other dims would overflow
    return 0;
  for (int32_t i = 0; i < rank; ++i)
    elements = hewn_size_mul(elements, dims[i]);
  bytes = hewn_size_mul(elements, bytes);
  return bytes > PTRDIFF_MAX ? -1 : bytes;
}

static void prepend(hewn_block **list, hewn_block *block) {
  block->previous = NULL;
  block->next = *list;
  if (block->next)
    block->next->previous = block;
  *list = block;
}

/// Removes a block of scratch memory from the context's list that contains it.
static void unlinkBlock(hewn_context *context, hewn_block *block) {
  if (block->next)
    block->next->previous = block->previous;
  if (block->previous)
    block->previous->next = block->next;
  else
    *(context->blocks == block ? &context->blocks : &context->held) = block->next;
}

void *hewn_rt_alloc(hewn_context *context, int64_t bytes, int64_t align) {
  if (align < HEWN_ALIGNMENT)
    align = HEWN_ALIGNMENT;
  // The header of the block is within the first `align` bytes, so that the caller's bytes after
  // them are aligned.
  void *memory = hewn_allocate(&context->allocator, hewn_size_add(bytes, align), align);
  if (!memory) {
    hewn_rt_fail(context, HEWN_OUT_OF_MEMORY, NULL,
                 "out of memory: {a} bytes for a buffer whose size depends on "
                 "data",
                 bytes, 0);
    return NULL;
  }
  unsigned char *data = (unsigned char *)memory + align;
  hewn_block *block = (hewn_block *)(void *)data - 1;
  block->memory = memory;
  prepend(&context->blocks, block);
  return data;
}

void hewn_rt_hold(hewn_context *context, void *memory) {
  hewn_block *block = (hewn_block *)memory - 1;
  unlinkBlock(context, block);
  prepend(&context->held, block);
}

void hewn_rt_free(hewn_context *context, void *memory) {
  if (!memory)
    return;
  hewn_block *block = (hewn_block *)memory - 1;
  unlinkBlock(context, block);
  context->allocator.release(context->allocator.user, block->memory);
}

void hewn_memory_end_run(hewn_context *context) {
  while (context->blocks)
    hewn_rt_free(context, context->blocks + 1);
}

/// An object that a runtime function keeps until the context is destroyed.
struct hewn_place {
  struct hewn_place *next;
  const void *part;
  void *made;
  char text[];
};

void **hewn_rt_place(hewn_context *context, const void *part, const char *text) {
  for (struct hewn_place *place = context->places; place; place = place->next)
    if (place->part == part && hewn_strcmp(place->text, text) == 0)
      return &place->made;
  size_t bytes = hewn_strlen(text) + 1;
  struct hewn_place *place = hewn_rt_alloc(context, (int64_t)(sizeof(*place) + bytes), HEWN_ALIGNMENT);
  if (!place)
    return NULL;
  hewn_rt_hold(context, place);
  place->next = context->places;
  place->part = part;
  place->made = NULL;
  memcpy(place->text, text, bytes);
  context->places = place;
  return &place->made;
}

void hewn_memory_forget(hewn_context *context) {
  context->places = NULL;
  while (context->held)
    hewn_rt_free(context, context->held + 1);
}

/// Reports that an output's shape does not fit the model's descriptor or exceeds the caller's
/// memory.
static void *outputFailure(hewn_context *context, int32_t code, int32_t index, int32_t rank, const int64_t *dims,
                           const char *what) {
  const hewn_tensor_info *info = &context->output_infos[index];
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return NULL;
  hewn_text_put(&text, "output ");
  hewn_text_name(&text, info->name);
  hewn_text_put(&text, ": its shape is ");
  hewn_text_dims(&text, rank, dims);
  hewn_text_put(&text, what);
  hewn_text_close(context, code, &text);
  return NULL;
}

void *hewn_rt_alloc_output(hewn_context *context, int32_t index, int32_t rank, const int64_t *dims) {
  const hewn_tensor_info *info = &context->output_infos[index];
  hewn_output_state *state = &context->outputs[index];
  int64_t bytes = hewn_tensor_bytes(info->dtype, rank, dims);
  if (rank != info->rank)
    return outputFailure(context, HEWN_INTERNAL, index, rank, dims, ", which the model does not allow");
  if (bytes < 0)
    return outputFailure(context, HEWN_INVALID_ARGUMENT, index, rank, dims, ", which is not a valid tensor shape");
  if (state->capacity >= 0 && bytes > state->capacity)
    return outputFailure(context, HEWN_INVALID_ARGUMENT, index, rank, dims,
                         ": the caller's memory is too small for it");
  void *data = state->given;
  if (state->capacity < 0) {
    if (state->allocated) // a later call for the same output (in a loop)
      context->allocator.release(context->allocator.user, context->output_data[index]);
    // Allocates at least one byte for the output, because a result of NULL means failure.
    data = hewn_allocate(&context->allocator, bytes ? bytes : 1, HEWN_ALIGNMENT);
    state->allocated = data != NULL;
    if (!data) {
      context->output_data[index] = NULL;
      return outputFailure(context, HEWN_OUT_OF_MEMORY, index, rank, dims, ": out of memory");
    }
  }
  for (int32_t i = 0; i < rank; ++i)
    context->output_dims[index][i] = dims[i];
  context->output_data[index] = data;
  return data;
}
