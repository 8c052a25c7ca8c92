// SPDX-License-Identifier: Apache-2.0
// Communicators for processes of one machine, in shared memory.
//
// A group has a control block that all ranks map. A rank's arena is a memfd, which other ranks open
// through /proc and map on first use, so that a killed process leaves no files; the name of
// the control block is unlinked when all ranks have joined. Data outside of the arena (an output in
// the caller's memory) is staged in a second memfd.
//
// All-reduce: each rank publishes the positions of its addend and of its result; all ranks
// synchronize; rank r adds the r-th piece of all addends, in rank order, and writes it to each
// rank's result (reduce-scatter: only to its own); all ranks synchronize. This takes two
// synchronizations, and copies no bytes except for those that the sum reads and writes. A small
// all-gather has its data in the control block, and needs one synchronization.
//
// A waiting rank sleeps on a futex. It wakes up from time to time to check whether the group has
// failed, whether a rank has exited, and whether the time limit has expired.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ranks/local.h"
#include "core/context.h"
#include "hewn/communicator.h"
#include "platform/posix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_MILLISECONDS 30000
#define BLOCK_BYTES 16384
/// Time that a waiting rank spins before it sleeps, and number of spin iterations between two reads
/// of the clock.
#define SPIN_NANOSECONDS 200000
#define ROUNDS_PER_LOOK 64
#define ALIGNMENT 64

typedef struct mapping {
  uint32_t generation;
  unsigned char *base;
  size_t bytes;
} mapping;

typedef struct local_group {
  hewn_communicator table;
  control *shared;
  int64_t milliseconds, looked;
  int spins;                         ///< 1 if waiting starts with a spin
  int counts;                        ///< 1 if the current call measures its waiting time
  mapping peers[MAX_RANKS][REGIONS]; ///< includes this rank's own mappings
  int files[REGIONS];
  char text[WHY_BYTES + 64];
} local_group;

//===----------------------------------------------------------------------===//
// Failing and waiting
//===----------------------------------------------------------------------===//

/// Formats a message: replaces "{a}" and "{b}" by the numbers, and truncates text that does not
/// fit.
static void say(char *to, size_t bytes, const char *format, int64_t a, int64_t b) {
  hewn_text text = {to, to + bytes - 1};
  char letter[2] = {0, 0};
  for (const char *at = format; *at; ++at) {
    if (at[0] == '{' && (at[1] == 'a' || at[1] == 'b') && at[2] == '}') {
      hewn_text_int(&text, at[1] == 'a' ? a : b);
      at += 2;
      continue;
    }
    letter[0] = *at;
    hewn_text_put(&text, letter);
  }
  *text.at = '\0';
}

static slot *mine(local_group *group) { return &group->shared->slots[group->table.rank]; }

