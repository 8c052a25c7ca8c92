// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_POOL_H
#define HEWN_RUNTIME_POOL_H

/// \file
/// A thread pool for one context. Fork and join take less than 2 us while the threads spin.

#include "hewn/runtime.h"

typedef struct hewn_pool hewn_pool;

/// Creates a pool with `threads` - 1 threads. Returns NULL if out of memory or if a thread cannot
/// be started.
hewn_pool *hewn_pool_create(const hewn_allocator *allocator, int32_t threads);
void hewn_pool_destroy(const hewn_allocator *allocator, hewn_pool *pool);

/// Calls `task` for disjoint ranges that cover [0, n), on the pool's threads and the calling
/// thread. Only one thread at a time may call it, and no task may call it.
void hewn_pool_run(hewn_pool *pool, int64_t n, hewn_task task, void *arg);

#endif // HEWN_RUNTIME_POOL_H
