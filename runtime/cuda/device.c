// SPDX-License-Identifier: Apache-2.0
// A model on a GPU: its code and weights, once for all contexts; an arena and
// a stream for each; and what generated code calls.
#define _GNU_SOURCE

#include "cuda/driver.h"
#include "futex.h"

#include <string.h>

/// What all contexts of a model share: in the model's own writable memory.
typedef struct shared_state {
  uint32_t lock;
  uint32_t users;
  cuda_module module;
  cuda_pointer weights;
  uint64_t reserved[5];
} shared_state;

typedef char state_fits[sizeof(shared_state) <= sizeof(hewn_device_state) ? 1 : -1];

/// Memory of the device that grows when more is wanted.
typedef struct device_buffer {
  cuda_pointer memory;
  int64_t bytes;
} device_buffer;

/// Memory whose size depends on data, until the run ends.
typedef struct device_block {
  struct device_block *next;
  cuda_pointer memory;
} device_block;

/// Where an output is when a recorded run has ended.
typedef struct given_output {
  cuda_pointer from;
  int64_t bytes; ///< -1: not given
} given_output;

typedef struct cuda_state {
  hewn_cuda_driver driver;
  cuda_device device;
  cuda_context primary;
  cuda_stream stream;
  shared_state *shared; ///< NULL: not counted there
  cuda_function *functions;
  device_buffer arena;
  device_buffer *inputs;
  device_buffer *outputs;
  device_block *blocks;
  /// The launches of one run, for one set of symbols. NULL: none is recorded.
  cuda_exec recorded;
  int64_t *recorded_symbols;
  given_output *given;
  int32_t recording;
  int32_t lost; ///< the device failed: nothing more is run
} cuda_state;

static const hewn_device_code *codeOf(hewn_context *context) { return context->model->device; }

static cuda_state *stateOf(hewn_context *context) { return (cuda_state *)context->device; }

static void *allocateHost(hewn_context *context, size_t bytes) {
  void *memory = context->allocator.allocate(context->allocator.user, bytes, HEWN_ALIGNMENT);
  if (memory)
    memset(memory, 0, bytes);
  else
    hewn_message_fail(context, HEWN_OUT_OF_MEMORY, "out of memory for what the host keeps of the device");
  return memory;
}

static void releaseHost(hewn_context *context, void *memory) {
  if (memory)
    context->allocator.release(context->allocator.user, memory);
}

static int32_t check(hewn_context *context, cuda_result result, const char *what) {
  return hewn_cuda_check(context, &stateOf(context)->driver, result, what);
}

/// After a failure of a kernel or a copy the device's context is good for nothing more.
static int32_t checkRun(hewn_context *context, cuda_result result, const char *what) {
  int32_t code = check(context, result, what);
  if (code != HEWN_OK && result != CUDA_OUT_OF_MEMORY)
    stateOf(context)->lost = 1;
  return code;
}

static void forgetRecording(cuda_state *state) {
  if (state->recorded)
    state->driver.cuGraphExecDestroy(state->recorded);
  state->recorded = NULL;
}

static int32_t grow(hewn_context *context, device_buffer *buffer, int64_t bytes, const char *what) {
  cuda_state *state = stateOf(context);
  if (bytes <= buffer->bytes)
    return HEWN_OK;
  forgetRecording(state); // it has the old address
  if (buffer->memory)
    state->driver.cuMemFree(buffer->memory);
  buffer->memory = 0;
  buffer->bytes = 0;
  cuda_result result = state->driver.cuMemAlloc(&buffer->memory, (size_t)bytes);
  hewn_text text;
  if (result == CUDA_OUT_OF_MEMORY && hewn_message_open(context, &text)) {
    hewn_text_put(&text, "out of device memory: ");
    hewn_text_put(&text, what);
    hewn_text_put(&text, " needs ");
    hewn_text_int(&text, bytes);
    hewn_text_put(&text, " bytes");
    return hewn_text_close(context, HEWN_OUT_OF_MEMORY, &text);
  }
  int32_t code = check(context, result, what);
  if (code == HEWN_OK)
    buffer->bytes = bytes;
  return code;
}

//===----------------------------------------------------------------------===//
// Code and weights
//===----------------------------------------------------------------------===//

static void putVersion(hewn_text *text, int version) {
  hewn_text_int(text, version / 1000);
  hewn_text_put(text, ".");
  hewn_text_int(text, version % 1000 / 10);
}

