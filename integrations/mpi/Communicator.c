// SPDX-License-Identifier: Apache-2.0
// A hewn_communicator over MPI.
//
// The arena is an MPI window (MPI_Win_allocate): shared memory between ranks of one machine, and
// memory that the network reaches between machines. One-sided calls read and write the windows: in
// an all-reduce, each rank gets its piece of every addend, adds the pieces, and puts the sum into
// every rank's result; in a reduce-scatter, it keeps the sum; a send puts the bytes into the buffer
// of the receiver. Two-sided calls use MPI's collectives and messages instead. If a buffer of any
// rank lies outside of its window (for example an output in the caller's memory), all ranks use
// two-sided calls.
//
// Every MPI call that waits for a peer has a time limit: the non-blocking form (MPI_I...) is
// started and polled until it completes or the limit has passed. A barrier precedes the calls that
// have no non-blocking form. After a failure, MPI may still write to the buffers of pending calls:
// the process should exit soon.
#include "hewn_mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_MILLISECONDS 30000
#define TEXT_BYTES 256
#define TAG_DATA 7
#define TAG_PLACE 8
#define BLOCK_ELEMENTS 4096
#define MAX_RANKS 1024
#define ALIGNMENT 64
#define PAGE_BYTES 4096

/// The parameters of a communicator call. Ranks exchange and compare them before they transfer
/// data.
typedef struct place {
  uint64_t bytes;
  uint64_t operation;
  /// Offsets of the buffers in the MPI window; negative for a buffer outside of it.
  int64_t from, to;
} place;

typedef struct mpi_group {
  hewn_communicator table;
  /// `comm` contains all ranks. `fewer` contains the ranks [first, first + count) of this rank's
  /// subgroup; it is MPI_COMM_NULL before the subgroup's first call.
  MPI_Comm comm, fewer;
  int32_t first, count;
  MPI_Win window;
  unsigned char *base;
  size_t bytes;
  int64_t milliseconds;
  int twoSided, finalizes, failed;
  int counts; ///< 1 if the current call measures its waiting time in `table.waited`
  /// `places` is a buffer for the parameters of a call: first those of each rank, then those of
  /// this rank, then those that the receiver of a message sent. `room` is a buffer for pieces of
  /// addends. Both are on the heap, because MPI may still write to them after a timeout. They are
  /// not freed after a failure.
  place *places;
  unsigned char *room;
  size_t roomBytes;
  char text[TEXT_BYTES];
} mpi_group;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int32_t fail(mpi_group *group, const char *format, long a, long b) {
  snprintf(group->text, sizeof(group->text), format, a, b);
  group->failed = 1;
  return HEWN_PEER_FAILED;
}

static int32_t check(mpi_group *group, int error) {
  if (error == MPI_SUCCESS)
    return HEWN_OK;
  char why[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, why, &length);
  snprintf(group->text, sizeof(group->text), "MPI: %.*s", length < 200 ? length : 200, why);
  group->failed = 1;
  return HEWN_PEER_FAILED;
}

