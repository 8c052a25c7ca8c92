// SPDX-License-Identifier: Apache-2.0
// Creates and destroys contexts. A context consists of one allocation for the struct and its
// arrays, an arena, a reference to the model's weights, and optionally a thread pool.

#include "core/context.h"
#include "core/string.h"
#include "hewn/communicator.h"

#define MAX_THREADS 1024

const char hewn_context_busy_message[] = "the context is in use by another thread: give each thread its own";

__attribute__((noinline)) int hewn_context_enter(hewn_context *context) {
  if (__atomic_exchange_n(&context->busy, 1, __ATOMIC_ACQUIRE) != 0)
    return 0;
  // The allocator, hooks, drivers and math functions may set errno during the call.
  int *(*number)(void) = context->model->services->platform->error_number;
  if (number) {
    context->error_number = number();
    context->callers_errno = *context->error_number;
  }
  return 1;
}

void hewn_context_abandon(hewn_context *context, int32_t code) {
  const hewn_communicator *group = context->communicator;
  if (!group || code == HEWN_OK || context->broken != HEWN_OK)
    return;
  context->broken = code;
  group->abandon(group->user, context->message);
}

__attribute__((noinline)) hewn_status hewn_context_leave(hewn_context *context) {
  hewn_status status = hewn_message_status(context);
  if (context->error_number)
    *context->error_number = context->callers_errno;
  __atomic_store_n(&context->busy, 0, __ATOMIC_RELEASE);
  return status;
}

/// Allocates the arrays of a context from its single block of memory. If `base` is NULL, only
/// computes the size of the block.
typedef struct carver {
  unsigned char *base;
  size_t used;
} carver;

static void *carve(carver *carver, size_t count, size_t bytes) {
  carver->used = (carver->used + HEWN_ALIGNMENT - 1) / HEWN_ALIGNMENT * HEWN_ALIGNMENT;
  void *block = carver->base ? carver->base + carver->used : NULL;
  carver->used += count * bytes;
  return block;
}

static size_t sumRanks(const hewn_tensor_info *infos, size_t count) {
  size_t ranks = 0;
  for (size_t i = 0; i < count; ++i)
    ranks += (size_t)infos[i].rank;
  return ranks;
}

/// Places the arrays of `context` in the memory at `base`, and returns the number of bytes that
/// they take. The model of `context` is already set.
static size_t layOut(hewn_context *context, unsigned char *base) {
  const hewn_model *model = context->model;
  size_t inputs = (size_t)model->num_inputs;
  size_t outputs = (size_t)model->num_outputs;
  size_t symbols = (size_t)model->num_symbols;
  size_t ranks = sumRanks(model->outputs, outputs);
  carver carver = {base, 0};
  carve(&carver, 1, sizeof(hewn_context));
  context->symbols = carve(&carver, symbols, sizeof(int64_t));
  context->bound_by = carve(&carver, symbols, sizeof(int32_t));
  context->input_data = carve(&carver, inputs, sizeof(void *));
  context->input_dims = carve(&carver, inputs, sizeof(int64_t *));
  context->input_on_device = carve(&carver, inputs, sizeof(uint8_t));
  context->input_shapes = carve(&carver, sumRanks(model->inputs, inputs), sizeof(int64_t));
  context->output_data = carve(&carver, outputs, sizeof(void *));
  context->output_dims = carve(&carver, outputs, sizeof(int64_t *));
  context->outputs = carve(&carver, outputs, sizeof(hewn_output_state));
  int64_t *dims = carve(&carver, ranks, sizeof(int64_t));
  for (size_t i = 0; base && i < outputs; ++i) {
    context->output_dims[i] = dims;
    dims += model->outputs[i].rank;
  }
  return carver.used;
}

static void markDynamic(hewn_context *context, const hewn_tensor_info *outputs) {
  for (int32_t i = 0; outputs && i < context->model->num_outputs; ++i)
    for (int32_t d = 0; d < outputs[i].rank; ++d)
      if (outputs[i].dims[d] == HEWN_DIM_DYNAMIC)
        context->outputs[i].dynamic = 1;
}

/// Marks the outputs whose dims depend on data in at least one case of the model.
static void findDynamicOutputs(hewn_context *context) {
  markDynamic(context, context->model->outputs);
  for (int32_t c = 0; c < context->model->num_cases; ++c)
    markDynamic(context, context->model->cases[c].outputs);
}

