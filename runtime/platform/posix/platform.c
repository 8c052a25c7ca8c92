// SPDX-License-Identifier: Apache-2.0
// The platform's table: memory, CPU features, clock, errno.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "platform/posix/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static void *allocate(void *user, size_t bytes, size_t alignment) {
  (void)user;
  void *memory = NULL;
  if (alignment < sizeof(void *))
    alignment = sizeof(void *);
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void release(void *user, void *memory) {
  (void)user;
  free(memory);
}

const hewn_allocator hewn_default_allocator = {allocate, release, NULL};

static int64_t nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int *errorNumber(void) { return &errno; }

const hewn_platform_table hewn_rt_platform = {&hewn_default_allocator, hewn_cpu_query, hewn_cpu_name, nanoseconds,
                                              errorNumber};