static int64_t nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/// Waits until `request` completes. After the time limit, fails the group and leaves the request
/// pending.
static int32_t finish(mpi_group *group, int error, MPI_Request *request) {
  int32_t code = check(group, error);
  if (code != HEWN_OK)
    return code;
  int64_t begin = now();
  for (int64_t turn = 0;; ++turn) {
    int done = 0;
    code = check(group, MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (code != HEWN_OK || done)
      return code;
    if ((turn & 255) == 255 && now() - begin >= group->milliseconds)
      return fail(group, "another rank did not respond within %ld ms", (long)group->milliseconds, 0);
    if (turn > 4096) { // sleep, since the awaited rank may need this CPU
      struct timespec pause = {0, 20000};
      nanosleep(&pause, NULL);
    }
  }
}

/// Waits until a request completes that carries no tensor data. The elapsed time is counted as
/// waiting for peers.
static int32_t await(mpi_group *group, int error, MPI_Request *request) {
  if (!group->counts)
    return finish(group, error, request);
  int64_t from = nanoseconds();
  int32_t code = finish(group, error, request);
  group->table.waited += nanoseconds() - from;
  return code;
}

/// Begins a call. `tells` is 1 if the call can separate the time that it waits for peers from the
/// time of its transfers. If `tells` is 1 and `table.waited` is negative, which requests the
/// measurement, sets `table.waited` to 0; the call then adds its waiting time.
static mpi_group *begun(void *user, int tells) {
  mpi_group *group = user;
  group->counts = tells && group->table.waited < 0;
  if (group->counts)
    group->table.waited = 0;
  return group;
}

/// A group of the ranks [first, first + count), with its MPI communicator.
typedef struct ranks {
  int32_t first, count;
  MPI_Comm comm;
} ranks;

/// Sets `with` to the given ranks: all ranks, or this rank's subgroup, which must be the same in
/// each call. Creates the MPI communicator of the subgroup in its first call.
static int32_t chooseRanks(mpi_group *group, int32_t first, int32_t count, ranks *with) {
  with->first = first;
  with->count = count;
  with->comm = group->comm;
  if (first == 0 && count == group->table.num_ranks)
    return HEWN_OK;
  if (group->fewer != MPI_COMM_NULL && (group->first != first || group->count != count))
    return fail(group, "a rank joins a second group: it uses the ranks from %ld on, and then those from %ld on",
                group->first, first);
  if (group->fewer == MPI_COMM_NULL) {
    MPI_Group all, some;
    int range[1][3] = {{first, first + count - 1, 1}};
    int32_t code = check(group, MPI_Comm_group(group->comm, &all));
    if (code == HEWN_OK)
      code = check(group, MPI_Group_range_incl(all, 1, range, &some));
    if (code == HEWN_OK)
      code = check(group, MPI_Comm_create_group(group->comm, some, TAG_DATA, &group->fewer));
    if (code != HEWN_OK)
      return code;
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    MPI_Comm_set_errhandler(group->fewer, MPI_ERRORS_RETURN);
    group->first = first;
    group->count = count;
  }
  with->comm = group->fewer;
  return HEWN_OK;
}

//===----------------------------------------------------------------------===//
// The window
//===----------------------------------------------------------------------===//

/// Waits, within the time limit, until all ranks have arrived. Precedes collective calls of MPI
/// that have no time limit.
static int32_t gather(mpi_group *group) {
  MPI_Request request;
  return finish(group, MPI_Ibarrier(group->comm, &request), &request);
}

static void *allocate(void *user, size_t bytes) {
  mpi_group *group = user;
  if (group->failed || gather(group) != HEWN_OK)
    return NULL;
  // Round up to whole pages: if windows are adjacent in shared memory, MPICH 4.0 computes wrong
  // addresses for windows whose size is not a multiple of 16 bytes.
  size_t wanted = (bytes + ALIGNMENT + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  if (check(group, MPI_Win_allocate((MPI_Aint)wanted, 1, MPI_INFO_NULL, group->comm, &group->base, &group->window)) !=
          HEWN_OK ||
      check(group, MPI_Win_lock_all(MPI_MODE_NOCHECK, group->window)) != HEWN_OK)
    return NULL;
  // The arena's offset in the window may differ between ranks (bases may differ modulo 64); each
  // rank sends offsets relative to its own base.
  group->bytes = wanted;
  uintptr_t at = ((uintptr_t)group->base + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return (void *)at;
}

static void release(void *user, void *memory) {
  mpi_group *group = user;
  (void)memory;
  // After a failure, the window is not freed: MPI_Win_free waits for all ranks, some of which may
  // not call it.
  if (group->window == MPI_WIN_NULL || group->failed || gather(group) != HEWN_OK)
    return;
  MPI_Win_unlock_all(group->window);
  MPI_Win_free(&group->window);
  group->window = MPI_WIN_NULL;
  group->base = NULL;
  group->bytes = 0;
}

/// Returns the offset of `data` in the window, or -1 if [data, data + bytes) is not within it.
static int64_t offsetOf(const mpi_group *group, const void *data, size_t bytes) {
  uintptr_t base = (uintptr_t)group->base, at = (uintptr_t)data;
  if (!group->base || at < base || at - base > group->bytes || bytes > group->bytes - (at - base))
    return -1;
  return (int64_t)(at - base);
}

/// Sends this rank's parameters to all ranks, receives theirs into `group->places`, and fails if
/// their sizes or operations differ.
static int32_t tell(mpi_group *group, const ranks *with, place told) {
  MPI_Request request;
  place *all = group->places, *own = &group->places[group->table.num_ranks];
  *own = told;
  int32_t code = await(
      group, MPI_Iallgather(own, (int)sizeof(*own), MPI_BYTE, all, (int)sizeof(*own), MPI_BYTE, with->comm, &request),
      &request);
  for (int32_t r = 0; code == HEWN_OK && r < with->count; ++r)
    if (all[r].bytes != own->bytes || all[r].operation != own->operation)
      code = fail(group, "ranks %ld and %ld make different calls: do their inputs have different shapes?",
                  group->table.rank, with->first + r);
  return code;
}

/// Completes all gets from and puts to these ranks. Flushes rank by rank: in MPICH 4.0 on UCX,
/// MPI_Win_flush_all sometimes returns before gets are complete, and sums then use data of the
/// previous run.
static int32_t flush(mpi_group *group, const ranks *with) {
  int32_t code = HEWN_OK;
  for (int32_t r = with->first; code == HEWN_OK && r < with->first + with->count; ++r)
    code = check(group, MPI_Win_flush(r, group->window));
  return code;
}

/// Barrier: afterwards, the puts of all ranks, and their local writes to their windows, are visible
/// to all.
static int32_t meet(mpi_group *group, const ranks *with) {
  MPI_Request request;
  int32_t code = flush(group, with);
  if (code == HEWN_OK)
    code = check(group, MPI_Win_sync(group->window));
  if (code == HEWN_OK)
    code = await(group, MPI_Ibarrier(with->comm, &request), &request);
  return code == HEWN_OK ? check(group, MPI_Win_sync(group->window)) : code;
}

/// Returns the buffer `group->room` with at least `bytes` bytes; fails the group and returns NULL
/// if out of memory.
static unsigned char *room(mpi_group *group, size_t bytes) {
  if (group->roomBytes < bytes) {
    free(group->room);
    group->room = malloc(bytes);
    group->roomBytes = group->room ? bytes : 0;
    if (!group->room)
      fail(group, "out of memory: cannot allocate %ld bytes for data of other ranks", (long)bytes, 0);
  }
  return group->room;
}

//===----------------------------------------------------------------------===//
// Gathers and sums
//===----------------------------------------------------------------------===//

/// Gathers `bytes` bytes of each rank. Transfers at most 1 GiB per call, since MPI counts are
/// `int`.
static int32_t gatherAll(mpi_group *group, const ranks *with, const void *mine, void *all, size_t bytes) {
  const size_t most = (size_t)1 << 30;
  MPI_Request request;
  group->table.moved += (uint64_t)(with->count - 1) * bytes;
  if (bytes <= most)
    return finish(group, MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, with->comm, &request),
                  &request);
  for (int32_t r = 0; r < with->count; ++r) {
    unsigned char *to = (unsigned char *)all + (size_t)r * bytes;
    if (with->first + r == group->table.rank)
      memcpy(to, mine, bytes);
    for (size_t at = 0; at < bytes; at += most) {
      int count = (int)(bytes - at < most ? bytes - at : most);
      int32_t code = finish(group, MPI_Ibcast(to + at, count, MPI_BYTE, r, with->comm, &request), &request);
      if (code != HEWN_OK)
        return code;
    }
  }
  return HEWN_OK;
}

/// Selects the ranks that take part in a communicator call, and exchanges the call's parameters
/// with them.
static int32_t begin(mpi_group *group, int32_t first, int32_t count, place own, ranks *with) {
  if (group->failed)
    return HEWN_PEER_FAILED;
  int32_t code = chooseRanks(group, first, count, with);
  return code == HEWN_OK ? tell(group, with, own) : code;
}

static int32_t allGather(void *user, int32_t first, int32_t count, const void *mine, void *all, size_t bytes) {
  mpi_group *group = begun(user, /*tells=*/1);
  ranks with;
  place own = {bytes, 1, -1, -1};
  int32_t code = begin(group, first, count, own, &with);
  return code == HEWN_OK ? gatherAll(group, &with, mine, all, bytes) : code;
}

/// Adds `ranks` pieces of `count` elements in rank order, so that the result does not depend on
/// timing.
static int32_t addInOrder(mpi_group *group, const unsigned char *pieces, int32_t ranks, void *sum, int64_t count,
                          DLDataType type) {
  size_t bytes = (size_t)count * (type.bits / 8u);
  memcpy(sum, pieces, bytes);
  for (int32_t r = 1; r < ranks; ++r)
    if (hewn_communicator_add(sum, pieces + bytes * (size_t)r, count, type) != HEWN_OK)
      return fail(group, "elements of %ld bits (DLPack type code %ld) cannot be summed", type.bits, type.code);
  return HEWN_OK;
}

/// All-reduce by one-sided calls: gets this rank's piece of each addend, adds the pieces, and puts
/// the sum into the result of each rank.
static int32_t addOneSided(mpi_group *group, const ranks *with, const place *all, int64_t count, DLDataType type) {
  int32_t rank = group->table.rank - with->first, ranks = with->count;
  size_t element = type.bits / 8u;
  int64_t lines = (count + 63) / 64, first = lines * rank / ranks * 64, last = lines * (rank + 1) / ranks * 64;
  first = first < count ? first : count;
  last = last < count ? last : count;
  size_t bytes = (size_t)(last - first) * element, offset = (size_t)first * element;
  // Barrier: all ranks have written their addends to their windows.
  int32_t code = meet(group, with);
  if (code == HEWN_OK && bytes > 0) {
    unsigned char *pieces = room(group, bytes * (size_t)(ranks + 1));
    if (!pieces)
      return HEWN_OUT_OF_MEMORY;
    unsigned char *sum = pieces + bytes * (size_t)ranks;
    for (int32_t r = 0; code == HEWN_OK && r < ranks; ++r)
      code = check(group, MPI_Get(pieces + bytes * (size_t)r, (int)bytes, MPI_BYTE, with->first + r,
                                  (MPI_Aint)all[r].from + (MPI_Aint)offset, (int)bytes, MPI_BYTE, group->window));
    if (code == HEWN_OK)
      code = flush(group, with);
    if (code == HEWN_OK)
      code = addInOrder(group, pieces, ranks, sum, last - first, type);
    if (code != HEWN_OK)
      return code;
    // If the all-reduce is in place, other ranks may still read this rank's addend. Each rank reads
    // and writes only its own piece of it, so the puts below don't overwrite data that other ranks
    // still need. `moved` counts the pieces that this rank reads from the other ranks, and the sum
    // that it writes to each of them.
    group->table.moved += 2 * (uint64_t)(ranks - 1) * bytes;
    for (int32_t r = 0; code == HEWN_OK && r < ranks; ++r)
      code = check(group, MPI_Put(sum, (int)bytes, MPI_BYTE, with->first + r, (MPI_Aint)all[r].to + (MPI_Aint)offset,
                                  (int)bytes, MPI_BYTE, group->window));
  }
  return code == HEWN_OK ? meet(group, with) : code;
}

/// All-reduce by two-sided calls: gathers blocks of all addends at each rank and adds them in rank
/// order, which gives the same bits as addOneSided.
static int32_t addTwoSided(mpi_group *group, const ranks *with, const void *mine, void *sum, int64_t count,
                           DLDataType type) {
  size_t element = type.bits / 8u;
  int32_t ranks = with->count;
  for (int64_t at = 0; at < count; at += BLOCK_ELEMENTS * 16) {
    int64_t part = count - at < BLOCK_ELEMENTS * 16 ? count - at : BLOCK_ELEMENTS * 16;
    size_t bytes = (size_t)part * element, offset = (size_t)at * element;
    unsigned char *pieces = room(group, bytes * (size_t)ranks);
    if (!pieces)
      return HEWN_OUT_OF_MEMORY;
    int32_t code = gatherAll(group, with, (const unsigned char *)mine + offset, pieces, bytes);
    if (code == HEWN_OK)
      code = addInOrder(group, pieces, ranks, (unsigned char *)sum + offset, part, type);
    if (code != HEWN_OK)
      return code;
  }
  return HEWN_OK;
}

static int32_t allReduce(void *user, int32_t first, int32_t numRanks, const void *mine, void *sum, int64_t count,
                         DLDataType type) {
  mpi_group *group = begun(user, /*tells=*/1);
  size_t bytes = (size_t)count * (type.bits / 8u);
  place own = {bytes, 2, offsetOf(group, mine, bytes), offsetOf(group, sum, bytes)};
  const place *all = group->places;
  ranks with;
  int32_t code = begin(group, first, numRanks, own, &with);
  if (code != HEWN_OK)
    return code;
  int inWindows = !group->twoSided && bytes < ((size_t)1 << 30);
  for (int32_t r = 0; r < numRanks; ++r)
    inWindows &= all[r].from >= 0 && all[r].to >= 0;
  return inWindows ? addOneSided(group, &with, all, count, type) : addTwoSided(group, &with, mine, sum, count, type);
}

/// Reduce-scatter by one-sided calls: gets this rank's part of each addend and adds the parts.
static int32_t scatterOneSided(mpi_group *group, const ranks *with, const place *all, void *sum, int64_t count,
                               DLDataType type) {
  int32_t rank = group->table.rank - with->first, ranks = with->count;
  size_t bytes = (size_t)count * (type.bits / 8u);
  unsigned char *pieces = room(group, bytes * (size_t)ranks);
  if (!pieces)
    return HEWN_OUT_OF_MEMORY;
  // Barrier: all ranks have written their addends to their windows.
  int32_t code = meet(group, with);
  for (int32_t r = 0; code == HEWN_OK && r < ranks; ++r)
    code = check(group, MPI_Get(pieces + bytes * (size_t)r, (int)bytes, MPI_BYTE, with->first + r,
                                (MPI_Aint)all[r].from + (MPI_Aint)(bytes * (size_t)rank), (int)bytes, MPI_BYTE,
                                group->window));
  if (code == HEWN_OK)
    code = flush(group, with);
  if (code == HEWN_OK)
    code = addInOrder(group, pieces, ranks, sum, count, type);
  group->table.moved += (uint64_t)(ranks - 1) * bytes;
  // Barrier: all ranks have read the addends, which may be overwritten from now on.
  return code == HEWN_OK ? meet(group, with) : code;
}

/// Reduce-scatter by two-sided calls, in blocks: MPI counts are `int`, and blocks bound the size of
/// the buffer.
static int32_t scatterTwoSided(mpi_group *group, const ranks *with, const unsigned char *mine, unsigned char *sum,
                               int64_t count, DLDataType type) {
  size_t element = type.bits / 8u, ranks = (size_t)with->count, whole = (size_t)count * element;
  for (int64_t at = 0; at < count; at += BLOCK_ELEMENTS * 16) {
    int64_t part = count - at < BLOCK_ELEMENTS * 16 ? count - at : BLOCK_ELEMENTS * 16;
    size_t bytes = (size_t)part * element, offset = (size_t)at * element;
    unsigned char *pieces = room(group, 2 * bytes * ranks);
    if (!pieces)
      return HEWN_OUT_OF_MEMORY;
    unsigned char *given = pieces + bytes * ranks;
    for (size_t r = 0; r < ranks; ++r)
      memcpy(given + bytes * r, mine + whole * r + offset, bytes);
    MPI_Request request;
    int32_t code =
        finish(group, MPI_Ialltoall(given, (int)bytes, MPI_BYTE, pieces, (int)bytes, MPI_BYTE, with->comm, &request),
               &request);
    if (code == HEWN_OK)
      code = addInOrder(group, pieces, with->count, sum + offset, part, type);
    if (code != HEWN_OK)
      return code;
  }
  group->table.moved += (ranks - 1) * whole;
  return HEWN_OK;
}

static int32_t reduceScatter(void *user, int32_t first, int32_t numRanks, const void *mine, void *sum, int64_t count,
                             DLDataType type) {
  mpi_group *group = begun(user, /*tells=*/1);
  size_t bytes = (size_t)count * (type.bits / 8u) * (size_t)numRanks;
  place own = {bytes, 3, offsetOf(group, mine, bytes), -1};
  const place *all = group->places;
  ranks with;
  int32_t code = begin(group, first, numRanks, own, &with);
  if (code != HEWN_OK)
    return code;
  int inWindows = !group->twoSided && bytes < ((size_t)1 << 30);
  for (int32_t r = 0; r < numRanks; ++r)
    inWindows &= all[r].from >= 0;
  return inWindows ? scatterOneSided(group, &with, all, sum, count, type)
                   : scatterTwoSided(group, &with, mine, sum, count, type);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static int32_t sendTo(void *user, int32_t to, const void *data, size_t bytes) {
  mpi_group *group = begun(user, /*tells=*/1);
  if (group->failed)
    return HEWN_PEER_FAILED;
  // To prepare a message, its receiver sends the offset of its buffer and the expected number of
  // bytes.
  place *heard = &group->places[group->table.num_ranks + 1];
  MPI_Request request;
  int32_t code =
      await(group, MPI_Irecv(heard, (int)sizeof(*heard), MPI_BYTE, to, TAG_PLACE, group->comm, &request), &request);
  if (code != HEWN_OK)
    return code;
  place theirs = *heard;
  if (theirs.bytes != bytes)
    return fail(
        group,
        "rank %ld sends a different number of bytes than rank %ld receives: do their inputs have different shapes?",
        group->table.rank, to);
  const size_t most = (size_t)1 << 30;
  int puts = theirs.to >= 0 && !group->twoSided;
  for (size_t at = 0; code == HEWN_OK && at < bytes; at += most) {
    int count = (int)(bytes - at < most ? bytes - at : most);
    const unsigned char *from = (const unsigned char *)data + at;
    if (puts)
      code = check(group, MPI_Put(from, count, MPI_BYTE, to, (MPI_Aint)theirs.to + (MPI_Aint)at, count, MPI_BYTE,
                                  group->window));
    else
      code = finish(group, MPI_Isend(from, count, MPI_BYTE, to, TAG_DATA, group->comm, &request), &request);
  }
  if (code != HEWN_OK || !puts)
    return code;
  if ((code = check(group, MPI_Win_flush(to, group->window))) != HEWN_OK)
    return code;
  return finish(group, MPI_Isend(NULL, 0, MPI_BYTE, to, TAG_DATA, group->comm, &request), &request);
}

/// Receives bytes from a rank. The sender copies the data while this rank waits, so the waiting
/// time cannot be separated from the time of the transfer and is not counted.
static int32_t receiveFrom(void *user, int32_t from, void *data, size_t bytes) {
  mpi_group *group = begun(user, /*tells=*/0);
  if (group->failed)
    return HEWN_PEER_FAILED;
  place own = {bytes, 0, -1, group->twoSided ? -1 : offsetOf(group, data, bytes)};
  place *told = &group->places[group->table.num_ranks];
  *told = own;
  MPI_Request request;
  group->table.moved += bytes;
  int32_t code =
      finish(group, MPI_Isend(told, (int)sizeof(*told), MPI_BYTE, from, TAG_PLACE, group->comm, &request), &request);
  if (code != HEWN_OK)
    return code;
  if (own.to >= 0) { // the sender puts the data into the window, then sends an empty message
    code = finish(group, MPI_Irecv(NULL, 0, MPI_BYTE, from, TAG_DATA, group->comm, &request), &request);
    return code == HEWN_OK ? check(group, MPI_Win_sync(group->window)) : code;
  }
  const size_t most = (size_t)1 << 30;
  for (size_t at = 0; code == HEWN_OK && at < bytes; at += most) {
    int count = (int)(bytes - at < most ? bytes - at : most);
    code = finish(group, MPI_Irecv((unsigned char *)data + at, count, MPI_BYTE, from, TAG_DATA, group->comm, &request),
                  &request);
  }
  return code;
}

static void abandon(void *user, const char *why) {
  mpi_group *group = user;
  // `why` is not sent: the status of this rank reports it, and the other ranks fail by their time
  // limit.
  (void)why;
  group->failed = 1;
}

static const char *message(void *user) { return ((mpi_group *)user)->text; }

static void destroy(void *user) {
  mpi_group *group = user;
  release(user, NULL);
  if (!group->failed) {
    free(group->room);
    free(group->places);
  }
  if (group->finalizes && group->failed)
    // After a failure, MPI_Finalize would wait for ranks that have exited.
    MPI_Abort(group->comm, HEWN_PEER_FAILED);
  if (!group->failed && group->fewer != MPI_COMM_NULL)
    MPI_Comm_free(&group->fewer);
  if (!group->failed)
    MPI_Comm_free(&group->comm);
  if (group->finalizes)
    MPI_Finalize();
  if (!group->failed)
    free(group);
}

static hewn_status status(int32_t code, const char *why) {
  hewn_status made = {code, why};
  return made;
}

hewn_status hewn_mpi_communicator_create(const void *comm, int64_t milliseconds, uint32_t flags,
                                         hewn_communicator **communicator) {
  if (!communicator)
    return status(HEWN_INVALID_ARGUMENT, "the communicator pointer is NULL");
  *communicator = NULL;
  int isReady = 0, rank = 0, ranks = 0;
  if (!comm || MPI_Initialized(&isReady) != MPI_SUCCESS || !isReady)
    return status(HEWN_INVALID_ARGUMENT, "MPI is not initialized, or its communicator is NULL");
  if (milliseconds < 0 || flags & ~(uint32_t)HEWN_MPI_TWO_SIDED)
    return status(HEWN_INVALID_ARGUMENT, "the time limit is negative, or a flag is none of hewn_mpi_flags");
  mpi_group *group = calloc(1, sizeof(mpi_group));
  if (!group)
    return status(HEWN_OUT_OF_MEMORY, "out of memory for a communicator");
  if (MPI_Comm_dup(*(const MPI_Comm *)comm, &group->comm) != MPI_SUCCESS) {
    free(group);
    return status(HEWN_PEER_FAILED, "cannot duplicate the MPI communicator");
  }
  MPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(group->comm, &rank);
  MPI_Comm_size(group->comm, &ranks);
  group->places = calloc((size_t)ranks + 2, sizeof(place));
  if (ranks > MAX_RANKS || !group->places) {
    MPI_Comm_free(&group->comm);
    free(group->places);
    free(group);
    return ranks > MAX_RANKS ? status(HEWN_INVALID_ARGUMENT, "a group has at most 1024 ranks")
                             : status(HEWN_OUT_OF_MEMORY, "out of memory for a communicator");
  }
  hewn_communicator table = {sizeof(hewn_communicator),
                             rank,
                             ranks,
                             group,
                             allocate,
                             release,
                             allGather,
                             allReduce,
                             sendTo,
                             receiveFrom,
                             abandon,
                             message,
                             destroy,
                             0,
                             0,
                             reduceScatter,
                             NULL,
                             NULL,
                             0};
  group->table = table;
  group->window = MPI_WIN_NULL;
  group->fewer = MPI_COMM_NULL;
  group->milliseconds = milliseconds ? milliseconds : DEFAULT_MILLISECONDS;
  group->twoSided = (flags & HEWN_MPI_TWO_SIDED) != 0;
  *communicator = &group->table;
  return status(HEWN_OK, "");
}

hewn_status hewn_mpi_world_create(int64_t milliseconds, hewn_communicator **communicator) {
  int isReady = 0, provided = 0;
  if (!communicator)
    return status(HEWN_INVALID_ARGUMENT, "the communicator pointer is NULL");
  *communicator = NULL;
  MPI_Initialized(&isReady);
  if (!isReady && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return status(HEWN_PEER_FAILED, "cannot initialize MPI");
  const char *twoSided = getenv("HEWN_MPI_TWO_SIDED");
  MPI_Comm world = MPI_COMM_WORLD;
  hewn_status made = hewn_mpi_communicator_create(
      &world, milliseconds, twoSided && strcmp(twoSided, "1") == 0 ? HEWN_MPI_TWO_SIDED : 0, communicator);
  if (*communicator)
    ((mpi_group *)(*communicator)->user)->finalizes = !isReady;
  return made;
}
