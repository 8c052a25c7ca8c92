// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_POOL_H
#define HEWN_RUNTIME_POOL_H

/// \file
/// A pool of threads for one context: fork and join in under 2 us while warm.

#include "hewn/runtime.h"

typedef struct hewn_pool hewn_pool;

/// Starts `threads` - 1 threads. NULL when memory or threads ran out.
hewn_pool *hewn_pool_create(const hewn_allocator *allocator, int32_t threads);
void hewn_pool_destroy(const hewn_allocator *allocator, hewn_pool *pool);

/// Covers [0, n) on the pool's threads and the calling one. One caller at a
/// time, and no task may call it.
void hewn_pool_run(hewn_pool *pool, int64_t n, hewn_task task, void *arg);

#endif // HEWN_RUNTIME_POOL_H
