// SPDX-License-Identifier: Apache-2.0
// A communicator over MPI.
//
// The arena is a window (MPI_Win_allocate): on one machine it is memory that ranks
// share, and on several what the network reaches. One-sided, a rank gets the pieces
// of the others' addends that are its own to add, and puts the sum where each wants
// it, or keeps it where each wants its own part; a message is put to where its receiver waits for it. Two-sided, MPI's own
// collectives and messages do the same. Where memory is not in the window
// (outputs in the caller's), two-sided calls are used on all ranks alike.
//
// No call of MPI's that may wait for a peer is made without an end: what waits is
// started (MPI_I...) and asked for, until it is done or too much time went by.
//
// In front of calls that have no such form ranks meet. After a failure MPI may still write to what it
// was given: end the process soon.
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

/// What ranks say before a sum or a gather, so that none gets what it does not want.
typedef struct place {
  uint64_t bytes;
  uint64_t operation;
  int64_t from, to; ///< in the window; negative: elsewhere
} place;

typedef struct mpi_group {
  hewn_communicator table;
  /// Of all ranks, and of the fewer ones that this one is with (MPI_COMM_NULL: they have not met yet), from `first` on.
  MPI_Comm comm, fewer;
  int32_t first, count;
  MPI_Win window;
  unsigned char *base;
  size_t bytes;
  int64_t milliseconds;
  int twoSided, finalizes, failed;
  int counts; ///< of the call that it is in: how long it waits is to be told
  /// What is told and heard, and for pieces of others' addends. Here and not on the stack: where a wait has ended without an end, MPI may still
  /// write to it; after a failure it is never given back.
  place *places; ///< one a rank, this one's own, and a receiver's
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

/// Waits for what was started; what does not end in time is left to MPI, and the group with it.
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
      return fail(group, "another rank has not come within %ld ms", (long)group->milliseconds, 0);
    if (turn > 4096) { // where ranks have to share processors
      struct timespec pause = {0, 20000};
      nanosleep(&pause, NULL);
    }
  }
}

/// The same of what moves no bytes of the model's: it ends when others have come.
static int32_t await(mpi_group *group, int error, MPI_Request *request) {
  if (!group->counts)
    return finish(group, error, request);
  int64_t from = nanoseconds();
  int32_t code = finish(group, error, request);
  group->table.waited += nanoseconds() - from;
  return code;
}

/// A call begins. `tells`: whether what it waits for comes by itself, and not with the bytes that are moved.
static mpi_group *begun(void *user, int tells) {
  mpi_group *group = user;
  group->counts = tells && group->table.waited < 0;
  if (group->counts)
    group->table.waited = 0;
  return group;
}

/// So many ranks from the first one on.
typedef struct ranks {
  int32_t first, count;
  MPI_Comm comm;
} ranks;

