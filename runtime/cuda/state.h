// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_CUDA_STATE_H
#define HEWN_RUNTIME_CUDA_STATE_H

/// \file
/// What a context keeps on a GPU, and what the files here do for each other.
/// Functions that return int32_t return a hewn_code, and record what failed.

#include "cuda/driver.h"

/// A model's code and weights in one of the driver's contexts, for all of our
/// contexts that are on it.
typedef struct shared_code {
  cuda_context context; ///< NULL: this place is free
  cuda_module module;
  cuda_pointer weights;
  uint32_t users;
  uint32_t lost; ///< the device failed: none of these is good for anything
} shared_code;

/// In how many of the driver's contexts a model may be at a time.
#define HEWN_CUDA_PLACES 16

/// All of a model's, in its own writable memory.
typedef struct shared_state {
  uint32_t lock;
  uint32_t reserved;
  shared_code codes[HEWN_CUDA_PLACES];
} shared_state;

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

/// A chunk of memory that the device reads and writes itself, on the way from
/// or to the host's.
typedef struct stage {
  cuda_event done;
  uint32_t busy; ///< `done` was recorded and not yet awaited
  size_t bytes;
  void *to; ///< where the host wants its bytes; NULL: on the way to the device
} stage;

/// A launch whose time on the device the hook is told. The first one is no launch: its `end` is where the run's work begins.
typedef struct timed_launch {
  cuda_event begin, end; ///< NULL: not made
  const char *kernel;    ///< NULL: what ranks do together, which another hook is told
  hewn_transfer transfer;
} timed_launch;

/// Chunks in turn: while one is on its way, the host fills or empties the others.
#define HEWN_CUDA_STAGES 16
#define HEWN_CUDA_STAGE_BYTES ((size_t)256 << 10)

typedef struct cuda_state {
  hewn_cuda_driver driver;
  cuda_device device;
  int32_t retained;     ///< `context` is the device's primary one, counted
  cuda_context context; ///< the driver's
  cuda_stream own;      ///< for recordings, and for runs where the caller gave none
  cuda_stream stream;   ///< of runs
  cuda_event done;      ///< behind the last run
  shared_code *shared;  ///< NULL: not counted there
  cuda_function *functions;
  int32_t *together;      ///< for each kernel whose blocks wait for each other, how many run at once
  device_buffer counters; ///< of kernels that have some; no memory: there are none
  device_buffer arena;
  device_buffer *inputs;
  device_buffer *outputs;
  device_block *blocks;
  unsigned char *staging; ///< memory of the stages; NULL: none yet
  stage stages[HEWN_CUDA_STAGES];
  uint32_t next_stage;
  /// The launches of one run, for one set of symbols and places. NULL: none is recorded.
  cuda_exec recorded;
  int64_t *recorded_symbols;
  cuda_pointer *places;          ///< of this run's inputs, then outputs
  cuda_pointer *recorded_places; ///< of the recorded run's
  given_output *given;
  timed_launch *launches; ///< of this run, and events for later ones
  int32_t num_launches;   ///< 0: this run is not timed
  int32_t most_launches;
  uint64_t *agreed;        ///< of ranks, one each: what they run with
  uint64_t recorded_moved; ///< bytes that the recorded run hands to and takes from other ranks
  uint8_t has_transfers;   ///< the program has ranks hand something to each other
  uint8_t met;             ///< the stream may wait for other ranks
  uint8_t copies;          ///< the caller's tensors move: they are copied, so that the recording stays good
  uint8_t no_stages;       ///< there was no memory for them
  uint8_t recording;
  uint8_t pending; ///< `done` was recorded and not yet awaited
  uint8_t waits;   ///< the run ends only when the device has ended
  uint8_t lost;    ///< the device failed: nothing more is run
} cuda_state;

static inline cuda_state *hewn_cuda_state(hewn_context *context) { return (cuda_state *)context->device; }

//===-- device.c ----------------------------------------------------------===//

/// Zeros of the context's allocator; NULL, recorded, where it has none.
void *hewn_cuda_allocate(hewn_context *context, size_t bytes);
void hewn_cuda_release(hewn_context *context, void *memory);
/// `hewn_cuda_check` of what is done while a context is made.
int32_t hewn_cuda_done(hewn_context *context, cuda_result result, const char *what);
/// The same of a run: after a failure, but for want of memory or since somebody records, the driver's context is good for nothing more.
int32_t hewn_cuda_ran(hewn_context *context, cuda_result result, const char *what);
/// Waits for the last run, which the caller's stream may still hold.
int32_t hewn_cuda_settle(hewn_context *context);

