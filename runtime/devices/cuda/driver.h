// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_CUDA_DRIVER_H
#define HEWN_RUNTIME_CUDA_DRIVER_H

/// \file
/// The CUDA driver API, loaded when a model needs it. The types are declared here, so that the
/// build needs no CUDA header and the artifact links no CUDA library.

#include "core/context.h"

typedef int cuda_result; ///< 0 on success
typedef int cuda_device;
typedef uint64_t cuda_pointer; ///< address of device memory
typedef struct cuda_context_s *cuda_context;
typedef struct cuda_module_s *cuda_module;
typedef struct cuda_function_s *cuda_function;
typedef struct cuda_stream_s *cuda_stream;
typedef struct cuda_graph_s *cuda_graph;
typedef struct cuda_exec_s *cuda_exec;
typedef struct cuda_event_s *cuda_event;
typedef struct cuda_link_s *cuda_link;

/// List of the driver functions that the runtime calls: name and arguments. All functions have the
/// ABI of CUDA 12.0, independent of the driver's version.
#define HEWN_CUDA_FUNCTIONS(X)                                                                                         \
  X(cuInit, (unsigned flags))                                                                                          \
  X(cuDriverGetVersion, (int *version))                                                                                \
  X(cuDeviceGetCount, (int *count))                                                                                    \
  X(cuDeviceGet, (cuda_device * device, int ordinal))                                                                  \
  X(cuDeviceGetAttribute, (int *value, int attribute, cuda_device device))                                             \
  X(cuDeviceGetName, (char *name, int bytes, cuda_device device))                                                      \
  X(cuDevicePrimaryCtxRetain, (cuda_context * context, cuda_device device))                                            \
  X(cuDevicePrimaryCtxRelease, (cuda_device device))                                                                   \
  X(cuCtxPushCurrent, (cuda_context context))                                                                          \
  X(cuCtxPopCurrent, (cuda_context * context))                                                                         \
  X(cuCtxGetDevice, (cuda_device * device))                                                                            \
  X(cuGetErrorString, (cuda_result result, const char **text))                                                         \
  X(cuModuleLoadDataEx, (cuda_module * module, const void *image, unsigned count, int *options, void **values))        \
  X(cuModuleUnload, (cuda_module module))                                                                              \
  X(cuModuleGetFunction, (cuda_function * function, cuda_module module, const char *name))                             \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                                       \
    (int *blocks, cuda_function function, int threads, size_t sharedBytes))                                            \
  X(cuFuncSetAttribute, (cuda_function function, int attribute, int value))                                            \
  X(cuLinkCreate, (unsigned count, int *options, void **values, cuda_link *link))                                      \
  X(cuLinkAddData, (cuda_link link, int kind, void *data, size_t bytes, const char *name, unsigned count,              \
                    int *options, void **values))                                                                      \
  X(cuLinkComplete, (cuda_link link, void **image, size_t *bytes))                                                     \
  X(cuLinkDestroy, (cuda_link link))                                                                                   \
  X(cuMemGetInfo, (size_t *available, size_t *total))                                                                  \
  X(cuMemAlloc, (cuda_pointer * memory, size_t bytes))                                                                 \
  X(cuMemFree, (cuda_pointer memory))                                                                                  \
  X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                                                     \
  X(cuMemFreeHost, (void *memory))                                                                                     \
  X(cuPointerGetAttribute, (void *value, int attribute, cuda_pointer memory))                                          \
  X(cuMemcpyHtoDAsync, (cuda_pointer to, const void *from, size_t bytes, cuda_stream stream))                          \
  X(cuMemcpyDtoHAsync, (void *to, cuda_pointer from, size_t bytes, cuda_stream stream))                                \
  X(cuMemcpyDtoDAsync, (cuda_pointer to, cuda_pointer from, size_t bytes, cuda_stream stream))                         \
  X(cuStreamCreate, (cuda_stream * stream, unsigned flags))                                                            \
  X(cuStreamDestroy, (cuda_stream stream))                                                                             \
  X(cuStreamGetCtx, (cuda_stream stream, cuda_context * context))                                                      \
  X(cuStreamIsCapturing, (cuda_stream stream, int *state))                                                             \
  X(cuStreamWaitEvent, (cuda_stream stream, cuda_event event, unsigned flags))                                         \
  X(cuStreamQuery, (cuda_stream stream))                                                                               \
  X(cuStreamSynchronize, (cuda_stream stream))                                                                         \
  X(cuStreamBeginCapture, (cuda_stream stream, int mode))                                                              \
  X(cuStreamEndCapture, (cuda_stream stream, cuda_graph * graph))                                                      \
  X(cuEventCreate, (cuda_event * event, unsigned flags))                                                               \
  X(cuEventRecord, (cuda_event event, cuda_stream stream))                                                             \
  X(cuEventQuery, (cuda_event event))                                                                                  \
  X(cuEventSynchronize, (cuda_event event))                                                                            \
  X(cuEventElapsedTime, (float *milliseconds, cuda_event from, cuda_event to))                                         \
  X(cuEventDestroy, (cuda_event event))                                                                                \
  X(cuGraphInstantiateWithFlags, (cuda_exec * exec, cuda_graph graph, unsigned long long flags))                       \
  X(cuGraphLaunch, (cuda_exec exec, cuda_stream stream))                                                               \
  X(cuGraphExecDestroy, (cuda_exec exec))                                                                              \
  X(cuGraphDestroy, (cuda_graph graph))                                                                                \
  X(cuTensorMapEncodeTiled,                                                                                            \
    (void *map, int type, unsigned rank, void *memory, const uint64_t *extents, const uint64_t *strides,               \
     const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill))                \
  X(cuLaunchKernel,                                                                                                    \
    (cuda_function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,         \
     unsigned blockZ, unsigned sharedBytes, cuda_stream stream, void **arguments, void **extra))                       \
  X(cuLaunchCooperativeKernel,                                                                                         \
    (cuda_function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,         \
     unsigned blockZ, unsigned sharedBytes, cuda_stream stream, void **arguments))                                     \
  X(cuMemsetD8Async, (cuda_pointer memory, unsigned char value, size_t bytes, cuda_stream stream))

typedef struct hewn_cuda_driver {
  void *library;
  int version; ///< driver version, for example 12040 for CUDA 12.4
#define HEWN_CUDA_MEMBER(name, arguments) cuda_result(*name) arguments;
  HEWN_CUDA_FUNCTIONS(HEWN_CUDA_MEMBER)
#undef HEWN_CUDA_MEMBER
} hewn_cuda_driver;

/// Loads and initializes the driver. Fails, with the reason, if there is no driver or no device.
int32_t hewn_cuda_open(hewn_context *context, hewn_cuda_driver *driver);
void hewn_cuda_close(hewn_cuda_driver *driver);

/// Returns HEWN_OK on CUDA_SUCCESS. Otherwise records a failure that names the operation `what` and
/// the driver's error, and returns its code.
int32_t hewn_cuda_check(hewn_context *context, const hewn_cuda_driver *driver, cuda_result result, const char *what);

enum {
  CUDA_SUCCESS = 0,
  CUDA_INVALID_VALUE = 1,
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_STUB_LIBRARY = 34,
  CUDA_NO_DEVICE = 100,
  CUDA_NO_BINARY_FOR_GPU = 209,
  CUDA_INVALID_PTX = 218,
  CUDA_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_NOT_READY = 600,
  CUDA_FIRST_OF_RECORDING = 900,
  CUDA_LAST_OF_RECORDING = 909
};

#endif // HEWN_RUNTIME_CUDA_DRIVER_H
