// SPDX-License-Identifier: Apache-2.0
// Creates and destroys the state of a context on a GPU, and changes its stream.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"
#include "hewn/communicator.h"

#include <string.h>

void *hewn_cuda_allocate(hewn_context *context, size_t bytes) {
  void *memory = context->allocator.allocate(context->allocator.user, bytes, HEWN_ALIGNMENT);
  if (memory)
    memset(memory, 0, bytes);
  else
    hewn_message_fail(context, HEWN_OUT_OF_MEMORY, "out of host memory for the state of the device");
  return memory;
}

void hewn_cuda_release(hewn_context *context, void *memory) {
  if (memory)
    context->allocator.release(context->allocator.user, memory);
}

int32_t hewn_cuda_done(hewn_context *context, cuda_result result, const char *what) {
  return hewn_cuda_check(context, &hewn_cuda_state(context)->driver, result, what);
}

int32_t hewn_cuda_ran(hewn_context *context, cuda_result result, const char *what) {
  cuda_state *state = hewn_cuda_state(context);
  int32_t code = hewn_cuda_done(context, result, what);
  // A driver error that is caused by a stream capture in progress, or by a lack of memory, does not
  // indicate that the device has failed.
  int refused = result == CUDA_OUT_OF_MEMORY || (result >= CUDA_FIRST_OF_RECORDING && result <= CUDA_LAST_OF_RECORDING);
  if (code != HEWN_OK && !refused) {
    state->lost = 1;
    if (state->shared)
      __atomic_store_n(&state->shared->lost, 1, __ATOMIC_RELAXED);
  }
  return code;
}

int32_t hewn_cuda_settle(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  if (!state->pending)
    return HEWN_OK;
  state->pending = 0;
  return hewn_cuda_ran(context, state->driver.cuEventSynchronize(state->done), "running the model");
}

/// Sets the device's ordinal, as in DLPack.
static int32_t findNumber(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  int count = 0;
  int32_t code = hewn_cuda_done(context, state->driver.cuDeviceGetCount(&count), "counting devices");
  for (int i = 0; code == HEWN_OK && i < count; ++i) {
    cuda_device device;
    if (state->driver.cuDeviceGet(&device, i) == CUDA_SUCCESS && device == state->device) {
      context->device_number = i;
      return HEWN_OK;
    }
  }
  return code;
}

/// Uses the caller's CUcontext, or that of the caller's stream.
static int32_t useCallers(hewn_context *context, const hewn_context_options *options) {
  cuda_state *state = hewn_cuda_state(context);
  hewn_cuda_driver *driver = &state->driver;
  cuda_context found = (cuda_context)options->device_context, popped;
  int32_t code = HEWN_OK;
  if (!found) {
    code = hewn_cuda_done(context, driver->cuStreamGetCtx((cuda_stream)options->device_stream, &found),
                          "querying the context of options.device_stream");
    if (code == HEWN_OK && !found)
      code = hewn_message_fail(context, HEWN_INVALID_ARGUMENT, "options.device_stream has no context");
  }
  if (code == HEWN_OK)
    code = hewn_cuda_done(context, driver->cuCtxPushCurrent(found), "using the caller's context");
  if (code != HEWN_OK)
    return code;
  code = hewn_cuda_done(context, driver->cuCtxGetDevice(&state->device), "querying the context's device");
  driver->cuCtxPopCurrent(&popped);
  state->context = found;
  return code == HEWN_OK ? findNumber(context) : code;
}

static int32_t usePrimary(hewn_context *context, int32_t number) {
  cuda_state *state = hewn_cuda_state(context);
  int count = 0;
  int32_t code = hewn_cuda_done(context, state->driver.cuDeviceGetCount(&count), "counting devices");
  if (code == HEWN_OK && number >= count)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, NULL,
                        "options.device is {a}, and the driver finds {b} devices, counted from 0", number, count);
  if (code == HEWN_OK)
    code = hewn_cuda_done(context, state->driver.cuDeviceGet(&state->device, number), "choosing a device");
  if (code == HEWN_OK)
    code = hewn_cuda_done(context, state->driver.cuDevicePrimaryCtxRetain(&state->context, state->device),
                          "using the device");
  state->retained = code == HEWN_OK;
  context->device_number = number;
  return code;
}

static int32_t makeArrays(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_model *model = context->model;
  size_t inputs = (size_t)model->num_inputs, outputs = (size_t)model->num_outputs;
  state->functions = hewn_cuda_allocate(context, sizeof(cuda_function) * (size_t)(model->device->num_kernels + 1));
  state->together = hewn_cuda_allocate(context, sizeof(int32_t) * (size_t)(model->device->num_kernels + 1));
  state->inputs = hewn_cuda_allocate(context, sizeof(device_buffer) * (inputs + 1));
  state->outputs = hewn_cuda_allocate(context, sizeof(device_buffer) * (outputs + 1));
  state->given = hewn_cuda_allocate(context, sizeof(given_output) * (outputs + 1));
  state->places = hewn_cuda_allocate(context, sizeof(cuda_pointer) * (inputs + outputs + 1));
  state->recorded_places = hewn_cuda_allocate(context, sizeof(cuda_pointer) * (inputs + outputs + 1));
  state->recorded_symbols = hewn_cuda_allocate(context, sizeof(int64_t) * (size_t)(model->num_symbols + 1));
  return state->functions && state->together && state->inputs && state->outputs && state->given && state->places &&
                 state->recorded_places && state->recorded_symbols
             ? HEWN_OK
             : HEWN_OUT_OF_MEMORY;
}