//===-- code.c ------------------------------------------------------------===//

/// That no run of the model has failed in the driver's context.
int32_t hewn_cuda_usable(hewn_context *context);
/// Loads the model's code and weights, or counts one more user of them.
int32_t hewn_cuda_acquire(hewn_context *context, const hewn_context_options *options);
/// One user less; `alive`: the driver's context is still there.
void hewn_cuda_unshare(hewn_context *context, int alive);

//===-- cache.c -----------------------------------------------------------===//

/// What translated code depends on.
typedef struct cache_key {
  uint64_t digest[2];
} cache_key;

cache_key hewn_cuda_cache_key(const char *text, const char *device, int version);
/// The code kept for `key`, from the context's allocator; NULL: there is none.
void *hewn_cuda_cache_find(hewn_context *context, const char *folder, cache_key key);
/// Keeps it, if that is possible; files beyond `limit` bytes go.
void hewn_cuda_cache_keep(hewn_context *context, const char *folder, uint64_t limit, cache_key key, const void *code,
                          size_t bytes);
void hewn_cuda_cache_drop(const char *folder, cache_key key);

//===-- buffer.c ----------------------------------------------------------===//

/// Makes `buffer` large enough; what it holds is lost.
int32_t hewn_cuda_grow(hewn_context *context, device_buffer *buffer, int64_t bytes, const char *what);
/// That all tensors that are said to be on the device are.
int32_t hewn_cuda_check_places(hewn_context *context);
/// Frees what the context holds of the device's memory.
void hewn_cuda_free_buffers(hewn_context *context);

//===-- stage.c -----------------------------------------------------------===//

/// Copies in the order of `stream`'s work. What lies on the host may change when this returns.
int32_t hewn_cuda_copy_in(hewn_context *context, cuda_pointer to, const void *from, size_t bytes);
/// Begins a copy; the host has it after `hewn_cuda_arrive`.
int32_t hewn_cuda_copy_out(hewn_context *context, void *to, cuda_pointer from, size_t bytes);
int32_t hewn_cuda_arrive(hewn_context *context);
void hewn_cuda_free_stages(cuda_state *state);

//===-- timing.c ----------------------------------------------------------===//

/// Whether a run's launches are timed, for hooks that want to hear of each.
int hewn_cuda_times(const hewn_context *context);
/// Begins a run's times, where the hook wants them.
int32_t hewn_cuda_time_run(hewn_context *context);
/// Before, and behind, a launch on `stream`.
int32_t hewn_cuda_time_launch(hewn_context *context, const char *kernel, cuda_stream stream);
int32_t hewn_cuda_time_landed(hewn_context *context, cuda_stream stream);
/// The same behind what ranks do together, which the context's `transfer` is about.
int32_t hewn_cuda_time_transferred(hewn_context *context, cuda_stream stream);
/// Tells the hooks of the run's launches, which have ended.
int32_t hewn_cuda_tell_times(hewn_context *context);
void hewn_cuda_free_times(hewn_context *context);

//===-- record.c ----------------------------------------------------------===//

/// Whether the caller's tensors are used where they are, in a run of these symbols.
void hewn_cuda_choose_places(hewn_context *context);
/// Ends a recording: of a run that goes on, or (`keep` 0) of one that failed.
int32_t hewn_cuda_end_recording(hewn_context *context, int keep);
void hewn_cuda_forget(cuda_state *state);

//===-- peers.c -----------------------------------------------------------===//

/// Before anything else of a run of ranks that hand each other what lies on devices.
int32_t hewn_cuda_begin_ranks(hewn_context *context);
/// After a failure that other ranks are a part of, when nothing is being recorded: the device waits for them no more.
void hewn_cuda_stop_ranks(hewn_context *context);
/// Waits for the event, or (NULL) for all of the run's stream, as long as the other ranks let it.
int32_t hewn_cuda_wait(hewn_context *context, cuda_event event);

#endif // HEWN_RUNTIME_CUDA_STATE_H
