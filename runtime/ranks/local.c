// SPDX-License-Identifier: Apache-2.0
// Communicators of processes of one machine, by shared memory.
//
// A group has a block of control words that all ranks map. A rank's arena is a
// file in memory (memfd) that others open by its number in /proc and map when
// they first need it, so that nothing of it is left behind by a process that is
// killed; the block's name is taken away when all have come. What is not in the arena (an output in the caller's memory) goes through
// a second such file.
//
// A sum: each rank says where its addend lies and where it wants the sum; all
// meet; rank r adds up the r-th piece of all addends, in the order of the ranks, and
// writes it to where each one wants it (or keeps it, where each wants its own); all
// meet. Two meetings, and no byte is copied that is not read or written for the sum itself.
// A gather of few bytes has them in the block, and one meeting.
//
// Whoever waits sleeps on a word (a futex), wakes now and then to see whether the
// group has failed, whether somebody is gone, and whether it has waited too long.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ranks/local.h"
#include "context.h"
#include "hewn/communicator.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_MILLISECONDS 30000
#define BLOCK_BYTES 16384
/// How long a rank spins before it sleeps, and the rounds between two looks at the clock.
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
  int spins;                         ///< before it sleeps
  int counts;                        ///< of the call that it is in: how long it waits is to be told
  mapping peers[MAX_RANKS][REGIONS]; ///< a rank's own among them
  int files[REGIONS];
  char text[WHY_BYTES + 64];
} local_group;

//===----------------------------------------------------------------------===//
// Failing and waiting
//===----------------------------------------------------------------------===//

/// Text with the numbers in place of two marks "{a}" and "{b}"; what does not fit is cut off.
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

/// Fails for all ranks; whoever is first says why.
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

/// The group has failed: what this rank says of it.
static int32_t failToo(local_group *group) {
  // Whoever writes why may be gone meanwhile.
  for (int i = 0; i < 1000 && __atomic_load_n(&group->shared->failed, __ATOMIC_ACQUIRE) != 2; ++i)
    sched_yield();
  if (__atomic_load_n(&group->shared->failed, __ATOMIC_ACQUIRE) == 2)
    memcpy(group->text, group->shared->why, WHY_BYTES);
  else
    say(group->text, sizeof(group->text), "another rank has failed", 0, 0);
  group->text[WHY_BYTES - 1] = '\0';
  return HEWN_PEER_FAILED;
}

/// `what` has a place for the error's number.
static int32_t failHere(local_group *group, int32_t code, const char *what, int error) {
  failAll(group, "rank {a} has no memory that others reach", group->table.rank, 0);
  say(group->text, sizeof(group->text), what, error, 0);
  return code;
}

/// A call begins.
static local_group *begun(void *user) {
  local_group *group = user;
  group->counts = group->table.waited < 0;
  if (group->counts)
    group->table.waited = 0;
  return group;
}

/// Whether `*word` is another one than `value` before it is worthwhile to sleep. Now and then this yields, ever more rarely: the rank that
/// we wait for may be ready to run on this very processor, where its wake-up has put it behind us, and would be there only when we sleep.
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

/// Waits while `*word` is `value`; `whom` is who changes it.
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
      // It may have done its part before.
      if (gone >= 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
        return failAll(group, "rank {a} is gone", gone, 0);
      looked = time;
    }
    if (time - begin >= group->milliseconds)
      return failAll(group, "rank {a} has not come within {b} ms", whom, group->milliseconds);
    syscall(SYS_futex, word, FUTEX_WAIT, value, &slice, NULL, 0);
  }
  return HEWN_OK;
}

/// The same; how long it takes is counted where somebody wants to know it.
static int32_t waitWhile(local_group *group, uint32_t *word, uint32_t value, int32_t whom) {
  if (!group->counts)
    return sleepWhile(group, word, value, whom);
  int64_t from = hewn_local_nanoseconds();
  int32_t code = sleepWhile(group, word, value, whom);
  group->table.waited += hewn_local_nanoseconds() - from;
  return code;
}

/// So many ranks from the first one on. A rank meets all, and, where they are fewer, always the same others.
typedef struct ranks {
  int32_t first, count;
} ranks;

static int whichOf(const local_group *group, ranks with) { return with.count != group->table.num_ranks; }

/// What `rank`, one of these, says at this rank's last meeting with them, or, `next`, at the next one.
static call *callOf(local_group *group, ranks with, int32_t rank, int next) {
  int which = whichOf(group, with);
  uint32_t step = mine(group)->at[which] + (uint32_t)next;
  return &group->shared->slots[rank].calls[which][step & 1];
}

/// All of them have come to it when it returns for one.
static int32_t meet(local_group *group, ranks with) {
  if (__atomic_load_n(&group->shared->failed, __ATOMIC_ACQUIRE))
    return failToo(group);
  int which = whichOf(group, with);
  uint32_t *own = &mine(group)->at[which];
  uint32_t step = __atomic_add_fetch(own, 1, __ATOMIC_ACQ_REL);
  hewn_local_wake(own);
  for (int32_t r = with.first; r < with.first + with.count; ++r) {
    uint32_t *at = &group->shared->slots[r].at[which], seen;
    // One that is ahead by one has left this meeting already.
    while ((int32_t)((seen = __atomic_load_n(at, __ATOMIC_ACQUIRE)) - step) < 0) {
      int32_t code = waitWhile(group, at, seen, r);
      if (code != HEWN_OK)
        return code;
    }
  }
  return HEWN_OK;
}

//===----------------------------------------------------------------------===//
// Memory that others reach
//===----------------------------------------------------------------------===//

static void unmap(mapping *map) {
  if (map->base)
    munmap(map->base, map->bytes);
  map->base = NULL;
  map->bytes = 0;
}