/// Why the driver does not take the code.
static int32_t failLoad(hewn_context *context, cuda_result result, const char *log) {
  cuda_state *state = stateOf(context);
  const hewn_device_code *code = codeOf(context);
  hewn_text text;
  if (result != CUDA_UNSUPPORTED_PTX_VERSION && result != CUDA_NO_BINARY_FOR_GPU && result != CUDA_INVALID_PTX)
    return check(context, result, "loading the model's code");
  if (!hewn_message_open(context, &text))
    return HEWN_UNSUPPORTED;
  if (result == CUDA_UNSUPPORTED_PTX_VERSION) {
    hewn_text_put(&text, "the driver, for CUDA ");
    putVersion(&text, state->driver.version);
    hewn_text_put(&text, ", is too old for the model's code, which is ");
    hewn_text_put(&text, code->language);
  } else {
    char name[64] = "";
    state->driver.cuDeviceGetName(name, (int)sizeof(name) - 1, state->device);
    hewn_text_put(&text, "the model was compiled for ");
    hewn_text_put(&text, context->model->target);
    hewn_text_put(&text, ", which this device does not run: ");
    hewn_text_put(&text, name);
    hewn_text_put(&text, log[0] ? ": " : "");
    hewn_text_put(&text, log);
  }
  return hewn_text_close(context, HEWN_UNSUPPORTED, &text);
}

static int32_t loadCode(hewn_context *context, shared_state *shared) {
  cuda_state *state = stateOf(context);
  enum { errorLog = 5, errorLogBytes = 6 };
  char log[256] = "";
  int options[] = {errorLog, errorLogBytes};
  void *values[] = {log, (void *)(uintptr_t)(sizeof(log) - 1)};
  cuda_result result = state->driver.cuModuleLoadDataEx(&shared->module, codeOf(context)->text, 2, options, values);
  log[sizeof(log) - 1] = '\0';
  return result == CUDA_SUCCESS ? HEWN_OK : failLoad(context, result, log);
}

static int32_t loadWeights(hewn_context *context, shared_state *shared) {
  cuda_state *state = stateOf(context);
  uint64_t bytes = context->model->weights_bytes;
  device_buffer buffer = {0, 0};
  if (bytes == 0)
    return HEWN_OK;
  int32_t code = grow(context, &buffer, (int64_t)bytes, "the model's weights");
  if (code != HEWN_OK)
    return code;
  shared->weights = buffer.memory;
  code = check(context, state->driver.cuMemcpyHtoDAsync(buffer.memory, context->weights, (size_t)bytes, state->stream),
               "copying the weights");
  if (code == HEWN_OK)
    code = check(context, state->driver.cuStreamSynchronize(state->stream), "copying the weights");
  return code;
}

static void unload(cuda_state *state, shared_state *shared) {
  if (shared->weights)
    state->driver.cuMemFree(shared->weights);
  if (shared->module)
    state->driver.cuModuleUnload(shared->module);
  shared->weights = 0;
  shared->module = NULL;
}

static void lock(shared_state *shared) {
  while (__atomic_exchange_n(&shared->lock, 1, __ATOMIC_ACQUIRE))
    hewn_futex_wait(&shared->lock, 1);
}

static void unlock(shared_state *shared) {
  __atomic_store_n(&shared->lock, 0, __ATOMIC_RELEASE);
  hewn_futex_wake(&shared->lock, 1);
}