/// The communicator of these ranks: all, or always the same fewer ones.
static int32_t chooseRanks(mpi_group *group, int32_t first, int32_t count, ranks *with) {
  with->first = first;
  with->count = count;
  with->comm = group->comm;
  if (first == 0 && count == group->table.num_ranks)
    return HEWN_OK;
  if (group->fewer != MPI_COMM_NULL && (group->first != first || group->count != count))
    return fail(group, "a rank is with the ranks from %ld on, and then with those from %ld on", group->first, first);
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

/// In front of what all ranks must call and that would wait without an end: all are about to.
static int32_t gather(mpi_group *group) {
  MPI_Request request;
  return finish(group, MPI_Ibarrier(group->comm, &request), &request);
}

static void *allocate(void *user, size_t bytes) {
  mpi_group *group = user;
  if (group->failed || gather(group) != HEWN_OK)
    return NULL;
  // Whole pages: where ranks' windows lie one behind the other in memory that they share, MPICH 4.0 looks for those of sizes that are no multiples
  // of 16 bytes at other places than it has given out.
  size_t wanted = (bytes + ALIGNMENT + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  if (check(group, MPI_Win_allocate((MPI_Aint)wanted, 1, MPI_INFO_NULL, group->comm, &group->base, &group->window)) !=
          HEWN_OK ||
      check(group, MPI_Win_lock_all(MPI_MODE_NOCHECK, group->window)) != HEWN_OK)
    return NULL;
  // The same on all ranks where the bases are alike modulo 64; each tells offsets from its own base.
  group->bytes = wanted;
  uintptr_t at = ((uintptr_t)group->base + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return (void *)at;
}

static void release(void *user, void *memory) {
  mpi_group *group = user;
  (void)memory;
  // Freeing waits for all ranks: after a failure nobody may come.
  if (group->window == MPI_WIN_NULL || group->failed || gather(group) != HEWN_OK)
    return;
  MPI_Win_unlock_all(group->window);
  MPI_Win_free(&group->window);
  group->window = MPI_WIN_NULL;
  group->base = NULL;
  group->bytes = 0;
}

static int64_t offsetOf(const mpi_group *group, const void *data, size_t bytes) {
  uintptr_t base = (uintptr_t)group->base, at = (uintptr_t)data;
  if (!group->base || at < base || at - base > group->bytes || bytes > group->bytes - (at - base))
    return -1;
  return (int64_t)(at - base);
}

/// Tells all ranks this one's place, and checks that all do the same. `all`: a place a rank.
static int32_t tell(mpi_group *group, const ranks *with, place told) {
  MPI_Request request;
  place *all = group->places, *own = &group->places[group->table.num_ranks];
  *own = told;
  int32_t code = await(
      group, MPI_Iallgather(own, (int)sizeof(*own), MPI_BYTE, all, (int)sizeof(*own), MPI_BYTE, with->comm, &request),
      &request);
  for (int32_t r = 0; code == HEWN_OK && r < with->count; ++r)
    if (all[r].bytes != own->bytes || all[r].operation != own->operation)
      code = fail(group, "ranks %ld and %ld do not do the same: were they given inputs of other shapes?",
                  group->table.rank, with->first + r);
  return code;
}

/// What was got from these ranks is here, and what was put to them is there. Rank by rank: MPI_Win_flush_all of MPICH 4.0 on UCX now and then
/// returns before what it has got is there, and sums are those of the run before.
static int32_t flush(mpi_group *group, const ranks *with) {
  int32_t code = HEWN_OK;
  for (int32_t r = with->first; code == HEWN_OK && r < with->first + with->count; ++r)
    code = check(group, MPI_Win_flush(r, group->window));
  return code;
}

/// Makes what others have put visible here, and what was written here to them.
static int32_t meet(mpi_group *group, const ranks *with) {
  MPI_Request request;
  int32_t code = flush(group, with);
  if (code == HEWN_OK)
    code = check(group, MPI_Win_sync(group->window));
  if (code == HEWN_OK)
    code = await(group, MPI_Ibarrier(with->comm, &request), &request);
  return code == HEWN_OK ? check(group, MPI_Win_sync(group->window)) : code;
}

static unsigned char *room(mpi_group *group, size_t bytes) {
  if (group->roomBytes < bytes) {
    free(group->room);
    group->room = malloc(bytes);
    group->roomBytes = group->room ? bytes : 0;
    if (!group->room)
      fail(group, "out of memory for %ld bytes of other ranks", (long)bytes, 0);
  }
  return group->room;
}

//===----------------------------------------------------------------------===//
// Gathers and sums
//===----------------------------------------------------------------------===//

/// In pieces of less than 2 GiB: MPI counts by int.
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

/// Chooses the ranks, and tells each what this one is about to do.
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

/// `sum` of so many pieces of `count` elements, in the order of the ranks.
static int32_t addInOrder(mpi_group *group, const unsigned char *pieces, int32_t ranks, void *sum, int64_t count,
                          DLDataType type) {
  size_t bytes = (size_t)count * (type.bits / 8u);
  memcpy(sum, pieces, bytes);
  for (int32_t r = 1; r < ranks; ++r)
    if (hewn_communicator_add(sum, pieces + bytes * (size_t)r, count, type) != HEWN_OK)
      return fail(group, "elements of %ld bits (DLPack's type %ld) can't be added", type.bits, type.code);
  return HEWN_OK;
}

/// Gets this rank's piece of all addends, and puts its sum to where each rank wants it.
static int32_t addOneSided(mpi_group *group, const ranks *with, const place *all, int64_t count, DLDataType type) {
  int32_t rank = group->table.rank - with->first, ranks = with->count;
  size_t element = type.bits / 8u;
  int64_t lines = (count + 63) / 64, first = lines * rank / ranks * 64, last = lines * (rank + 1) / ranks * 64;
  first = first < count ? first : count;
  last = last < count ? last : count;
  size_t bytes = (size_t)(last - first) * element, offset = (size_t)first * element;
  int32_t code = meet(group, with); // the addends are there
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
    // In place, another rank may not have got its piece of ours yet: but pieces are of one rank alone.
    // The others' addends have come here, and the sum goes to the others.
    group->table.moved += 2 * (uint64_t)(ranks - 1) * bytes;
    for (int32_t r = 0; code == HEWN_OK && r < ranks; ++r)
      code = check(group, MPI_Put(sum, (int)bytes, MPI_BYTE, with->first + r, (MPI_Aint)all[r].to + (MPI_Aint)offset,
                                  (int)bytes, MPI_BYTE, group->window));
  }
  return code == HEWN_OK ? meet(group, with) : code;
}

/// All ranks' addends at each rank, block by block, added in the order of the ranks: the same bits as one-sided.
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

/// Gets this rank's part of all addends.
static int32_t scatterOneSided(mpi_group *group, const ranks *with, const place *all, void *sum, int64_t count,
                               DLDataType type) {
  int32_t rank = group->table.rank - with->first, ranks = with->count;
  size_t bytes = (size_t)count * (type.bits / 8u);
  unsigned char *pieces = room(group, bytes * (size_t)ranks);
  if (!pieces)
    return HEWN_OUT_OF_MEMORY;
  int32_t code = meet(group, with); // the addends are there
  for (int32_t r = 0; code == HEWN_OK && r < ranks; ++r)
    code = check(group, MPI_Get(pieces + bytes * (size_t)r, (int)bytes, MPI_BYTE, with->first + r,
                                (MPI_Aint)all[r].from + (MPI_Aint)(bytes * (size_t)rank), (int)bytes, MPI_BYTE,
                                group->window));
  if (code == HEWN_OK)
    code = flush(group, with);
  if (code == HEWN_OK)
    code = addInOrder(group, pieces, ranks, sum, count, type);
  group->table.moved += (uint64_t)(ranks - 1) * bytes;
  return code == HEWN_OK ? meet(group, with) : code; // nobody reads addends any more
}

/// Block by block of all parts, since MPI counts by int and the room is small.
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
  // Where the receiver wants it, and how much it waits for.
  place *heard = &group->places[group->table.num_ranks + 1];
  MPI_Request request;
  int32_t code =
      await(group, MPI_Irecv(heard, (int)sizeof(*heard), MPI_BYTE, to, TAG_PLACE, group->comm, &request), &request);
  if (code != HEWN_OK)
    return code;
  place theirs = *heard;
  if (theirs.bytes != bytes)
    return fail(group,
                "rank %ld sends as many bytes as rank %ld does not want: were they given inputs of other shapes?",
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

/// The sender moves the bytes while this rank waits, by another clock: what of it is waiting can't be told.
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
  if (own.to >= 0) { // it is put there; the message says that it is
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
  (void)why; // this rank's own status tells it; the others see that it does not come
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
    MPI_Abort(group->comm, HEWN_PEER_FAILED); // finalizing would wait for the ranks that are gone
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
    return status(HEWN_INVALID_ARGUMENT, "the time to wait is negative, or a flag is none of hewn_mpi_flags");
  mpi_group *group = calloc(1, sizeof(mpi_group));
  if (!group)
    return status(HEWN_OUT_OF_MEMORY, "out of memory for a communicator");
  if (MPI_Comm_dup(*(const MPI_Comm *)comm, &group->comm) != MPI_SUCCESS) {
    free(group);
    return status(HEWN_PEER_FAILED, "MPI's communicator can't be duplicated");
  }
  MPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(group->comm, &rank);
  MPI_Comm_size(group->comm, &ranks);
  group->places = calloc((size_t)ranks + 2, sizeof(place));
  if (ranks > MAX_RANKS || !group->places) {
    MPI_Comm_free(&group->comm);
    free(group->places);
    free(group);
    return ranks > MAX_RANKS ? status(HEWN_INVALID_ARGUMENT, "a group has 1024 ranks at most")
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
    return status(HEWN_PEER_FAILED, "MPI can't be initialized");
  const char *twoSided = getenv("HEWN_MPI_TWO_SIDED");
  MPI_Comm world = MPI_COMM_WORLD;
  hewn_status made = hewn_mpi_communicator_create(
      &world, milliseconds, twoSided && strcmp(twoSided, "1") == 0 ? HEWN_MPI_TWO_SIDED : 0, communicator);
  if (*communicator)
    ((mpi_group *)(*communicator)->user)->finalizes = !isReady;
  return made;
}
