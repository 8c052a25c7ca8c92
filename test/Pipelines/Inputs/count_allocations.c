/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the model `program` (y = 4 * x + 3) many times and fails if a run calls an allocator. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);
static int allocations;

void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  unsigned char *memory = malloc(count * bytes);
  for (size_t i = 0; memory && i < count * bytes; ++i)
    memory[i] = 0;
  return memory;
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  ++allocations;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : 12;
}

int main(void) {
  enum { N = 1000 };
  static float x[N], y[N];
  for (int i = 0; i < N; ++i)
    x[i] = (float)i;
  hewn_context *context;
  hewn_status status = hewn_context_create(&program, NULL, &context);
  int64_t symbols[] = {N};
  if (status.code == HEWN_OK)
    status = hewn_context_reserve(context, symbols);
  int before = allocations;
  for (int i = 0; status.code == HEWN_OK && i < 100; ++i)
    status = program_run(context, x, y, N);
  int during = allocations - before;
  int right = status.code == HEWN_OK;
  for (int i = 0; i < N; ++i)
    right = right && y[i] == 4 * x[i] + 3;
  hewn_context_destroy(context);
  printf("allocations: %d before, %d during\n", before, during);
  return !(right && before > 0 && during == 0);
}
