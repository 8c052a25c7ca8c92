// SPDX-License-Identifier: Apache-2.0
// Memory that outlives a run, for strings and the tensors of sequences that outputs point to. It
// belongs to the context until the end of the next run. It is allocated in chunks of growing size,
// so that many small strings need few allocator calls. If a run returns data that it received from
// the previous run, sequence.c copies that data, because the previous run's memory is freed at the
// end of the run.
#include "core/context.h"
#include "core/sizes.h"

/// Header of a chunk; the chunk's memory follows.
struct hewn_kept {
  struct hewn_kept *next;
  int64_t bytes; ///< size of the memory after the header
  int64_t used;
};

enum { HEADER = HEWN_ALIGNMENT, FIRST_CHUNK = 4096, MAX_CHUNK = 1 << 24 };

void *hewn_rt_keep(hewn_context *context, int64_t bytes) {
  struct hewn_kept *chunk = context->kept;
  int64_t room = chunk ? chunk->bytes - chunk->used : 0, wanted;
  if (bytes < 0 || __builtin_add_overflow(bytes, HEWN_ALIGNMENT - 1, &wanted)) {
    hewn_rt_fail(context, HEWN_OUT_OF_MEMORY, NULL, "out of memory: {a} bytes for strings and sequences", bytes, 0);
    return NULL;
  }
  // Large blocks are aligned to 64 bytes for vector loads, small ones to 16 bytes.
  wanted = bytes < HEWN_ALIGNMENT ? (bytes + 15) & ~(int64_t)15 : wanted & ~(int64_t)(HEWN_ALIGNMENT - 1);
  if (chunk && bytes >= HEWN_ALIGNMENT) {
    int64_t aligned = (chunk->used + HEWN_ALIGNMENT - 1) & ~(int64_t)(HEWN_ALIGNMENT - 1);
    room = chunk->bytes - aligned;
    if (wanted <= room)
      chunk->used = aligned;
  }
  if (!chunk || wanted > room) {
    int64_t size = chunk ? chunk->bytes : FIRST_CHUNK / 2;
    size = size >= MAX_CHUNK / 2 ? MAX_CHUNK : 2 * size;
    // A large block is put into a chunk of its own, which is inserted after the current chunk.
    int isLarge = wanted > size / 2;
    size = isLarge ? wanted : size;
    struct hewn_kept *before = isLarge ? chunk : NULL;
    chunk = hewn_allocate(&context->allocator, hewn_size_add(size, HEADER), HEWN_ALIGNMENT);
    if (!chunk) {
      hewn_rt_fail(context, HEWN_OUT_OF_MEMORY, NULL, "out of memory: {a} bytes for strings and sequences", bytes, 0);
      return NULL;
    }
    chunk->bytes = size;
    chunk->used = 0;
    chunk->next = before ? before->next : context->kept;
    *(before ? &before->next : &context->kept) = chunk;
  }
  unsigned char *data = (unsigned char *)chunk + HEADER + chunk->used;
  chunk->used += wanted;
  return data;
}

static void forget(hewn_context *context, struct hewn_kept **list) {
  while (*list) {
    struct hewn_kept *chunk = *list;
    *list = chunk->next;
    context->allocator.release(context->allocator.user, chunk);
  }
}

int hewn_keep_is_leaving(const hewn_context *context, const void *data) {
  const unsigned char *at = data;
  for (const struct hewn_kept *chunk = context->kept_before; chunk; chunk = chunk->next) {
    const unsigned char *first = (const unsigned char *)chunk + HEADER;
    if (at >= first && at < first + chunk->bytes)
      return 1;
  }
  return 0;
}

void hewn_keep_begin_run(hewn_context *context) {
  forget(context, &context->kept_before);
  context->kept_before = context->kept;
  context->kept = NULL;
}

void hewn_keep_end_run(hewn_context *context) { forget(context, &context->kept_before); }

void hewn_keep_forget(hewn_context *context) {
  forget(context, &context->kept_before);
  forget(context, &context->kept);
}