static int32_t acquire(hewn_context *context) {
  cuda_state *state = stateOf(context);
  shared_state *shared = (shared_state *)(void *)codeOf(context)->state;
  lock(shared);
  int32_t code = HEWN_OK;
  if (shared->users == 0) {
    code = loadCode(context, shared);
    if (code == HEWN_OK)
      code = loadWeights(context, shared);
    if (code != HEWN_OK)
      unload(state, shared);
  }
  if (code == HEWN_OK) {
    ++shared->users;
    state->shared = shared;
  }
  unlock(shared);
  return code;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

static int32_t findFunctions(hewn_context *context) {
  cuda_state *state = stateOf(context);
  const hewn_device_code *code = codeOf(context);
  for (int32_t i = 0; i < code->num_kernels; ++i) {
    int32_t failed = check(
        context, state->driver.cuModuleGetFunction(&state->functions[i], state->shared->module, code->kernels[i].name),
        code->kernels[i].name);
    if (failed != HEWN_OK)
      return failed;
  }
  return HEWN_OK;
}

static int32_t furnish(hewn_context *context) {
  cuda_state *state = stateOf(context);
  const hewn_model *model = context->model;
  hewn_cuda_driver *driver = &state->driver;
  int32_t code = hewn_cuda_open(context, driver);
  if (code != HEWN_OK)
    return code;
  if ((code = check(context, driver->cuDeviceGet(&state->device, 0), "choosing a device")) != HEWN_OK ||
      (code = check(context, driver->cuDevicePrimaryCtxRetain(&state->primary, state->device), "using the device")) !=
          HEWN_OK)
    return code;
  state->functions = allocateHost(context, sizeof(cuda_function) * (size_t)(codeOf(context)->num_kernels + 1));
  state->inputs = allocateHost(context, sizeof(device_buffer) * (size_t)(model->num_inputs + 1));
  state->outputs = allocateHost(context, sizeof(device_buffer) * (size_t)(model->num_outputs + 1));
  state->given = allocateHost(context, sizeof(given_output) * (size_t)(model->num_outputs + 1));
  state->recorded_symbols = allocateHost(context, sizeof(int64_t) * (size_t)(model->num_symbols + 1));
  if (!state->functions || !state->inputs || !state->outputs || !state->given || !state->recorded_symbols)
    return HEWN_OUT_OF_MEMORY;
  if ((code = check(context, driver->cuCtxPushCurrent(state->primary), "using the device")) != HEWN_OK)
    return code;
  const unsigned nonBlocking = 1;
  code = check(context, driver->cuStreamCreate(&state->stream, nonBlocking), "making a stream");
  if (code == HEWN_OK)
    code = acquire(context);
  if (code == HEWN_OK)
    code = findFunctions(context);
  cuda_context popped;
  driver->cuCtxPopCurrent(&popped);
  return code;
}

static int32_t create(hewn_context *context) {
  context->device = allocateHost(context, sizeof(cuda_state));
  return context->device ? furnish(context) : HEWN_OUT_OF_MEMORY;
}

static void freeBuffers(cuda_state *state, const device_buffer *buffers, int32_t count) {
  for (int32_t i = 0; buffers && i < count; ++i)
    if (buffers[i].memory)
      state->driver.cuMemFree(buffers[i].memory);
}

static void destroy(hewn_context *context) {
  cuda_state *state = stateOf(context);
  if (!state)
    return;
  if (state->primary) {
    cuda_context popped;
    state->driver.cuCtxPushCurrent(state->primary);
    forgetRecording(state);
    freeBuffers(state, &state->arena, 1);
    freeBuffers(state, state->inputs, context->model->num_inputs);
    freeBuffers(state, state->outputs, context->model->num_outputs);
    if (state->stream)
      state->driver.cuStreamDestroy(state->stream);
    if (state->shared) {
      lock(state->shared);
      if (--state->shared->users == 0)
        unload(state, state->shared);
      unlock(state->shared);
    }
    state->driver.cuCtxPopCurrent(&popped);
    state->driver.cuDevicePrimaryCtxRelease(state->device);
  }
  hewn_cuda_close(&state->driver);
  releaseHost(context, state->functions);
  releaseHost(context, state->inputs);
  releaseHost(context, state->outputs);
  releaseHost(context, state->given);
  releaseHost(context, state->recorded_symbols);
  releaseHost(context, state);
  context->device = NULL;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

int32_t hewn_device_begin(hewn_context *context, void **arena, void **weights) {
  cuda_state *state = stateOf(context);
  if (state->lost)
    return hewn_message_fail(context, HEWN_UNSUPPORTED, "the device failed in an earlier run: make a new context");
  int32_t code = check(context, state->driver.cuCtxPushCurrent(state->primary), "using the device");
  if (code != HEWN_OK)
    return code;
  code = grow(context, &state->arena, context->variant->arena_bytes(context->symbols), "the model's arena");
  if (code != HEWN_OK) {
    cuda_context popped;
    state->driver.cuCtxPopCurrent(&popped);
    return code;
  }
  *arena = (void *)(uintptr_t)state->arena.memory;
  *weights = (void *)(uintptr_t)state->shared->weights;
  return HEWN_OK;
}

/// Ends a recording: of a run that goes on, or of one that failed.
static int32_t endRecording(hewn_context *context, int keep) {
  cuda_state *state = stateOf(context);
  cuda_graph graph = NULL;
  state->recording = 0;
  int32_t code = checkRun(context, state->driver.cuStreamEndCapture(state->stream, &graph), "recording the run");
  if (code == HEWN_OK && keep) {
    code =
        checkRun(context, state->driver.cuGraphInstantiateWithFlags(&state->recorded, graph, 0), "recording the run");
    if (code != HEWN_OK)
      state->recorded = NULL;
  }
  if (graph)
    state->driver.cuGraphDestroy(graph);
  if (code == HEWN_OK && keep)
    code = checkRun(context, state->driver.cuGraphLaunch(state->recorded, state->stream), "running the model");
  return code;
}

static int32_t copyOutput(hewn_context *context, int32_t index, given_output given) {
  cuda_state *state = stateOf(context);
  if (given.bytes <= 0)
    return HEWN_OK;
  if (context->outputs[index].on_device)
    return hewn_device_copy(context, context->output_data[index], (const void *)(uintptr_t)given.from, given.bytes,
                            HEWN_DEVICE_WITHIN);
  return checkRun(
      context,
      state->driver.cuMemcpyDtoHAsync(context->output_data[index], given.from, (size_t)given.bytes, state->stream),
      "copying an output");
}

int32_t hewn_device_replay(hewn_context *context) {
  cuda_state *state = stateOf(context);
  size_t symbols = (size_t)context->model->num_symbols;
  if (context->trace_hook.event) // which wants to hear of each launch
    return HEWN_DEVICE_GO_ON;
  if (!state->recorded || memcmp(state->recorded_symbols, context->symbols, symbols * sizeof(int64_t)) != 0) {
    forgetRecording(state);
    for (int32_t i = 0; i < context->model->num_outputs; ++i)
      state->given[i].bytes = -1;
    memcpy(state->recorded_symbols, context->symbols, symbols * sizeof(int64_t));
    const int thisThread = 1;
    if (checkRun(context, state->driver.cuStreamBeginCapture(state->stream, thisThread), "recording the run") !=
        HEWN_OK)
      return HEWN_DEVICE_FAILED;
    state->recording = 1;
    return HEWN_DEVICE_GO_ON;
  }
  if (checkRun(context, state->driver.cuGraphLaunch(state->recorded, state->stream), "running the model") != HEWN_OK)
    return HEWN_DEVICE_FAILED;
  for (int32_t i = 0; i < context->model->num_outputs; ++i)
    if (copyOutput(context, i, state->given[i]) != HEWN_OK)
      return HEWN_DEVICE_FAILED;
  return HEWN_DEVICE_DONE;
}

int32_t hewn_device_give(hewn_context *context, int32_t index, const void *from, int64_t bytes) {
  cuda_state *state = stateOf(context);
  int32_t code = state->recording ? endRecording(context, 1) : HEWN_OK;
  state->given[index].from = (cuda_pointer)(uintptr_t)from;
  state->given[index].bytes = bytes;
  return code != HEWN_OK ? code : copyOutput(context, index, state->given[index]);
}

int32_t hewn_device_end(hewn_context *context, int32_t code) {
  cuda_state *state = stateOf(context);
  if (state->recording) { // what failed is forgotten
    endRecording(context, 0);
    forgetRecording(state);
  }
  int32_t waited = checkRun(context, state->driver.cuStreamSynchronize(state->stream), "running the model");
  while (state->blocks)
    hewn_device_free(context, (void *)(uintptr_t)state->blocks->memory);
  cuda_context popped;
  state->driver.cuCtxPopCurrent(&popped);
  return code != HEWN_OK ? code : waited;
}

void *hewn_device_input(hewn_context *context, int32_t index, int64_t bytes) {
  cuda_state *state = stateOf(context);
  device_buffer *buffer = &state->inputs[index];
  if (grow(context, buffer, bytes > 0 ? bytes : 1, "an input") != HEWN_OK)
    return NULL;
  void *memory = (void *)(uintptr_t)buffer->memory;
  int32_t direction = context->input_on_device[index] ? HEWN_DEVICE_WITHIN : HEWN_DEVICE_FROM_HOST;
  return hewn_device_copy(context, memory, context->input_data[index], bytes, direction) == HEWN_OK ? memory : NULL;
}

const void *hewn_device_host_input(hewn_context *context, int32_t index, int64_t bytes) {
  if (!context->input_on_device[index])
    return context->input_data[index];
  void *memory = hewn_rt_alloc(context, bytes, HEWN_ALIGNMENT);
  if (memory && hewn_device_copy(context, memory, context->input_data[index], bytes, HEWN_DEVICE_TO_HOST) != HEWN_OK)
    return NULL;
  return memory;
}

int32_t hewn_device_give_host(hewn_context *context, int32_t index, const void *from, int64_t bytes) {
  void *to = context->output_data[index];
  if (context->outputs[index].on_device)
    return hewn_device_copy(context, to, from, bytes, HEWN_DEVICE_FROM_HOST);
  if (bytes > 0 && to != from)
    memcpy(to, from, (size_t)bytes);
  return HEWN_OK;
}

void *hewn_device_output(hewn_context *context, int32_t index, int64_t bytes) {
  device_buffer *buffer = &stateOf(context)->outputs[index];
  if (grow(context, buffer, bytes > 0 ? bytes : 1, "an output") != HEWN_OK)
    return NULL;
  return (void *)(uintptr_t)buffer->memory;
}

void *hewn_device_alloc(hewn_context *context, int64_t bytes) {
  device_buffer buffer = {0, 0};
  if (bytes < 0) {
    hewn_message_fail(context, HEWN_OUT_OF_MEMORY, "a buffer whose size depends on data is larger than any memory");
    return NULL;
  }
  device_block *block = allocateHost(context, sizeof(device_block));
  if (!block || grow(context, &buffer, bytes > 0 ? bytes : 1, "a buffer whose size depends on data") != HEWN_OK) {
    releaseHost(context, block);
    return NULL;
  }
  block->memory = buffer.memory;
  block->next = stateOf(context)->blocks;
  stateOf(context)->blocks = block;
  return (void *)(uintptr_t)buffer.memory;
}

void hewn_device_free(hewn_context *context, void *memory) {
  cuda_state *state = stateOf(context);
  for (device_block **link = &state->blocks; memory && *link; link = &(*link)->next)
    if ((*link)->memory == (cuda_pointer)(uintptr_t)memory) {
      device_block *block = *link;
      *link = block->next;
      // Waits for what still uses it.
      state->driver.cuMemFree(block->memory);
      releaseHost(context, block);
      return;
    }
}

int32_t hewn_device_copy(hewn_context *context, void *to, const void *from, int64_t bytes, int32_t direction) {
  cuda_state *state = stateOf(context);
  cuda_pointer toDevice = (cuda_pointer)(uintptr_t)to, fromDevice = (cuda_pointer)(uintptr_t)from;
  if (bytes <= 0 || to == from)
    return HEWN_OK;
  switch (direction) {
  case HEWN_DEVICE_FROM_HOST:
    return checkRun(context, state->driver.cuMemcpyHtoDAsync(toDevice, from, (size_t)bytes, state->stream),
                    "copying to the device");
  case HEWN_DEVICE_TO_HOST: {
    int32_t code = checkRun(context, state->driver.cuMemcpyDtoHAsync(to, fromDevice, (size_t)bytes, state->stream),
                            "copying from the device");
    // The host reads it next.
    return code != HEWN_OK ? code
                           : checkRun(context, state->driver.cuStreamSynchronize(state->stream), "running the model");
  }
  default:
    return checkRun(context, state->driver.cuMemcpyDtoDAsync(toDevice, fromDevice, (size_t)bytes, state->stream),
                    "copying on the device");
  }
}

int32_t hewn_device_launch(hewn_context *context, int32_t kernel, int64_t blocks, void **arguments) {
  cuda_state *state = stateOf(context);
  const hewn_device_kernel *info = &codeOf(context)->kernels[kernel];
  if (blocks <= 0)
    return HEWN_OK;
  cuda_result result =
      state->driver.cuLaunchKernel(state->functions[kernel], (unsigned)blocks, 1, 1, (unsigned)info->threads, 1, 1,
                                   (unsigned)info->shared_bytes, state->stream, arguments, NULL);
  return result == CUDA_SUCCESS ? HEWN_OK : checkRun(context, result, info->name);
}

const hewn_device_table hewn_device_cuda = {create, destroy};