/// Computes for each kernel with grid-wide barriers how many of its blocks can be resident at once.
static int32_t letMeet(hewn_context *context, int32_t kernel) {
  cuda_state *state = hewn_cuda_state(context);
  hewn_cuda_driver *driver = &state->driver;
  const hewn_device_kernel *info = &context->model->device->kernels[kernel];
  const int processors = 16, cooperates = 95;
  int count = 0, each = 0, can = 0;
  int32_t code = hewn_cuda_done(context, driver->cuDeviceGetAttribute(&can, cooperates, state->device), info->name);
  if (code == HEWN_OK && !can)
    return hewn_message_fail(context, HEWN_UNSUPPORTED,
                             "the device does not support cooperative launches, which the model needs");
  if (code == HEWN_OK)
    code = hewn_cuda_done(context, driver->cuDeviceGetAttribute(&count, processors, state->device), info->name);
  if (code == HEWN_OK)
    code = hewn_cuda_done(context,
                          driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                              &each, state->functions[kernel], info->threads, (size_t)info->shared_bytes),
                          info->name);
  if (code == HEWN_OK && count * each <= 0)
    return hewn_message_fail(context, HEWN_UNSUPPORTED,
                             "the device has too few resources for one block of the model's kernels");
  state->together[kernel] = count * each;
  return code;
}

/// Raises the kernel's limit of dynamic shared memory above the default (48 KiB).
static int32_t letShare(hewn_context *context, int32_t kernel) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_device_kernel *info = &context->model->device->kernels[kernel];
  const int mostOfDevice = 97, mostShared = 8;
  int most = 0;
  int32_t code =
      hewn_cuda_done(context, state->driver.cuDeviceGetAttribute(&most, mostOfDevice, state->device), info->name);
  if (code == HEWN_OK && most < info->shared_bytes)
    return hewn_rt_fail(context, HEWN_UNSUPPORTED, NULL,
                        "the model was compiled for devices with more shared memory: a block needs {a} bytes, "
                        "and this device has {b}",
                        info->shared_bytes, most);
  return code == HEWN_OK
             ? hewn_cuda_done(
                   context, state->driver.cuFuncSetAttribute(state->functions[kernel], mostShared, info->shared_bytes),
                   info->name)
             : code;
}

/// Allocates as many counters in device memory as the kernel with most counters needs. All kernels
/// share them: they run one after another and leave the counters unchanged.
static int32_t makeCounters(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  const hewn_device_code *device = context->model->device;
  int32_t most = 0;
  for (int32_t i = 0; i < device->num_kernels; ++i)
    most = device->kernels[i].counters > most ? device->kernels[i].counters : most;
  int64_t bytes = (most * (int64_t)sizeof(uint32_t) + HEWN_ALIGNMENT - 1) / HEWN_ALIGNMENT * HEWN_ALIGNMENT;
  if (bytes == 0)
    return HEWN_OK;
  int32_t code = hewn_cuda_grow(context, &state->counters, bytes, "counters");
  if (code == HEWN_OK)
    code = hewn_cuda_done(context, state->driver.cuMemsetD8Async(state->counters.memory, 0, (size_t)bytes, state->own),
                          "counters");
  // Wait until the counters of kernels are set to zero, because runs may use another stream.
  return code == HEWN_OK ? hewn_cuda_done(context, state->driver.cuStreamSynchronize(state->own), "counters") : code;
}

/// Performs those steps of context creation for which the CUcontext must be current.
static int32_t furnish(hewn_context *context, const hewn_context_options *options) {
  cuda_state *state = hewn_cuda_state(context);
  hewn_cuda_driver *driver = &state->driver;
  const unsigned nonBlocking = 1, withoutTime = 2;
  int32_t code = hewn_cuda_usable(context);
  if (code == HEWN_OK)
    code = hewn_cuda_done(context, driver->cuStreamCreate(&state->own, nonBlocking), "creating a stream");
  if (code != HEWN_OK) {
    state->own = NULL;
    return code;
  }
  state->stream = state->own;
  code = hewn_cuda_done(context, driver->cuEventCreate(&state->done, withoutTime), "creating an event");
  if (code != HEWN_OK) {
    state->done = NULL;
    return code;
  }
  code = hewn_cuda_acquire(context, options);
  if (code == HEWN_OK)
    code = makeCounters(context);
  const hewn_device_code *device = context->model->device;
  for (int32_t i = 0; code == HEWN_OK && i < device->num_kernels; ++i) {
    const hewn_device_kernel *kernel = &device->kernels[i];
    const int without = 48 << 10;
    code = hewn_cuda_done(
        context, driver->cuModuleGetFunction(&state->functions[i], state->shared->module, kernel->name), kernel->name);
    if (code == HEWN_OK && kernel->shared_bytes > without)
      code = letShare(context, i);
    if (code == HEWN_OK && kernel->meets)
      code = letMeet(context, i);
  }
  return code;
}

