// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_COMMUNICATOR_H
#define HEWN_COMMUNICATOR_H

/// \file
/// How the ranks of a model that is split (hewn compile --partition) reach each
/// other: a table of functions that a context is given. One for processes of
/// one machine, by shared memory, is here; MPI's is a library beside hewn
/// (integrations/mpi); any other is a table that an application fills in.
///
///     hewn_communicator *group;
///     status = hewn_local_communicator_create("job-1", rank, 2, 30000, &group);
///     options.communicator = group;
///     status = hewn_context_create(&model, &options, &context);
///
/// Each rank gives its context inputs of the same shapes, and all get all of
/// the outputs. A run is over for a rank when it is for all, or when the time
/// that a communicator waits is. After a run that failed, for whatever reason,
/// contexts and group are of no use any more: ranks end with a status, and make others.

#include <hewn/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a communicator does with the memory of devices, for models whose kernels
/// run there. Each rank's context is on a device. The calls are those of
/// hewn_communicator; what they do is asked of `stream` (the driver's, a CUstream)
/// and done in its order, also where the stream is being recorded. They are made
/// with the driver's context as the thread's.
typedef struct hewn_device_transport {
  /// Before the first of the other calls with such ranks: all of them call it. What is open already stays so.
  int32_t (*open)(void *user, int32_t first, int32_t ranks);
  int32_t (*all_gather)(void *user, int32_t first, int32_t ranks, const void *mine, void *all, size_t bytes,
                        void *stream);
  /// All ranks get the same bits, which need not be those of another transport.
  int32_t (*all_reduce)(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                        DLDataType type, void *stream);
  int32_t (*reduce_scatter)(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                            DLDataType type, void *stream);
  int32_t (*send)(void *user, int32_t to, const void *data, size_t bytes, void *stream);
  int32_t (*receive)(void *user, int32_t from, void *data, size_t bytes, void *stream);
  /// Asked again and again while a rank waits for its device, by now so many
  /// milliseconds: whether it may go on waiting.
  int32_t (*check)(void *user, int64_t waited);
  /// After a failure of any of these, when no recording has any of these calls:
  /// all that devices were asked for here ends, whatever becomes of it.
  void (*stop)(void *user);
  /// Before the device goes. Ranks need not call it together.
  void (*close)(void *user);
} hewn_device_transport;

/// What a context calls, from the thread that runs the model, on all ranks in
/// the same order. Functions return a hewn_code: HEWN_OK, or HEWN_PEER_FAILED
/// where another rank is gone, does something else or lets one wait too long;
/// `message` then says what, until the next call. A communicator has one context
/// at a time, and outlives it.
struct hewn_communicator {
  size_t size; ///< sizeof(hewn_communicator)
  int32_t rank;
  int32_t num_ranks;
  void *user;
  /// Memory for the context's arena that other ranks may read and write while
  /// both are in one of the calls below: `bytes` (the same on all ranks) at a
  /// multiple of 64; all ranks call it together. NULL where there is none.
  void *(*allocate)(void *user, size_t bytes);
  void (*release)(void *user, void *memory);
  /// Of `ranks` ranks from `first` on, of which this is one: what each has at
  /// `mine`, one after another in `all`.
  int32_t (*all_gather)(void *user, int32_t first, int32_t ranks, const void *mine, void *all, size_t bytes);
  /// The sum over such ranks of `count` elements; `type` is a float, bfloat16 or
  /// integer of up to 64 bits. All get the same bits.
  int32_t (*all_reduce)(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                        DLDataType type);
  /// To one rank, which receives as many bytes.
  int32_t (*send)(void *user, int32_t to, const void *data, size_t bytes);
  int32_t (*receive)(void *user, int32_t from, void *data, size_t bytes);
  /// This rank's run ended with a failure: nobody need wait for it.
  void (*abandon)(void *user, const char *why);
  const char *(*message)(void *user);
  void (*destroy)(void *user);
  /// 1 while a context has it: contexts set it.
  uint32_t taken;
  /// Bytes that this rank has moved since its context was made: read of other
  /// ranks' memory, written there, and received. Transports count; by shared
  /// memory and MPI's windows it is what the compiler says (hewn explain), by
  /// messages sums take more.
  uint64_t moved;
  /// Of all_reduce's sum to each rank a part, of the same bits: `mine` has one of `count`
  /// elements for each of the `ranks`, in their order, and `sum` is this rank's.
  int32_t (*reduce_scatter)(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                            DLDataType type);
  /// What it does with the memory of devices. NULL: nothing; what ranks of a model
  /// for a device hand each other is copied to the host's memory, and from there.
  const hewn_device_transport *device;
  /// Whether another rank is known to be gone, or to have failed: asked where a rank
  /// waits for something else, and does not wait itself. NULL: it can't tell.
  int32_t (*check)(void *user);
  /// -1 before a call of which the context wants to know how long this rank waited for
  /// others to come: a transport that can tell that from moving bytes makes it so many
  /// nanoseconds, another one leaves it as it is.
  int64_t waited;
};

/// Ends it. NULL is allowed.
static inline void hewn_communicator_destroy(hewn_communicator *communicator) {
  if (communicator)
    communicator->destroy(communicator->user);
}

/// Processes (or threads) of one machine, by shared memory: ranks read and write
/// each other's arenas, and nothing is copied on the way. `name` is the same
/// on all ranks and no other group's of the machine: letters, digits, - and _.
/// Waits for all of them, at most `milliseconds`, as each later call does; 0: 30
/// seconds. Ranks must be processes of one user.
///
/// On failure `*communicator` is NULL and the status' message a constant text.
HEWN_API hewn_status hewn_local_communicator_create(const char *name, int32_t rank, int32_t num_ranks,
                                                    int64_t milliseconds, hewn_communicator **communicator);

/// By NVIDIA's NCCL (libnccl.so.2, 2.14 or newer, which is looked for when this is
/// called), from device to device: ranks find each other, and tell each other of
/// what lies on the host, by `over`, which must outlive it and serve nobody else.
/// Each rank's context must be on a device of its own, in its primary context.
/// A rank waits `milliseconds` at most for what the others must do as well; 0: 30 seconds.
///
/// Where there is no NCCL: HEWN_UNSUPPORTED. On failure `*communicator` is NULL
/// and the status' message a constant text.
HEWN_API hewn_status hewn_nccl_communicator_create(hewn_communicator *over, int64_t milliseconds,
                                                   hewn_communicator **communicator);

/// What communicators of others add up with: sum += other, element by element;
/// HEWN_UNSUPPORTED where `type` is none of the above.
HEWN_API int32_t hewn_communicator_add(void *sum, const void *other, int64_t count, DLDataType type);

#ifdef __cplusplus
}
#endif

#endif // HEWN_COMMUNICATOR_H
