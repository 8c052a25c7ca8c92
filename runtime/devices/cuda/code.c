// SPDX-License-Identifier: Apache-2.0
// Loads a model's code and weights to a device, once for all contexts in one CUcontext.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"
#include "platform/posix/futex.h"

#include <string.h>

typedef char state_fits[sizeof(shared_state) <= sizeof(hewn_device_state) ? 1 : -1];

static void putVersion(hewn_text *text, int version) {
  hewn_text_int(text, version / 1000);
  hewn_text_put(text, ".");
  hewn_text_int(text, version % 1000 / 10);
}

/// Reports why the driver rejects the device code of the model.
static int32_t failLoad(hewn_context *context, cuda_result result, const char *log) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_device_code *code = context->model->device;
  hewn_text text;
  if (result != CUDA_UNSUPPORTED_PTX_VERSION && result != CUDA_NO_BINARY_FOR_GPU && result != CUDA_INVALID_PTX)
    return hewn_cuda_done(context, result, "loading the model's code");
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

enum { errorLog = 5, errorLogBytes = 6, languagePtx = 1 };

/// Compiles PTX to device code, loads it, and writes it to the cache.
static cuda_result translate(hewn_context *context, const hewn_context_options *options, cache_key key,
                             cuda_module *module, char *log, size_t logBytes) {
  hewn_cuda_driver *driver = &hewn_cuda_state(context)->driver;
  const char *text = context->model->device->text;
  int names[] = {errorLog, errorLogBytes};
  void *values[] = {log, (void *)(uintptr_t)logBytes};
  cuda_link link = NULL;
  void *image = NULL;
  size_t bytes = 0;
  cuda_result result = driver->cuLinkCreate(2, names, values, &link);
  if (result != CUDA_SUCCESS)
    return result;
  result = driver->cuLinkAddData(link, languagePtx, (void *)(uintptr_t)text, strlen(text) + 1, context->model->name, 0,
                                 NULL, NULL);
  if (result == CUDA_SUCCESS)
    result = driver->cuLinkComplete(link, &image, &bytes);
  if (result == CUDA_SUCCESS)
    result = driver->cuModuleLoadDataEx(module, image, 0, NULL, NULL);
  if (result == CUDA_SUCCESS)
    hewn_cuda_cache_keep(context, options->device_cache, options->device_cache_bytes, key, image, bytes);
  driver->cuLinkDestroy(link); // also frees `image`
  return result;
}

static int32_t loadCode(hewn_context *context, const hewn_context_options *options, shared_code *shared) {
  cuda_state *state = hewn_cuda_state(context);
  const char *text = context->model->device->text;
  char log[256] = "";
  cuda_result result = CUDA_NO_BINARY_FOR_GPU;
  if (context->model->device->num_kernels == 0) // drivers reject PTX without kernels
    return HEWN_OK;
  if (options->device_cache && options->device_cache[0]) {
    char name[128] = "";
    state->driver.cuDeviceGetName(name, (int)sizeof(name) - 1, state->device);
    cache_key key = hewn_cuda_cache_key(text, name, state->driver.version);
    void *kept = hewn_cuda_cache_find(context, options->device_cache, key);
    result = kept ? state->driver.cuModuleLoadDataEx(&shared->module, kept, 0, NULL, NULL) : CUDA_NO_BINARY_FOR_GPU;
    hewn_cuda_release(context, kept);
    if (result == CUDA_SUCCESS)
      return HEWN_OK;
    if (kept) // the file is intact, but this driver rejects it
      hewn_cuda_cache_drop(options->device_cache, key);
    result = translate(context, options, key, &shared->module, log, sizeof(log) - 1);
  }
  // There is no cache, or the driver's linker failed: loading the PTX directly may still work.
  if (result != CUDA_SUCCESS && result != CUDA_UNSUPPORTED_PTX_VERSION && result != CUDA_OUT_OF_MEMORY) {
    int names[] = {errorLog, errorLogBytes};
    void *values[] = {log, (void *)(uintptr_t)(sizeof(log) - 1)};
    memset(log, 0, sizeof(log));
    result = state->driver.cuModuleLoadDataEx(&shared->module, text, 2, names, values);
  }
  if (result == CUDA_SUCCESS)
    return HEWN_OK;
  shared->module = NULL;
  log[sizeof(log) - 1] = '\0';
  return failLoad(context, result, log);
}

