// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_CUDA_STATE_H
#define HEWN_RUNTIME_CUDA_STATE_H

/// \file
/// State of a context on a GPU, and functions that the files of this folder share. Functions that
/// return int32_t return a hewn_code, and record failures.

#include "devices/cuda/driver.h"

/// A model's code and weights in one CUcontext, shared by all hewn contexts in it.
typedef struct shared_code {
  cuda_context context; ///< NULL if this entry is free
  cuda_module module;
  cuda_pointer weights;
  uint32_t users;
  uint32_t lost; ///< 1 after a device error: nothing in this CUcontext is usable
} shared_code;

/// Maximum number of CUcontexts in which a model is loaded at the same time.
#define HEWN_CUDA_PLACES 16

/// The content of a model's hewn_device_state: its code and weights on all devices that use it.
typedef struct shared_state {
  uint32_t lock;
  uint32_t reserved;
  shared_code codes[HEWN_CUDA_PLACES];
} shared_state;

/// Device memory that grows on demand.
typedef struct device_buffer {
  cuda_pointer memory;
  int64_t bytes;
} device_buffer;

/// Device memory of data-dependent size, freed at the end of the run.
typedef struct device_block {
  struct device_block *next;
  cuda_pointer memory;
} device_block;

/// Device memory that a graph writes an output to. After the graph's launches, the output is copied
/// to the caller's memory.
typedef struct given_output {
  cuda_pointer from;
  int64_t bytes; ///< -1 if the output is not set
} given_output;

/// A pinned host buffer for a copy between host and device.
typedef struct stage {
  cuda_event done;
  uint32_t busy; ///< 1 if the event `done` was recorded after a copy and not yet awaited
  size_t bytes;
  void *to; ///< host destination, or NULL for a copy to the device
} stage;

/// A launch or transfer that is timed. Entry 0 only marks the start of the run in `end`.
typedef struct timed_launch {
  cuda_event begin, end; ///< NULL if not created yet
  const char *kernel;    ///< kernel name, or NULL for a transfer between ranks
  hewn_transfer transfer;
} timed_launch;

/// Number and size of the pinned buffers for copies between host and device. They are used in
/// rotation: while copies of some buffers are in flight, the host fills or empties others.
#define HEWN_CUDA_STAGES 16
#define HEWN_CUDA_STAGE_BYTES ((size_t)256 << 10)

typedef struct cuda_state {
  hewn_cuda_driver driver;
  cuda_device device;
  int32_t retained;     ///< 1 if `context` is the device's primary context, retained
  cuda_context context; ///< the CUcontext
  cuda_stream own;      ///< stream for graph capture, and for runs without a caller's stream
  cuda_stream stream;   ///< stream of runs
  cuda_event done;      ///< recorded after the last run
  shared_code *shared;  ///< NULL if this context is not counted in it
  cuda_function *functions;
  int32_t *together;      ///< for each kernel with grid-wide barriers, the number of resident blocks
  device_buffer counters; ///< counters of kernels, without memory if no kernel has counters
  device_buffer arena;
  device_buffer *inputs;
  device_buffer *outputs;
  device_block *blocks;
  unsigned char *staging; ///< memory of the stages, or NULL if not allocated
  stage stages[HEWN_CUDA_STAGES];
  uint32_t next_stage;
  /// CUDA graph of a run for one set of symbols and addresses, or NULL.
  cuda_exec recorded;
  int64_t *recorded_symbols;
  cuda_pointer *places;          ///< addresses of this run's inputs, then outputs
  cuda_pointer *recorded_places; ///< addresses in the captured run
  given_output *given;
  timed_launch *launches; ///< launches of this run; also holds events for later runs
  int32_t num_launches;   ///< 0 if this run is not timed
  int32_t most_launches;
  uint64_t *agreed;        ///< digests of the ranks' symbols
  uint64_t recorded_moved; ///< bytes that the captured run transfers to and from other ranks
  uint8_t has_transfers;   ///< 1 if the program has transfers between ranks
  uint8_t met;             ///< 1 if the stream may be waiting for other ranks
  /// 1 if the addresses of the caller's device tensors change between runs: the tensors are then
  /// copied to and from buffers, so that the graph stays valid.
  uint8_t copies;
  uint8_t no_stages; ///< 1 if stages could not be allocated
  uint8_t recording;
  uint8_t pending; ///< 1 if `done` was recorded and not yet awaited
  uint8_t waits;   ///< 1 if the run must wait for the device
  uint8_t lost;    ///< 1 after a device error: later runs fail
} cuda_state;

static inline cuda_state *hewn_cuda_state(hewn_context *context) { return (cuda_state *)context->device; }

//===-- device.c ----------------------------------------------------------===//

