// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_COMMUNICATOR_H
#define HEWN_COMMUNICATOR_H

/// \file
/// Communication between the ranks of a partitioned model (hewn compile --partition): a table of
/// functions that is passed to a context. This header has implementations for processes of one
/// machine (shared memory) and for NCCL. integrations/mpi has one for MPI. An application may
/// provide its own table.
///
///     hewn_communicator *group;
///     status = hewn_local_communicator_create("job-1", rank, 2, 30000, &group);
///     options.communicator = group;
///     status = hewn_context_create(&model, &options, &context);
///
/// Each rank passes inputs of the same shapes to its context, and every rank receives all outputs.
/// A run ends on all ranks, or fails when a rank has waited for the communicator's time limit.
/// After a failed run, the contexts and the group cannot be used any more: all ranks return a
/// status, and must create new ones.

#include <hewn/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Communication between device memories, for models whose kernels run on a device. Each rank's
/// context is on its own device. The functions correspond to those of hewn_communicator. They
/// enqueue their work on `stream` (a CUstream), also while it is being captured. The caller's
/// thread has the context's CUcontext current.
typedef struct hewn_device_transport {
  /// Connects the `ranks` consecutive ranks that begin with rank `first`. All of these ranks call
  /// the function together, before any other call for this group of ranks. An open connection stays
  /// open.
  int32_t (*open)(void *user, int32_t first, int32_t ranks);
  int32_t (*all_gather)(void *user, int32_t first, int32_t ranks, const void *mine, void *all, size_t bytes,
                        void *stream);
  /// Sums like hewn_communicator.all_reduce. All ranks receive bitwise equal results, but a
  /// different transport may produce different bits.
  int32_t (*all_reduce)(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                        DLDataType type, void *stream);
  int32_t (*reduce_scatter)(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                            DLDataType type, void *stream);
  int32_t (*send)(void *user, int32_t to, const void *data, size_t bytes, void *stream);
  int32_t (*receive)(void *user, int32_t from, void *data, size_t bytes, void *stream);
  /// Checks whether the rank may continue to wait for its device, and returns HEWN_OK if so. The
  /// context calls the function repeatedly during such a wait; `waited` is the time in milliseconds
  /// since the wait began.
  int32_t (*check)(void *user, int64_t waited);
  /// Aborts all work that the functions of this table have enqueued on devices. Called after one of
  /// these functions has failed, when no CUDA graph that contains their calls exists any more.
  void (*stop)(void *user);
  /// Closes all connections of this rank. The context calls the function before the device's
  /// CUcontext is destroyed. The ranks may call it at different times.
  void (*close)(void *user);
} hewn_device_transport;

