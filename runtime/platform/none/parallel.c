// SPDX-License-Identifier: Apache-2.0
// Parallel work on a platform without threads: on the calling thread, or on the caller's threads.

#include "core/parallel.h"

int32_t hewn_rt_parallel_for(hewn_context *context, int64_t n, hewn_task task, void *arg) {
  return hewn_parallel_for(context, n, task, arg, /*run=*/NULL);
}