/// Copies options whose struct may come from an older or newer header. Members that the older
/// struct lacks become zero. Returns an error message or NULL.
static const char *readOptions(const hewn_model *model, const hewn_context_options *given,
                               hewn_context_options *options) {
  memset(options, 0, sizeof(*options));
  if (given) {
    const size_t most = 4096; // larger than the options struct of any later version
    if (given->size < sizeof(size_t) || given->size > most)
      return "options.size is wrong: set it to sizeof(hewn_context_options)";
    for (size_t i = sizeof(*options); i < given->size; ++i)
      if (((const unsigned char *)given)[i])
        return "options sets a member that this library's runtime lacks: the runtime is older than the headers";
    memcpy(options, given, given->size < sizeof(*options) ? given->size : sizeof(*options));
  }
  if (!options->allocator.allocate != !options->allocator.release)
    return "options.allocator needs both allocate and release, or neither";
  if (!options->allocator.allocate) {
    const hewn_allocator *allocator = model->services->platform->allocator;
    if (!allocator)
      return "options.allocator is required on this platform";
    options->allocator = *allocator;
  }
  if (options->flags & ~(uint32_t)(HEWN_VERIFY_WEIGHTS | HEWN_COPY_WEIGHTS | HEWN_TRACE_TASKS))
    return "options.flags has a bit that is not in hewn_context_flags";
  if (options->threads < 0 || options->threads > MAX_THREADS)
    return "options.threads is outside 0..1024";
  if ((uintptr_t)options->arena % HEWN_ALIGNMENT != 0)
    return "options.arena is not aligned to 64 bytes";
  if (options->arena_bytes > PTRDIFF_MAX)
    return "options.arena_bytes is too large";
  if (options->weights_bytes && !options->weights)
    return "options.weights_bytes is set, but options.weights is NULL";
  if ((uintptr_t)options->weights % HEWN_ALIGNMENT != 0)
    return "options.weights is not aligned to 64 bytes";
  if (options->weights && options->weights_path)
    return "options.weights and options.weights_path are both set";
  if (options->weights && (options->flags & HEWN_COPY_WEIGHTS))
    return "options.weights is used in place: leave HEWN_COPY_WEIGHTS out of options.flags";
  if (options->device < 0)
    return "options.device is negative: devices are counted from 0";
  return NULL;
}

static int32_t failArena(hewn_context *context, int64_t need) {
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return HEWN_OUT_OF_MEMORY;
  hewn_text_put(&text, "model ");
  hewn_text_name(&text, context->model->name);
  hewn_text_put(&text, " needs an arena of ");
  hewn_text_int(&text, need);
  if (context->arena_is_callers) {
    hewn_text_put(&text, " bytes; the caller's arena has ");
    hewn_text_int(&text, context->arena_bytes);
  } else {
    hewn_text_put(&text, " bytes, which the allocator cannot provide");
  }
  return hewn_text_close(context, HEWN_OUT_OF_MEMORY, &text);
}

static void releaseArena(hewn_context *context) {
  if (!context->arena || context->arena_is_callers)
    return;
  const hewn_communicator *group = context->communicator;
  if (group)
    group->release(group->user, context->arena);
  else
    context->allocator.release(context->allocator.user, context->arena);
  context->arena = NULL;
}

/// Replaces the arena by one with `need` bytes.
static __attribute__((noinline)) int32_t replaceArena(hewn_context *context, int64_t need) {
  if (need < 0)
    return hewn_message_fail(context, HEWN_OUT_OF_MEMORY, "the arena's size overflows for these dimensions");
  if (context->arena_is_callers)
    return failArena(context, need);
  releaseArena(context);
  context->arena_bytes = 0;
  context->arena = context->communicator ? context->model->services->ranks->allocate(context, need)
                                         : hewn_allocate(&context->allocator, need, HEWN_ALIGNMENT);
  if (!context->arena)
    return failArena(context, need); // no effect if the ranks' service has recorded the failure
  context->arena_bytes = need;
  return HEWN_OK;
}

int32_t hewn_context_grow(hewn_context *context) {
  int64_t need = context->communicator ? context->model->services->ranks->arena_bytes(context)
                                       : context->variant->arena_bytes(context->symbols);
  return need >= 0 && need <= context->arena_bytes ? HEWN_OK : replaceArena(context, need);
}

/// Returns true if each symbol of the model, except for the rank, has a single value, so that the
/// size of the arena is fixed. Sets the symbols to these values.
static int isStatic(hewn_context *context) {
  for (int32_t s = 0; s < context->model->num_symbols; ++s) {
    const hewn_symbol *symbol = &context->model->symbols[s];
    if (symbol->min != symbol->max && !(context->communicator && s + 1 == context->model->num_symbols))
      return 0;
    context->symbols[s] = symbol->min;
  }
  return 1;
}

/// Connects the context of a partitioned model to the other ranks.
static int32_t joinRanks(hewn_context *context, hewn_communicator *group) {
  if (context->model->num_ranks > 0)
    return context->model->services->ranks->join(context, group);
  return group ? hewn_message_fail(context, HEWN_INVALID_ARGUMENT,
                                   "options.communicator is set, but the model is not partitioned")
               : HEWN_OK;
}

static int32_t takeWeights(hewn_context *context, const hewn_context_options *options) {
  const hewn_model *model = context->model;
  hewn_text text;
  if (model->weights_file)
    return model->services->weights->acquire(context, options);
  context->weights = model->weights;
  if ((!options->weights && !options->weights_path) || !hewn_message_open(context, &text))
    return HEWN_OK;
  hewn_text_put(&text, options->weights ? "options.weights" : "options.weights_path");
  hewn_text_put(&text, model->weights ? " is set, but the model's binary contains its weights"
                                      : " is set, but the model has no weights");
  return hewn_text_close(context, HEWN_INVALID_ARGUMENT, &text);
}