/// Functions that a context calls, from the thread that runs the model, in the same order on all
/// ranks. They return a hewn_code: HEWN_OK, or HEWN_PEER_FAILED if another rank has exited, makes a
/// different call, or exceeds the time limit; `message` then returns the reason, until the next
/// call. A communicator is used by one context at a time and must outlive it.
struct hewn_communicator {
  size_t size; ///< size of this struct, sizeof(hewn_communicator)
  int32_t rank;
  int32_t num_ranks;
  void *user;
  /// Allocates the context's arena, aligned to 64 bytes. All ranks call the function together, with
  /// the same `bytes`. Another rank may access this arena while both that rank and this one are in
  /// one of the functions below. Returns NULL on failure.
  void *(*allocate)(void *user, size_t bytes);
  void (*release)(void *user, void *memory);
  /// All-gather: takes `bytes` bytes at `mine` from each of the `ranks` consecutive ranks that
  /// begin with rank `first`, and writes the concatenated bytes of all these ranks to `all`. The
  /// calling rank must be one of them.
  int32_t (*all_gather)(void *user, int32_t first, int32_t ranks, const void *mine, void *all, size_t bytes);
  /// Sums arrays of `count` elements over the `ranks` consecutive ranks that begin with rank
  /// `first`. `type` is a float, bfloat16 or integer type of up to 64 bits. All ranks receive
  /// bitwise equal results.
  int32_t (*all_reduce)(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                        DLDataType type);
  /// Send `bytes` bytes to another rank, or receive them from it. The sender and the receiver must
  /// pass the same number of bytes.
  int32_t (*send)(void *user, int32_t to, const void *data, size_t bytes);
  int32_t (*receive)(void *user, int32_t from, void *data, size_t bytes);
  /// Announces that a run of this rank has failed, so that other ranks do not wait for it.
  void (*abandon)(void *user, const char *why);
  /// Returns the reason of the communicator's last failure as text.
  const char *(*message)(void *user);
  void (*destroy)(void *user);
  /// Marks the communicator as in use: a context sets it to 1 while it uses the communicator.
  uint32_t taken;
  /// Bytes that this rank has transferred since its context was created: read from and written to
  /// other ranks' memory, and received. The transport counts them. For shared memory and MPI
  /// windows the number equals the compiler's estimate (hewn explain); reductions by MPI messages
  /// transfer more.
  uint64_t moved;
  /// Reduce-scatter: sums like all_reduce, with bitwise equal results, but each rank receives only
  /// its shard of the sum. The operand `mine` has `count` elements for each of the `ranks` ranks,
  /// in their order, and `sum` receives the `count` elements of this rank.
  int32_t (*reduce_scatter)(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                            DLDataType type);
  /// Functions for device memory. NULL if there are none: transfers of a GPU model then go through
  /// host memory.
  const hewn_device_transport *device;
  /// Returns a failure if another rank is known to have exited or failed. Does not wait; called
  /// from time to time while a rank waits for another event. NULL if not supported.
  int32_t (*check)(void *user);
  /// Time that the last call waited for other ranks, in nanoseconds. The context sets it to -1
  /// before a call to request the measurement; a transport that cannot measure it leaves it
  /// unchanged.
  int64_t waited;
};

/// Destroys a communicator. `communicator` may be NULL.
static inline void hewn_communicator_destroy(hewn_communicator *communicator) {
  if (communicator)
    communicator->destroy(communicator->user);
}

/// Creates a communicator for processes (or threads) of one machine, in shared memory: ranks access
/// each other's arenas directly, without intermediate copies. `name` identifies the group on the
/// machine and is the same on all ranks: letters, digits, - and _. Ranks must be processes of the
/// same user. Waits until all ranks have called it. `milliseconds` is the time limit of this and of
/// each later call; 0 means 30 seconds.
///
/// On failure `*communicator` is NULL, and the status' message is a constant string.
HEWN_API hewn_status hewn_local_communicator_create(const char *name, int32_t rank, int32_t num_ranks,
                                                    int64_t milliseconds, hewn_communicator **communicator);

/// Creates a communicator that transfers device memory with NCCL (libnccl.so.2, version 2.14 or
/// newer, loaded by this call). Host memory and the setup of connections use `over`, which must
/// outlive the result and must not be used by anything else. Each rank's context must be on a
/// different device, in the device's primary context. `milliseconds` is the time limit for waiting
/// for other ranks; 0 means 30 seconds.
///
/// Fails with HEWN_UNSUPPORTED if NCCL is not available. On failure `*communicator` is NULL, and
/// the status' message is a constant string.
HEWN_API hewn_status hewn_nccl_communicator_create(hewn_communicator *over, int64_t milliseconds,
                                                   hewn_communicator **communicator);

/// Adds the array `other` to the array `sum`, element by element: a helper for communicators that
/// applications implement. Returns HEWN_UNSUPPORTED if `type` is not one of the types of
/// hewn_communicator.all_reduce.
HEWN_API int32_t hewn_communicator_add(void *sum, const void *other, int64_t count, DLDataType type);

#ifdef __cplusplus
}
#endif

#endif // HEWN_COMMUNICATOR_H