/// Allocates zeroed host memory with the context's allocator. Returns NULL on failure, after
/// recording it.
void *hewn_cuda_allocate(hewn_context *context, size_t bytes);
void hewn_cuda_release(hewn_context *context, void *memory);
/// Checks the result of a driver call that was made during the creation of a context.
int32_t hewn_cuda_done(hewn_context *context, cuda_result result, const char *what);
/// Checks the result of a driver call that was made during a run. An error marks the CUcontext as
/// lost, except for out of memory and for errors of a capture in progress.
int32_t hewn_cuda_ran(hewn_context *context, cuda_result result, const char *what);
/// Waits for the context's last run, whose work may still be in the caller's stream.
int32_t hewn_cuda_settle(hewn_context *context);

//===-- code.c ------------------------------------------------------------===//

/// Checks that no run of the model has failed in the CUcontext.
int32_t hewn_cuda_usable(hewn_context *context);
/// Loads the model's code and weights, or increments their user count.
int32_t hewn_cuda_acquire(hewn_context *context, const hewn_context_options *options);
/// Decrements the user count of code and weights. `alive` is true if the CUcontext still exists.
void hewn_cuda_unshare(hewn_context *context, int alive);

//===-- cache.c -----------------------------------------------------------===//

/// Digest of everything that compiled device code depends on.
typedef struct cache_key {
  uint64_t digest[2];
} cache_key;

cache_key hewn_cuda_cache_key(const char *text, const char *device, int version);
/// Returns the cached code for `key`, allocated with the context's allocator, or NULL.
void *hewn_cuda_cache_find(hewn_context *context, const char *folder, cache_key key);
/// Writes compiled device code to the cache if possible, and deletes files beyond `limit` bytes.
void hewn_cuda_cache_keep(hewn_context *context, const char *folder, uint64_t limit, cache_key key, const void *code,
                          size_t bytes);
void hewn_cuda_cache_drop(const char *folder, cache_key key);

//===-- buffer.c ----------------------------------------------------------===//

/// Grows `buffer` to `bytes` bytes. Growing discards its content. `what` names the buffer in
/// messages.
int32_t hewn_cuda_grow(hewn_context *context, device_buffer *buffer, int64_t bytes, const char *what);
/// Checks that all tensors that the caller declares to be on the device are on it.
int32_t hewn_cuda_check_places(hewn_context *context);
/// Frees the device buffers of the context.
void hewn_cuda_free_buffers(hewn_context *context);

//===-- stage.c -----------------------------------------------------------===//

/// Copies from host to device in stream order. The host memory may be changed after the call.
int32_t hewn_cuda_copy_in(hewn_context *context, cuda_pointer to, const void *from, size_t bytes);
/// Starts a copy from device to host. The data is complete after `hewn_cuda_arrive`.
int32_t hewn_cuda_copy_out(hewn_context *context, void *to, cuda_pointer from, size_t bytes);
int32_t hewn_cuda_arrive(hewn_context *context);
void hewn_cuda_free_stages(cuda_state *state);

//===-- timing.c ----------------------------------------------------------===//

/// Returns true if the launches of a run are timed, because a hook requests it.
int hewn_cuda_times(const hewn_context *context);
/// Starts the timing of a run, if a hook requests it.
int32_t hewn_cuda_time_run(hewn_context *context);
/// Record events on `stream` before and after a kernel launch, to time the launch.
int32_t hewn_cuda_time_launch(hewn_context *context, const char *kernel, cuda_stream stream);
int32_t hewn_cuda_time_landed(hewn_context *context, cuda_stream stream);
/// Records an event after a transfer between ranks, which the context's `transfer` describes.
int32_t hewn_cuda_time_transferred(hewn_context *context, cuda_stream stream);
/// Reports the times of the run's launches to the hooks. The launches must be complete.
int32_t hewn_cuda_tell_times(hewn_context *context);
void hewn_cuda_free_times(hewn_context *context);

//===-- record.c ----------------------------------------------------------===//

/// Decides whether the caller's device tensors are used directly or copied, for a run with these
/// symbols.
void hewn_cuda_choose_places(hewn_context *context);
/// Ends the capture of a run. If `keep` is true, instantiates and launches the graph; otherwise
/// discards it, because the run has failed.
int32_t hewn_cuda_end_recording(hewn_context *context, int keep);
void hewn_cuda_forget(cuda_state *state);

//===-- peers.c -----------------------------------------------------------===//

/// Begins a run of ranks that transfer device memory: compares the ranks' symbols and opens the
/// transport.
int32_t hewn_cuda_begin_ranks(hewn_context *context);
/// Aborts the transport's work on the device after a failure that involves other ranks. No capture
/// may be in progress.
void hewn_cuda_stop_ranks(hewn_context *context);
/// Waits for the event, or for the run's whole stream if `event` is NULL. If the stream may wait
/// for other ranks, polls and fails when a rank fails or the time limit expires.
int32_t hewn_cuda_wait(hewn_context *context, cuda_event event);

#endif // HEWN_RUNTIME_CUDA_STATE_H