static int32_t startPool(hewn_context *context) {
  const hewn_pool_table *pool = context->model->services->pool;
  if (context->threads <= 1 || context->thread_hook.parallel_for)
    return HEWN_OK;
  if (!pool) {
    context->threads = 1;
    return HEWN_OK;
  }
  context->pool = pool->create(&context->allocator, context->threads);
  if (!context->pool)
    return hewn_rt_fail(context, HEWN_OUT_OF_MEMORY, NULL, "cannot start {a} threads", context->threads - 1, 0);
  return HEWN_OK;
}

/// Performs those steps of context creation whose failure is recorded in the context.
static int32_t furnish(hewn_context *context, const hewn_context_options *options) {
  int32_t code = hewn_variant_choose(context);
  if (code == HEWN_OK)
    code = joinRanks(context, options->communicator);
  if (code == HEWN_OK)
    code = takeWeights(context, options);
  if (code == HEWN_OK && context->model->device)
    code = context->model->device->table->create(context, options);
  if (code == HEWN_OK && isStatic(context))
    code = hewn_context_grow(context);
  return code == HEWN_OK ? startPool(context) : code;
}

static hewn_status failEarly(int32_t code, const char *message) {
  hewn_status status = {code, message};
  return status;
}

hewn_status hewn_impl_context_create(const hewn_model *model, const hewn_context_options *given, hewn_context **out) {
  hewn_context_options options;
  if (!hewn_model_services(model))
    return failEarly(HEWN_UNSUPPORTED, "the model needs the runtime of the hewn that compiled it");
  const char *problem = readOptions(model, given, &options);
  if (problem)
    return failEarly(HEWN_INVALID_ARGUMENT, problem);
  hewn_context start;
  memset(&start, 0, sizeof(start));
  start.table = model->runtime;
  start.model = model;
  start.output_infos = model->outputs;
  start.allocator = options.allocator;
  start.thread_hook = options.thread_hook;
  start.trace_hook = options.trace_hook;
  start.traces_tasks = options.trace_hook.event && (options.flags & HEWN_TRACE_TASKS);
  start.device_hook = options.device_hook;
  start.cancel_hook = options.cancel_hook;
  if (model->num_ranks > 0)
    start.transfer_hook = options.transfer_hook;
  start.threads = options.threads > 1 ? options.threads : 1;
  start.arena = options.arena;
  start.arena_bytes = options.arena ? (int64_t)options.arena_bytes : 0;
  start.arena_is_callers = options.arena != NULL;
  size_t bytes = layOut(&start, NULL);
  unsigned char *memory = hewn_allocate(&options.allocator, (int64_t)bytes, HEWN_ALIGNMENT);
  if (!memory)
    return failEarly(HEWN_OUT_OF_MEMORY, "out of memory for the context");
  memset(memory, 0, bytes);
  hewn_context *context = (hewn_context *)(void *)memory;
  *context = start;
  layOut(context, memory);
  findDynamicOutputs(context);
  hewn_context_enter(context);
  int32_t code = furnish(context, &options);
  hewn_context_abandon(context, code);
  context->broken = code;
  *out = context;
  return hewn_context_leave(context);
}

void hewn_impl_context_destroy(hewn_context *context) {
  hewn_allocator allocator = context->allocator;
  context->busy = 0; // a child of fork may destroy a context whose run was in progress
  hewn_context_enter(context);
  int *number = context->error_number, saved = context->callers_errno;
  const hewn_services *services = context->model->services;
  if (context->pool)
    services->pool->destroy(&allocator, context->pool);
  if (context->model->device)
    context->model->device->table->destroy(context);
  if (context->holds_weights)
    services->weights->release(context);
  releaseArena(context);
  if (context->communicator)
    __atomic_store_n(&context->communicator->taken, 0, __ATOMIC_RELEASE);
  hewn_keep_forget(context);
  hewn_memory_forget(context);
  allocator.release(allocator.user, context);
  if (number)
    *number = saved;
}

hewn_status hewn_impl_context_reserve(hewn_context *context, const int64_t *symbols) {
  if (!hewn_context_enter(context))
    return failEarly(HEWN_BUSY, hewn_context_busy_message);
  if (context->broken == HEWN_OK) {
    hewn_message_clear(context);
    if (hewn_bind_symbols(context, symbols) == HEWN_OK)
      hewn_context_grow(context);
  }
  return hewn_context_leave(context);
}

hewn_status hewn_impl_context_set_stream(hewn_context *context, void *stream) {
  if (!hewn_context_enter(context))
    return failEarly(HEWN_BUSY, hewn_context_busy_message);
  if (context->broken == HEWN_OK) {
    hewn_message_clear(context);
    if (context->model->device)
      context->model->device->table->set_stream(context, stream);
    else
      hewn_message_fail(context, HEWN_INVALID_ARGUMENT, "the model runs on the host: it has no stream");
  }
  return hewn_context_leave(context);
}

const char *hewn_impl_context_message(const hewn_context *context) { return context->message; }

uint64_t hewn_rt_draw_index(hewn_context *context) { return context->draws++; }

int32_t hewn_rt_threads(const hewn_context *context) { return context->threads; }
