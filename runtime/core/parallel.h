// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_CORE_PARALLEL_H
#define HEWN_RUNTIME_CORE_PARALLEL_H

/// \file
/// The body of hewn_rt_parallel_for. Each platform defines that function with its own thread pool,
/// which it calls directly.

#include "core/context.h"

/// Type of the function of a thread pool that runs a job.
typedef void hewn_pool_run_fn(hewn_pool *pool, int64_t n, hewn_task task, void *arg);

/// A task of parallel work, wrapped to call the trace hook when it begins and ends.
typedef struct hewn_traced_task {
  hewn_context *context;
  hewn_task task;
  void *arg;
} hewn_traced_task;

static void hewn_run_traced(void *arg, int64_t begin, int64_t end) {
  const hewn_traced_task *traced = arg;
  const hewn_trace_hook *hook = &traced->context->trace_hook;
  const char *kernel = traced->context->kernel;
  hook->event(hook->user, HEWN_TRACE_TASK_BEGIN, kernel);
  traced->task(traced->arg, begin, end);
  hook->event(hook->user, HEWN_TRACE_TASK_END, kernel);
}

/// Implements hewn_rt_parallel_for. `run` runs a job on the context's pool. It is NULL on a
/// platform without a pool.
static inline int32_t hewn_parallel_for(hewn_context *context, int64_t n, hewn_task task, void *arg,
                                        hewn_pool_run_fn *run) {
  int isHooked = context->thread_hook.parallel_for != NULL;
  if (n <= 0)
    return hewn_rt_code(context);
  if (n == 1 || (!(run && context->pool) && !isHooked) || __atomic_load_n(&context->parallel, __ATOMIC_RELAXED)) {
    task(arg, 0, n);
    return hewn_rt_code(context);
  }
  hewn_traced_task traced = {context, task, arg};
  if (context->traces_tasks) {
    task = hewn_run_traced;
    arg = &traced;
  }
  __atomic_store_n(&context->parallel, 1, __ATOMIC_RELAXED);
  if (isHooked)
    context->thread_hook.parallel_for(context->thread_hook.user, n, task, arg);
  else
    run(context->pool, n, task, arg);
  __atomic_store_n(&context->parallel, 0, __ATOMIC_RELAXED);
  return hewn_rt_code(context);
}

#endif // HEWN_RUNTIME_CORE_PARALLEL_H