static int32_t loadWeights(hewn_context *context, shared_code *shared) {
  cuda_state *state = hewn_cuda_state(context);
  uint64_t bytes = context->model->weights_bytes;
  device_buffer buffer = {0, 0};
  if (bytes == 0)
    return HEWN_OK;
  int32_t code = hewn_cuda_grow(context, &buffer, (int64_t)bytes, "the model's weights");
  if (code != HEWN_OK)
    return code;
  shared->weights = buffer.memory;
  code = hewn_cuda_copy_in(context, buffer.memory, context->weights, (size_t)bytes);
  if (code == HEWN_OK)
    code = hewn_cuda_done(context, state->driver.cuStreamSynchronize(state->stream), "copying the weights");
  return code;
}

static void unload(cuda_state *state, shared_code *shared) {
  if (shared->weights)
    state->driver.cuMemFree(shared->weights);
  if (shared->module)
    state->driver.cuModuleUnload(shared->module);
  memset(shared, 0, sizeof(*shared));
}

static shared_state *stateOfModel(hewn_context *context) {
  return (shared_state *)(void *)context->model->device->state;
}

/// Returns the entry of the table of loaded code for the CUcontext: the existing one, or a free
/// one, or NULL if all entries are taken.
static shared_code *findPlace(shared_state *all, cuda_context context) {
  shared_code *free = NULL;
  for (int i = 0; i < HEWN_CUDA_PLACES; ++i) {
    if (all->codes[i].context == context)
      return &all->codes[i];
    if (!free && !all->codes[i].context)
      free = &all->codes[i];
  }
  return free;
}

static int32_t acquireLocked(hewn_context *context, const hewn_context_options *options, shared_code *shared) {
  cuda_state *state = hewn_cuda_state(context);
  if (!shared)
    return hewn_message_fail(context, HEWN_UNSUPPORTED,
                             "the model is loaded in 16 CUDA contexts already, which is the maximum");
  if (shared->users == 0) {
    shared->context = state->context;
    int32_t code = loadCode(context, options, shared);
    if (code == HEWN_OK)
      code = loadWeights(context, shared);
    if (code != HEWN_OK) {
      unload(state, shared);
      return code;
    }
  }
  ++shared->users;
  state->shared = shared;
  return HEWN_OK;
}

int32_t hewn_cuda_usable(hewn_context *context) {
  shared_state *all = stateOfModel(context);
  hewn_lock(&all->lock);
  shared_code *shared = findPlace(all, hewn_cuda_state(context)->context);
  int lost = shared && __atomic_load_n(&shared->lost, __ATOMIC_RELAXED);
  hewn_unlock(&all->lock);
  return lost ? hewn_message_fail(context, HEWN_UNSUPPORTED,
                                  "the device failed in an earlier run: destroy all contexts that are on it first")
              : HEWN_OK;
}

int32_t hewn_cuda_acquire(hewn_context *context, const hewn_context_options *options) {
  shared_state *all = stateOfModel(context);
  hewn_lock(&all->lock);
  int32_t code = acquireLocked(context, options, findPlace(all, hewn_cuda_state(context)->context));
  hewn_unlock(&all->lock);
  return code;
}

void hewn_cuda_unshare(hewn_context *context, int alive) {
  cuda_state *state = hewn_cuda_state(context);
  shared_state *all = stateOfModel(context);
  if (!state->shared)
    return;
  hewn_lock(&all->lock);
  if (--state->shared->users == 0) {
    if (!alive) // do not free the code: the addresses of a destroyed CUcontext may be in use again
      state->shared->weights = 0, state->shared->module = NULL;
    unload(state, state->shared);
  }
  hewn_unlock(&all->lock);
  state->shared = NULL;
}
