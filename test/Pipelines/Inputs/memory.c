/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the model MODEL (cc -DMODEL=name), with all symbols set to each of the sizes in argv. Fails
   if a run calls an allocator, prints, needs more than the reported arena size, or writes outside
   of the arena. */
#include <errno.h>
#include <hewn/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const hewn_model MODEL;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static int calls;

void *malloc(size_t bytes) {
  ++calls;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  ++calls;
  return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) {
  ++calls;
  return __libc_realloc(memory, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  ++calls;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  ++calls;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void free(void *memory) {
  ++calls;
  __libc_free(memory);
}

enum { GUARD = 4096, MOST = 16 };

static int fail(const char *what, int64_t size, const char *detail) {
  fprintf(stderr, "at %lld: %s: %s\n", (long long)size, what, detail);
  return 1;
}

static size_t bytesOf(const DLTensor *tensor) {
  size_t bytes = (tensor->dtype.bits + 7u) / 8;
  for (int i = 0; i < tensor->ndim; ++i)
    bytes *= (size_t)tensor->shape[i];
  return bytes;
}

/* Fills integers with 1, since they may be indices, and floats with small numbers. */
static void fill(DLTensor *tensor) {
  size_t bytes = bytesOf(tensor);
  tensor->data = __libc_memalign(64, bytes + 64);
  memset(tensor->data, 0, bytes);
  if (tensor->dtype.code == kDLFloat)
    for (size_t i = 0; i < bytes / 4; ++i)
      ((float *)tensor->data)[i] = (float)(i % 7) / 8;
  else
    for (size_t i = 0; i < bytes; i += tensor->dtype.bits / 8)
      ((char *)tensor->data)[i] = 1;
}

static void describe(DLTensor *tensor, const hewn_tensor_info *info, int64_t *shape) {
  memset(tensor, 0, sizeof *tensor);
  tensor->device.device_type = kDLCPU;
  tensor->ndim = info->rank;
  tensor->dtype = info->dtype;
  tensor->shape = shape;
}

static int runAt(int64_t size) {
  int64_t symbols[MOST], shapes[2 * MOST][8];
  int64_t *dims[MOST];
  DLTensor inputs[MOST], outputs[MOST];
  for (int i = 0; i < MODEL.num_symbols; ++i)
    symbols[i] = size;
  for (int i = 0; i < MODEL.num_inputs; ++i) {
    for (int d = 0; d < MODEL.inputs[i].rank; ++d)
      shapes[i][d] = MODEL.inputs[i].dims[d] < 0 ? size : MODEL.inputs[i].dims[d];
    describe(&inputs[i], &MODEL.inputs[i], shapes[i]);
    fill(&inputs[i]);
  }
  for (int i = 0; i < MODEL.num_outputs; ++i)
    dims[i] = shapes[MOST + i];
  MODEL.output_dims(symbols, dims);
  for (int i = 0; i < MODEL.num_outputs; ++i) {
    describe(&outputs[i], &MODEL.outputs[i], dims[i]);
    outputs[i].data = __libc_memalign(64, bytesOf(&outputs[i]) + 64);
  }

  int64_t need = hewn_arena_bytes(&MODEL, symbols);
  if (need < 0)
    return fail("no size of the arena", size, "");
  unsigned char *arena = __libc_memalign(64, (size_t)need + GUARD);
  memset(arena, 0xa5, (size_t)need + GUARD);
  hewn_context_options options = {sizeof options};
  options.arena = arena;
  options.arena_bytes = (size_t)need;
  hewn_context *context = NULL;
  hewn_status status = hewn_context_create(&MODEL, &options, &context);
  if (status.code != HEWN_OK)
    return fail("no context", size, status.message);
  int before = calls;
  for (int i = 0; i < 20; ++i)
    if ((status = hewn_run(&MODEL, context, inputs, outputs)).code != HEWN_OK)
      return fail("no run", size, status.message);
  if (calls != before)
    return fail("a run called an allocator", size, "");
  for (int i = 0; i < GUARD; ++i)
    if (arena[need + i] != 0xa5)
      return fail("a run wrote beyond its arena", size, "");
  /* The arena is no larger than necessary, up to alignment. */
  int64_t used = need;
  while (used > 0 && arena[used - 1] == 0xa5)
    --used;
  if (need - used > 64 * 1024)
    return fail("the end of the arena is never used", size, "");
  hewn_context_destroy(context);

  if (need >= 64) {
    options.arena_bytes = (size_t)need - 64;
    status = hewn_context_create(&MODEL, &options, &context);
    if (status.code == HEWN_OK)
      status = hewn_run(&MODEL, context, inputs, outputs);
    if (status.code == HEWN_OK)
      return fail("a run succeeded with less than the reported arena size", size, "");
    hewn_context_destroy(context);
  }
  return 0;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (runAt(atoll(argv[i])))
      return 1;
  return calls == 0; /* context_create allocates: the counter works */
}