/// Marks the group of ranks as failed. The first rank to fail sets the reason.
static int32_t failAll(local_group *group, const char *format, int64_t a, int64_t b) {
  control *shared = group->shared;
  uint32_t expected = 0;
  if (__atomic_compare_exchange_n(&shared->failed, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    say(shared->why, sizeof(shared->why), format, a, b);
    __atomic_store_n(&shared->failed, 2, __ATOMIC_RELEASE);
  }
  say(group->text, sizeof(group->text), format, a, b);
  return HEWN_PEER_FAILED;
}

/// Sets this rank's message after another rank has failed the group.
static int32_t failToo(local_group *group) {
  // Waits for the reason of the failure, but not forever: the rank that writes it may have exited.
  for (int i = 0; i < 1000 && __atomic_load_n(&group->shared->failed, __ATOMIC_ACQUIRE) != 2; ++i)
    sched_yield();
  if (__atomic_load_n(&group->shared->failed, __ATOMIC_ACQUIRE) == 2)
    memcpy(group->text, group->shared->why, WHY_BYTES);
  else
    say(group->text, sizeof(group->text), "another rank has failed", 0, 0);
  group->text[WHY_BYTES - 1] = '\0';
  return HEWN_PEER_FAILED;
}

/// Marks the group as failed because of an error of this rank. `what` contains {a} for the errno.
static int32_t failHere(local_group *group, int32_t code, const char *what, int error) {
  failAll(group, "rank {a} cannot allocate shared memory", group->table.rank, 0);
  say(group->text, sizeof(group->text), what, error, 0);
  return code;
}

/// Begins a call of the communicator: starts the measurement of its waiting time if that is
/// requested.
static local_group *begun(void *user) {
  local_group *group = user;
  group->counts = group->table.waited < 0;
  if (group->counts)
    group->table.waited = 0;
  return group;
}

/// Spins for a limited time. Returns true if `*word` differs from `value` before the time is up.
/// Yields at exponentially growing intervals: the awaited rank may be runnable on this CPU, queued
/// after this thread.
static int comesSoon(const local_group *group, const uint32_t *word, uint32_t value) {
  int64_t until = 0;
  for (uint32_t round = 1;; ++round) {
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
      return 1;
    if (!group->spins)
      return 0;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (round % ROUNDS_PER_LOOK != 0)
      continue;
    uint32_t looks = round / ROUNDS_PER_LOOK;
    if (looks > 1 && (looks & (looks - 1)) == 0)
      sched_yield();
    int64_t time = hewn_local_nanoseconds();
    until = until ? until : time + SPIN_NANOSECONDS;
    if (time >= until)
      return 0;
  }
}

/// Waits while `*word` equals `value`. `whom` is the rank that changes it, for the message.
static int32_t sleepWhile(local_group *group, uint32_t *word, uint32_t value, int32_t whom) {
  if (comesSoon(group, word, value))
    return HEWN_OK;
  int64_t begin = hewn_local_milliseconds(), looked = begin;
  struct timespec slice = {0, SLICE_NANOSECONDS};
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
    if (__atomic_load_n(&group->shared->failed, __ATOMIC_ACQUIRE))
      return failToo(group);
    int64_t time = hewn_local_milliseconds();
    if (time - looked >= LOOK_MILLISECONDS) {
      int32_t gone = hewn_local_find_gone(group->shared, group->table.num_ranks, group->table.rank);
      // Reads the word again: the exited rank may have changed it before it exited.
      if (gone >= 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
        return failAll(group, "rank {a} has exited", gone, 0);
      looked = time;
    }
    if (time - begin >= group->milliseconds)
      return failAll(group, "rank {a} did not respond within {b} ms", whom, group->milliseconds);
    syscall(SYS_futex, word, FUTEX_WAIT, value, &slice, NULL, 0);
  }
  return HEWN_OK;
}

/// Waits like sleepWhile, and adds the time to `waited` if the call measures it.
static int32_t waitWhile(local_group *group, uint32_t *word, uint32_t value, int32_t whom) {
  if (!group->counts)
    return sleepWhile(group, word, value, whom);
  int64_t from = hewn_local_nanoseconds();
  int32_t code = sleepWhile(group, word, value, whom);
  group->table.waited += hewn_local_nanoseconds() - from;
  return code;
}

/// A group of `count` consecutive ranks that begins with rank `first`. A rank uses the group of all
/// ranks, and at most one smaller group.
typedef struct ranks {
  int32_t first, count;
} ranks;

static int whichOf(const local_group *group, ranks with) { return with.count != group->table.num_ranks; }

/// Returns the shared entry with the parameters of a call of `rank`: the call of this rank's last
/// synchronization with the group, or, if `next` is 1, that of the next one.
static call *callOf(local_group *group, ranks with, int32_t rank, int next) {
  int which = whichOf(group, with);
  uint32_t step = mine(group)->at[which] + (uint32_t)next;
  return &group->shared->slots[rank].calls[which][step & 1];
}

/// Synchronizes a group of ranks: returns when all ranks of the group have called this function.
static int32_t meet(local_group *group, ranks with) {
  if (__atomic_load_n(&group->shared->failed, __ATOMIC_ACQUIRE))
    return failToo(group);
  int which = whichOf(group, with);
  uint32_t *own = &mine(group)->at[which];
  uint32_t step = __atomic_add_fetch(own, 1, __ATOMIC_ACQ_REL);
  hewn_local_wake(own);
  for (int32_t r = with.first; r < with.first + with.count; ++r) {
    uint32_t *at = &group->shared->slots[r].at[which], seen;
    // The comparison also accepts a rank that is one step ahead, because it has left this
    // synchronization already.
    while ((int32_t)((seen = __atomic_load_n(at, __ATOMIC_ACQUIRE)) - step) < 0) {
      int32_t code = waitWhile(group, at, seen, r);
      if (code != HEWN_OK)
        return code;
    }
  }
  return HEWN_OK;
}

//===----------------------------------------------------------------------===//
// Memory that other ranks access
//===----------------------------------------------------------------------===//

static void unmap(mapping *map) {
  if (map->base)
    munmap(map->base, map->bytes);
  map->base = NULL;
  map->bytes = 0;
}

/// Creates and maps a new file for one of this rank's regions.
static int32_t makeRegion(local_group *group, int which, size_t bytes) {
  mapping *map = &group->peers[group->table.rank][which];
  region *own = &mine(group)->regions[which];
  unmap(map);
  if (group->files[which] >= 0)
    close(group->files[which]);
  int file = group->files[which] = hewn_sys_memfd("hewn", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0)
    return failHere(group, HEWN_OUT_OF_MEMORY, "shared memory cannot be created: errno {a}", errno);
  // Allocates the pages of the file now: otherwise a store could raise SIGBUS when memory runs out.
  int error = posix_fallocate(file, 0, (off_t)bytes);
  if (error)
    return failHere(group, HEWN_OUT_OF_MEMORY, "not enough shared memory: errno {a}", error);
  (void)fcntl(file, F_ADD_SEALS,
              // seals the size of the file, so that other ranks can rely on it
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED)
    return failHere(group, HEWN_OUT_OF_MEMORY, "shared memory cannot be mapped: errno {a}", errno);
  map->base = base;
  map->bytes = bytes;
  map->generation = own->generation + 1;
  own->file = file;
  own->bytes = bytes;
  __atomic_store_n(&own->generation, map->generation, __ATOMIC_RELEASE);
  return HEWN_OK;
}

/// Maps a position in another rank's memory, with `bytes` bytes after it, into this process.
/// Returns NULL on failure. The other rank must be in the same call.
static unsigned char *reach(local_group *group, int32_t rank, const place *where, uint64_t bytes) {
  const slot *other = &group->shared->slots[rank];
  const region *theirs = &other->regions[where->region % REGIONS];
  mapping *map = &group->peers[rank][where->region % REGIONS];
  uint32_t generation = __atomic_load_n(&theirs->generation, __ATOMIC_ACQUIRE);
  if (map->generation != generation) {
    unmap(map);
    char path[64];
    say(path, sizeof(path), "/proc/{a}/fd/{b}", other->process, theirs->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    void *base = MAP_FAILED;
    if (file >= 0 && hewn_sys_fstat(file, &status) == 0 && status.st_uid == geteuid() &&
        (uint64_t)status.st_size >= theirs->bytes)
      base = mmap(NULL, theirs->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
      close(file);
    if (base == MAP_FAILED) {
      failAll(group, "rank {a} cannot map the memory of rank {b}: do both processes have the same user?",
              group->table.rank, rank);
      return NULL;
    }
    map->base = base;
    map->bytes = theirs->bytes;
    map->generation = generation;
  }
  if (where->offset > map->bytes || bytes > map->bytes - where->offset) {
    failAll(group, "rank {a} received an invalid memory position from rank {b}", group->table.rank, rank);
    return NULL;
  }
  return map->base + where->offset;
}

static int inWindow(local_group *group, const void *data, uint64_t bytes, place *where) {
  const mapping *window = &group->peers[group->table.rank][WINDOW];
  uintptr_t base = (uintptr_t)window->base, at = (uintptr_t)data;
  if (!window->base || at < base || at - base > window->bytes || bytes > window->bytes - (at - base))
    return 0;
  where->region = WINDOW;
  where->offset = at - base;
  return 1;
}

/// Grows this rank's staging region to `bytes` bytes.
static int32_t stage(local_group *group, uint64_t bytes) {
  const mapping *staging = &group->peers[group->table.rank][STAGING];
  if (staging->base && staging->bytes >= bytes)
    return HEWN_OK;
  return makeRegion(group, STAGING, bytes < (1 << 20) ? 1 << 20 : (size_t)(bytes + bytes / 2));
}

static uint64_t aligned(uint64_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void *allocate(void *user, size_t bytes) {
  local_group *group = user;
  if (makeRegion(group, WINDOW, bytes ? bytes : 1) != HEWN_OK)
    return NULL;
  return group->peers[group->table.rank][WINDOW].base;
}

static void release(void *user, void *memory) {
  local_group *group = user;
  mapping *window = &group->peers[group->table.rank][WINDOW];
  if (memory != window->base)
    return;
  unmap(window);
  if (group->files[WINDOW] >= 0)
    close(group->files[WINDOW]);
  group->files[WINDOW] = -1;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Returns the shared entry for the call that this rank makes at its next synchronization. The
/// caller fills it in.
static call *nextCall(local_group *group, ranks with) { return callOf(group, with, group->table.rank, /*next=*/1); }

/// Publishes the parameters of this rank's call, synchronizes the group, and checks that all its
/// ranks make the same call.
static int32_t begin(local_group *group, ranks with, uint32_t operation, uint64_t bytes) {
  call *own = nextCall(group, with);
  own->operation = operation;
  own->bytes = bytes;
  int32_t code = meet(group, with);
  for (int32_t r = with.first; code == HEWN_OK && r < with.first + with.count; ++r) {
    const call *other = callOf(group, with, r, /*next=*/0);
    if (other->operation != operation || other->bytes != bytes)
      code = failAll(group, "ranks {a} and {b} make different calls: do their inputs have different shapes?",
                     group->table.rank < r ? group->table.rank : r, group->table.rank < r ? r : group->table.rank);
  }
  return code;
}

/// Returns true if the given ranks exist in the group and include this rank.
static int areMine(local_group *group, ranks with) {
  int32_t rank = group->table.rank;
  return with.first >= 0 && with.count > 0 && with.first <= rank && rank - with.first < with.count &&
         with.count <= group->table.num_ranks - with.first;
}

/// Copies data that is not in the arena to the staging region, where other ranks can read it.
static int32_t put(local_group *group, const void *data, uint64_t bytes, place *from) {
  int32_t code = stage(group, bytes);
  if (code != HEWN_OK)
    return code;
  memcpy(group->peers[group->table.rank][STAGING].base, data, bytes);
  from->region = STAGING;
  from->offset = 0;
  return HEWN_OK;
}

/// Gathers small data in the control block. A rank needs no second synchronization, because other
/// ranks overwrite the data only after the next one.
static int32_t gatherFew(local_group *group, ranks with, const void *data, unsigned char *all, size_t bytes) {
  memcpy(nextCall(group, with)->few, data, bytes);
  int32_t code = begin(group, with, GATHERS, bytes);
  for (int32_t r = 0; code == HEWN_OK && r < with.count; ++r)
    memcpy(all + (size_t)r * bytes, callOf(group, with, with.first + r, /*next=*/0)->few, bytes);
  return code;
}

static int32_t allGather(void *user, int32_t first, int32_t count, const void *data, void *all, size_t bytes) {
  local_group *group = begun(user);
  ranks with = {first, count};
  if (!areMine(group, with))
    return failAll(group, "this rank is not one of the {b} ranks from rank {a} on", first, count);
  group->table.moved += (uint64_t)(count - 1) * bytes;
  if (bytes <= FEW_BYTES)
    return gatherFew(group, with, data, all, bytes);
  place *own = &nextCall(group, with)->from;
  int32_t code = inWindow(group, data, bytes, own) ? HEWN_OK : put(group, data, bytes, own);
  if (code == HEWN_OK)
    code = begin(group, with, GATHERS, bytes);
  for (int32_t r = 0; code == HEWN_OK && r < count; ++r) {
    const unsigned char *from = reach(group, first + r, &callOf(group, with, first + r, /*next=*/0)->from, bytes);
    if (!from)
      return HEWN_PEER_FAILED;
    memcpy((unsigned char *)all + (size_t)r * bytes, from, bytes);
  }
  return code == HEWN_OK ? meet(group, with) : code;
}

/// Adds the elements [first, last) of the addends of all ranks, and writes the sum to each rank's
/// result, or only to `keep` if that is not NULL.
static int32_t addPiece(local_group *group, ranks with, int64_t first, int64_t last, DLDataType type, uint64_t bytes,
                        unsigned char *keep) {
  union {
    unsigned char bytes[BLOCK_BYTES];
    double aligns;
  } sum;
  unsigned char *from[MAX_RANKS], *to[MAX_RANKS];
  int32_t ranks = with.count;
  for (int32_t r = 0; r < ranks; ++r) {
    const call *other = callOf(group, with, with.first + r, /*next=*/0);
    if (!(from[r] = reach(group, with.first + r, &other->from, bytes)) ||
        (!keep && !(to[r] = reach(group, with.first + r, &other->to, bytes))))
      return HEWN_PEER_FAILED;
  }
  size_t element = type.bits / 8u;
  int64_t block = (int64_t)(BLOCK_BYTES / element);
  for (int64_t at = first; at < last; at += block) {
    int64_t count = last - at < block ? last - at : block;
    size_t offset = (size_t)at * element, size = (size_t)count * element;
    memcpy(sum.bytes, from[0] + offset, size);
    for (int32_t r = 1; r < ranks; ++r)
      if (hewn_communicator_add(sum.bytes, from[r] + offset, count, type) != HEWN_OK)
        return failAll(group, "elements of {a} bits (DLPack type code {b}) cannot be summed", type.bits, type.code);
    if (keep)
      memcpy(keep + (size_t)(at - first) * element, sum.bytes, size);
    for (int32_t r = 0; !keep && r < ranks; ++r)
      memcpy(to[r] + offset, sum.bytes, size);
  }
  return HEWN_OK;
}

static int32_t allReduce(void *user, int32_t firstRank, int32_t numRanks, const void *data, void *result, int64_t count,
                         DLDataType type) {
  local_group *group = begun(user);
  ranks with = {firstRank, numRanks};
  if (!areMine(group, with))
    return failAll(group, "this rank is not one of the {b} ranks from rank {a} on", firstRank, numRanks);
  call *own = nextCall(group, with);
  uint64_t bytes = (uint64_t)count * (type.bits / 8u);
  int fromHere = inWindow(group, data, bytes, &own->from), toHere = inWindow(group, result, bytes, &own->to);
  if (!fromHere || !toHere) {
    int32_t code = stage(group, 2 * aligned(bytes));
    if (code != HEWN_OK)
      return code;
  }
  unsigned char *staging = group->peers[group->table.rank][STAGING].base;
  if (!fromHere) {
    memcpy(staging, data, bytes);
    own->from.region = STAGING;
    own->from.offset = 0;
  }
  if (!toHere) {
    own->to.region = STAGING;
    own->to.offset = aligned(bytes);
  }
  int32_t code = begin(group, with, ADDS, bytes);
  int32_t rank = group->table.rank - firstRank;
  // The pieces that ranks sum begin at multiples of 64 elements, so that two ranks never write the
  // same cache line.
  int64_t lines = (count + 63) / 64, first = lines * rank / numRanks * 64, last = lines * (rank + 1) / numRanks * 64;
  last = last < count ? last : count;
  if (code == HEWN_OK && first < last) {
    code = addPiece(group, with, first, last, type, bytes, /*keep=*/NULL);
    // Counts the bytes that this rank reads of the other ranks' addends, and the bytes of the sum
    // that it writes to the other ranks.
    group->table.moved += 2 * (uint64_t)(numRanks - 1) * (uint64_t)(last - first) * (type.bits / 8u);
  }
  if (code == HEWN_OK)
    code = meet(group, with);
  if (code == HEWN_OK && !toHere)
    memcpy(result, staging + aligned(bytes), bytes);
  return code;
}

static int32_t reduceScatter(void *user, int32_t firstRank, int32_t numRanks, const void *data, void *result,
                             int64_t count, DLDataType type) {
  local_group *group = begun(user);
  ranks with = {firstRank, numRanks};
  if (!areMine(group, with))
    return failAll(group, "this rank is not one of the {b} ranks from rank {a} on", firstRank, numRanks);
  place *own = &nextCall(group, with)->from;
  uint64_t part = (uint64_t)count * (type.bits / 8u), bytes = part * (uint64_t)numRanks;
  int32_t code = inWindow(group, data, bytes, own) ? HEWN_OK : put(group, data, bytes, own);
  if (code == HEWN_OK)
    code = begin(group, with, SCATTERS, bytes);
  int64_t first = count * (group->table.rank - firstRank);
  if (code == HEWN_OK)
    code = addPiece(group, with, first, first + count, type, bytes, result);
  group->table.moved += (uint64_t)(numRanks - 1) * part;
  return code == HEWN_OK ? meet(group, with) : code;
}

static channel *channelOf(local_group *group, int32_t from, int32_t to) {
  return &group->shared->channels[from * MAX_RANKS + to];
}

static int isPeer(local_group *group, int32_t rank) { return rank >= 0 && rank < group->table.num_ranks; }

static int32_t sendTo(void *user, int32_t to, const void *data, size_t bytes) {
  local_group *group = begun(user);
  if (!isPeer(group, to))
    return failAll(group, "there is no rank {a} to send to", to, 0);
  channel *line = channelOf(group, group->table.rank, to);
  uint32_t state;
  while ((state = __atomic_load_n(&line->state, __ATOMIC_ACQUIRE)) != 1) {
    int32_t code = waitWhile(group, &line->state, state, to);
    if (code != HEWN_OK)
      return code;
  }
  if (line->bytes != bytes)
    return failAll(
        group,
        "rank {a} sends a different number of bytes than rank {b} receives: do their inputs have different shapes?",
        group->table.rank, to);
  unsigned char *into = reach(group, to, &line->to, bytes);
  if (!into)
    return HEWN_PEER_FAILED;
  line->copied = hewn_local_nanoseconds();
  memcpy(into, data, bytes);
  __atomic_store_n(&line->state, 2, __ATOMIC_RELEASE);
  hewn_local_wake(&line->state);
  return HEWN_OK;
}

static int32_t receiveFrom(void *user, int32_t from, void *data, size_t bytes) {
  local_group *group = begun(user);
  if (!isPeer(group, from))
    return failAll(group, "there is no rank {a} to receive from", from, 0);
  channel *line = channelOf(group, from, group->table.rank);
  int here = inWindow(group, data, bytes, &line->to);
  if (!here) {
    int32_t code = stage(group, bytes);
    if (code != HEWN_OK)
      return code;
    line->to.region = STAGING;
    line->to.offset = 0;
  }
  line->bytes = bytes;
  __atomic_store_n(&line->state, 1, __ATOMIC_RELEASE);
  hewn_local_wake(&line->state);
  int64_t begin = group->counts ? hewn_local_nanoseconds() : 0;
  int32_t code = sleepWhile(group, &line->state, 1, from);
  if (code != HEWN_OK)
    return code;
  // counts the wait for the sender, which copies during the rest of the time
  if (group->counts && line->copied > begin)
    group->table.waited += line->copied - begin;
  if (!here)
    memcpy(data, group->peers[group->table.rank][STAGING].base, bytes);
  group->table.moved += bytes;
  __atomic_store_n(&line->state, 0, __ATOMIC_RELEASE);
  hewn_local_wake(&line->state);
  return HEWN_OK;
}

static void abandon(void *user, const char *why) {
  local_group *group = user;
  (void)why; // this rank's own status contains the reason
  failAll(group, "a run of rank {a} has failed", group->table.rank, 0);
}

static const char *message(void *user) { return ((local_group *)user)->text; }

static int32_t check(void *user) {
  local_group *group = user;
  if (__atomic_load_n(&group->shared->failed, __ATOMIC_ACQUIRE))
    return failToo(group);
  int64_t time = hewn_local_milliseconds();
  if (time - group->looked < LOOK_MILLISECONDS)
    return HEWN_OK;
  group->looked = time;
  int32_t gone = hewn_local_find_gone(group->shared, group->table.num_ranks, group->table.rank);
  return gone >= 0 ? failAll(group, "rank {a} has exited", gone, 0) : HEWN_OK;
}

static void destroy(void *user) {
  local_group *group = user;
  __atomic_store_n(&mine(group)->left, 1, __ATOMIC_RELEASE);
  for (int32_t r = 0; r < group->table.num_ranks; ++r)
    for (int which = 0; which < REGIONS; ++which)
      unmap(&group->peers[r][which]);
  for (int which = 0; which < REGIONS; ++which)
    if (group->files[which] >= 0)
      close(group->files[which]);
  munmap(group->shared, sizeof(control));
  munmap(group, sizeof(local_group));
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static hewn_status failCreate(int32_t code, const char *why) {
  hewn_status status = {code, why};
  return status;
}

static int isName(const char *name) {
  size_t length = name ? strlen(name) : 0;
  if (length == 0 || length > MAX_NAME)
    return 0;
  return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == length;
}

hewn_status hewn_local_communicator_create(const char *name, int32_t rank, int32_t num_ranks, int64_t milliseconds,
                                           hewn_communicator **communicator) {
  if (!communicator)
    return failCreate(HEWN_INVALID_ARGUMENT, "the communicator pointer is NULL");
  *communicator = NULL;
  if (!isName(name))
    return failCreate(HEWN_INVALID_ARGUMENT, "the name of a group must have 1 to 128 letters, digits, - and _");
  if (num_ranks < 1 || num_ranks > MAX_RANKS || rank < 0 || rank >= num_ranks)
    return failCreate(HEWN_INVALID_ARGUMENT, "a group must have 1 to 64 ranks, numbered from 0");
  if (milliseconds < 0)
    return failCreate(HEWN_INVALID_ARGUMENT, "the time limit is negative");
  int saved = errno;
  char path[MAX_NAME + 8];
  memcpy(path, "/hewn-", 6);
  memcpy(path + 6, name, strlen(name) + 1);
  int64_t wait = milliseconds ? milliseconds : DEFAULT_MILLISECONDS, start = hewn_local_milliseconds();
  int64_t deadline = wait > INT64_MAX - start ? INT64_MAX : start + wait;
  hewn_status status = failCreate(HEWN_OK, "");
  void *memory = mmap(NULL, sizeof(local_group), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  local_group *group = memory == MAP_FAILED ? NULL : memory;
  control *shared = group ? hewn_local_enter(path, rank, num_ranks, deadline, &status) : NULL;
  errno = saved;
  if (!group)
    return failCreate(HEWN_OUT_OF_MEMORY, "out of memory for a communicator");
  if (!shared) {
    munmap(group, sizeof(local_group));
    return status;
  }
  hewn_communicator table = {sizeof(hewn_communicator),
                             rank,
                             num_ranks,
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
                             check,
                             0};
  group->table = table;
  group->shared = shared;
  group->milliseconds = wait;
  group->files[WINDOW] = group->files[STAGING] = -1;
  // Spins only if each rank has a CPU, because only then the awaited ranks are running and arrive
  // soon.
  group->spins = sysconf(_SC_NPROCESSORS_ONLN) >= num_ranks;
  *communicator = &group->table;
  return status;
}