/// Checks that the caller's stream belongs to our CUcontext. The handles 1 and 2 (default streams)
/// refer to the current context.
static int32_t checkStream(hewn_context *context, void *stream) {
  cuda_state *state = hewn_cuda_state(context);
  cuda_context found = NULL;
  int32_t code = hewn_cuda_done(context, state->driver.cuStreamGetCtx((cuda_stream)stream, &found),
                                "querying the stream's context");
  if (code == HEWN_OK && found != state->context)
    return hewn_message_fail(context, HEWN_INVALID_ARGUMENT,
                             "the stream belongs to another CUDA context than the model");
  return code;
}

static int32_t setStream(hewn_context *context, void *stream) {
  cuda_state *state = hewn_cuda_state(context);
  hewn_cuda_driver *driver = &state->driver;
  cuda_context popped;
  cuda_stream to = stream ? (cuda_stream)stream : state->own;
  int32_t code = hewn_cuda_done(context, driver->cuCtxPushCurrent(state->context), "using the device");
  if (code != HEWN_OK || to == state->stream) {
    if (code == HEWN_OK)
      driver->cuCtxPopCurrent(&popped);
    return code;
  }
  if (stream)
    code = checkStream(context, stream);
  // Orders the new stream after the last run by the event, because the caller may have destroyed
  // the old stream.
  if (code == HEWN_OK && state->pending)
    code = hewn_cuda_done(context, driver->cuStreamWaitEvent(to, state->done, 0), "changing the stream");
  if (code == HEWN_OK)
    state->stream = to;
  driver->cuCtxPopCurrent(&popped);
  return code;
}

static int32_t create(hewn_context *context, const hewn_context_options *options) {
  cuda_state *state = context->device = hewn_cuda_allocate(context, sizeof(cuda_state));
  if (!state)
    return HEWN_OUT_OF_MEMORY;
  int32_t code = hewn_cuda_open(context, &state->driver);
  // The default-stream handles 1 and 2 do not identify a context.
  int callers = options->device_context || (uintptr_t)options->device_stream > 2;
  if (code == HEWN_OK)
    code = callers ? useCallers(context, options) : usePrimary(context, options->device);
  if (code == HEWN_OK)
    code = makeArrays(context);
  if (code == HEWN_OK)
    code = hewn_cuda_done(context, state->driver.cuCtxPushCurrent(state->context), "using the device");
  if (code != HEWN_OK)
    return code;
  code = furnish(context, options);
  cuda_context popped;
  state->driver.cuCtxPopCurrent(&popped);
  return code == HEWN_OK && options->device_stream ? setStream(context, options->device_stream) : code;
}

static void destroy(hewn_context *context) {
  cuda_state *state = hewn_cuda_state(context);
  if (!state)
    return;
  hewn_cuda_driver *driver = &state->driver;
  // cuCtxPushCurrent fails if the caller has destroyed its CUcontext, and with it everything in it.
  if (state->context && driver->cuCtxPushCurrent(state->context) == CUDA_SUCCESS) {
    cuda_context popped;
    if (state->pending)
      driver->cuEventSynchronize(state->done);
    hewn_cuda_forget(state);
    hewn_cuda_free_stages(state);
    hewn_cuda_free_times(context);
    hewn_cuda_free_buffers(context);
    const hewn_device_transport *transport = hewn_ranks_transport(context);
    if (transport)
      transport->close(context->communicator->user);
    if (state->done)
      driver->cuEventDestroy(state->done);
    if (state->own)
      driver->cuStreamDestroy(state->own);
    hewn_cuda_unshare(context, 1);
    driver->cuCtxPopCurrent(&popped);
  }
  hewn_cuda_unshare(context, 0);
  if (state->retained)
    driver->cuDevicePrimaryCtxRelease(state->device);
  hewn_cuda_close(driver);
  hewn_cuda_release(context, state->launches);
  hewn_cuda_release(context, state->agreed);
  hewn_cuda_release(context, state->functions);
  hewn_cuda_release(context, state->together);
  hewn_cuda_release(context, state->inputs);
  hewn_cuda_release(context, state->outputs);
  hewn_cuda_release(context, state->given);
  hewn_cuda_release(context, state->places);
  hewn_cuda_release(context, state->recorded_places);
  hewn_cuda_release(context, state->recorded_symbols);
  hewn_cuda_release(context, state);
  context->device = NULL;
}

const hewn_device_table hewn_device_cuda = {create, destroy, setStream};