/// A new file for one of this rank's regions, mapped.
static int32_t makeRegion(local_group *group, int which, size_t bytes) {
  mapping *map = &group->peers[group->table.rank][which];
  region *own = &mine(group)->regions[which];
  unmap(map);
  if (group->files[which] >= 0)
    close(group->files[which]);
  int file = group->files[which] = memfd_create("hewn", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0)
    return failHere(group, HEWN_OUT_OF_MEMORY, "memory that other ranks reach can't be made: errno {a}", errno);
  // Taken now: where there is too little, a store into it would end the process.
  int error = posix_fallocate(file, 0, (off_t)bytes);
  if (error)
    return failHere(group, HEWN_OUT_OF_MEMORY, "there is too little memory that other ranks reach: errno {a}", error);
  (void)fcntl(file, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL); // others need not fear that it gets shorter
  void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED)
    return failHere(group, HEWN_OUT_OF_MEMORY, "memory that other ranks reach can't be mapped: errno {a}", errno);
  map->base = base;
  map->bytes = bytes;
  map->generation = own->generation + 1;
  own->file = file;
  own->bytes = bytes;
  __atomic_store_n(&own->generation, map->generation, __ATOMIC_RELEASE);
  return HEWN_OK;
}

/// Where a rank's place is in this process: `bytes` of it. NULL after a failure. The rank must be in the same call.
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
    if (file >= 0 && fstat(file, &status) == 0 && status.st_uid == geteuid() &&
        (uint64_t)status.st_size >= theirs->bytes)
      base = mmap(NULL, theirs->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
      close(file);
    if (base == MAP_FAILED) {
      failAll(group, "rank {a} can't reach the memory of rank {b}: are they processes of one user?", group->table.rank,
              rank);
      return NULL;
    }
    map->base = base;
    map->bytes = theirs->bytes;
    map->generation = generation;
  }
  if (where->offset > map->bytes || bytes > map->bytes - where->offset) {
    failAll(group, "rank {a} tells of memory that rank {b} does not have", group->table.rank, rank);
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

/// Room in the second region.
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

/// This rank's own at the next meeting, for it to say what it does.
static call *nextCall(local_group *group, ranks with) { return callOf(group, with, group->table.rank, /*next=*/1); }

/// Says what this rank does, and sees whether all do the same.
static int32_t begin(local_group *group, ranks with, uint32_t operation, uint64_t bytes) {
  call *own = nextCall(group, with);
  own->operation = operation;
  own->bytes = bytes;
  int32_t code = meet(group, with);
  for (int32_t r = with.first; code == HEWN_OK && r < with.first + with.count; ++r) {
    const call *other = callOf(group, with, r, /*next=*/0);
    if (other->operation != operation || other->bytes != bytes)
      code = failAll(group, "ranks {a} and {b} do not do the same: were they given inputs of other shapes?",
                     group->table.rank < r ? group->table.rank : r, group->table.rank < r ? r : group->table.rank);
  }
  return code;
}

/// Whether this rank is one of them.
static int areMine(local_group *group, ranks with) {
  int32_t rank = group->table.rank;
  return with.first >= 0 && with.count > 0 && with.first <= rank && rank - with.first < with.count &&
         with.count <= group->table.num_ranks - with.first;
}

/// What lies elsewhere goes to the second region, for others to read it there.
static int32_t put(local_group *group, const void *data, uint64_t bytes, place *from) {
  int32_t code = stage(group, bytes);
  if (code != HEWN_OK)
    return code;
  memcpy(group->peers[group->table.rank][STAGING].base, data, bytes);
  from->region = STAGING;
  from->offset = 0;
  return HEWN_OK;
}

/// A gather that is over for a rank when it has what others have said, wherever these are by then.
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
    return failAll(group, "ranks from {a} on, {b} of them, are not this rank's", first, count);
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

/// Adds up elements [first, last) of all ranks, and gives each the sum; where `keep` is not NULL, this rank has it there alone.
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
        return failAll(group, "elements of {a} bits (DLPack's type {b}) can't be added", type.bits, type.code);
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
    return failAll(group, "ranks from {a} on, {b} of them, are not this rank's", firstRank, numRanks);
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
  // Pieces begin at multiples of a line of 64 elements: neighbours write no line together.
  int64_t lines = (count + 63) / 64, first = lines * rank / numRanks * 64, last = lines * (rank + 1) / numRanks * 64;
  last = last < count ? last : count;
  if (code == HEWN_OK && first < last) {
    code = addPiece(group, with, first, last, type, bytes, /*keep=*/NULL);
    // The others' addends come here, and the sum goes to the others.
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
    return failAll(group, "ranks from {a} on, {b} of them, are not this rank's", firstRank, numRanks);
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
    return failAll(group,
                   "rank {a} sends as many bytes as rank {b} does not want: were they given inputs of other shapes?",
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
  if (group->counts && line->copied > begin) // the sender moves the bytes meanwhile
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
  (void)why; // it is told by this rank's own status
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
  return gone >= 0 ? failAll(group, "rank {a} is gone", gone, 0) : HEWN_OK;
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
// Making a group
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
    return failCreate(HEWN_INVALID_ARGUMENT, "a group's name is of up to 128 letters, digits, - and _");
  if (num_ranks < 1 || num_ranks > MAX_RANKS || rank < 0 || rank >= num_ranks)
    return failCreate(HEWN_INVALID_ARGUMENT, "a group has 1 to 64 ranks, counted from 0 on");
  if (milliseconds < 0)
    return failCreate(HEWN_INVALID_ARGUMENT, "the time to wait is negative");
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
  // Where each rank has a processor, the others come soon.
  group->spins = sysconf(_SC_NPROCESSORS_ONLN) >= num_ranks;
  *communicator = &group->table;
  return status;
}
