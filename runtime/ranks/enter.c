// SPDX-License-Identifier: Apache-2.0
// Joins a group of ranks on one machine: rank 0 creates the shared control block, the other ranks
// wait for it, and then all ranks wait for each other.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "platform/posix/system.h"
#include "ranks/local.h"
#include "ranks/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x48524e4bu

int64_t hewn_local_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t hewn_local_milliseconds(void) { return hewn_local_nanoseconds() / 1000000; }

/// Returns true if a rank that had joined the group has exited.
static int isGone(const slot *other) {
  if (__atomic_load_n(&other->left, __ATOMIC_ACQUIRE))
    return 1;
  if (__atomic_load_n(&other->joined, __ATOMIC_ACQUIRE) != 2)
    return 0;
  uint64_t start = hewn_process_start(other->process);
  return start != HEWN_PROCESS_UNKNOWN && other->started != HEWN_PROCESS_UNKNOWN && start != other->started;
}

int32_t hewn_local_find_gone(const control *shared, int32_t ranks, int32_t but) {
  for (int32_t r = 0; r < ranks; ++r)
    if (r != but && isGone(&shared->slots[r]))
      return r;
  return -1;
}

void hewn_local_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, MAX_RANKS, NULL, NULL, 0); }

static hewn_status failCreate(int32_t code, const char *why) {
  hewn_status status = {code, why};
  return status;
}

/// Maps the shared control block at `path`. Returns NULL if there is none, or if it cannot belong
/// to this group.
static control *mapControl(const char *path) {
  int file = shm_open(path, O_RDWR | O_CLOEXEC, 0600);
  struct stat info;
  void *base = MAP_FAILED;
  if (file < 0)
    return NULL;
  // Ignores a control block that another user has created, whatever its name.
  if (hewn_sys_fstat(file, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 077) == 0 &&
      (size_t)info.st_size == sizeof(control))
    base = mmap(NULL, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return base == MAP_FAILED ? NULL : base;
}

/// Returns true if rank 0 has initialized the shared control block and is running.
static int isAlive(const control *shared) {
  return __atomic_load_n(&shared->magic, __ATOMIC_ACQUIRE) == MAGIC && !isGone(&shared->slots[0]);
}

static void present(control *shared, int32_t rank) {
  slot *own = &shared->slots[rank];
  own->process = (int32_t)getpid();
  own->started = hewn_process_start(own->process);
  __atomic_store_n(&own->joined, 2, __ATOMIC_RELEASE);
}

/// Creates the shared control block of a group; called by rank 0. Replaces a block whose rank 0 was
/// killed before all ranks had joined. Returns NULL on failure, with the reason in `*status`.
static control *makeControl(const char *path, int32_t count, hewn_status *status) {
  int file = shm_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 && errno == EEXIST) {
    control *before = mapControl(path);
    int isStale = before && __atomic_load_n(&before->magic, __ATOMIC_ACQUIRE) == MAGIC && isGone(&before->slots[0]);
    if (before)
      munmap(before, sizeof(control));
    if (isStale && shm_unlink(path) == 0)
      file = shm_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    else
      errno = EEXIST;
  }
  if (file < 0) {
    *status = errno == EEXIST ? failCreate(HEWN_INVALID_ARGUMENT, "a group with this name exists already")
                              : failCreate(HEWN_IO, "shared memory cannot be created (shm_open)");
    return NULL;
  }
  void *base = MAP_FAILED;
  if (posix_fallocate(file, 0, (off_t)sizeof(control)) == 0)
    base = mmap(NULL, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (base == MAP_FAILED) {
    shm_unlink(path);
    *status = failCreate(HEWN_OUT_OF_MEMORY, "not enough shared memory (/dev/shm)");
    return NULL;
  }
  control *shared = base;
  shared->num_ranks = count;
  present(shared, 0);
  __atomic_store_n(&shared->magic, MAGIC, __ATOMIC_RELEASE);
  return shared;
}

/// Waits until rank 0 has created the control block, and maps it; called by the other ranks.
static control *awaitControl(const char *path, int64_t deadline, hewn_status *status) {
  struct timespec pause = {0, 2000000};
  for (;;) {
    control *shared = mapControl(path);
    if (shared && isAlive(shared))
      return shared;
    if (shared)
      munmap(shared, sizeof(control));
    if (hewn_local_milliseconds() >= deadline) {
      *status = failCreate(HEWN_PEER_FAILED, "rank 0 did not join the group in time");
      return NULL;
    }
    nanosleep(&pause, NULL);
  }
}

/// Registers this rank in the control block and waits until all other ranks are registered.
static hewn_status join(control *shared, int32_t rank, int32_t count, int64_t deadline) {
  if (shared->num_ranks != count)
    return failCreate(HEWN_INVALID_ARGUMENT, "the ranks of the group disagree on the number of ranks");
  slot *own = &shared->slots[rank];
  uint32_t expected = 0;
  if (rank > 0) {
    if (!__atomic_compare_exchange_n(&own->joined, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return failCreate(HEWN_INVALID_ARGUMENT, "two processes have the same rank in the group");
    present(shared, rank);
  }
  __atomic_add_fetch(&shared->attached, 1, __ATOMIC_ACQ_REL);
  hewn_local_wake(&shared->attached);
  struct timespec slice = {0, SLICE_NANOSECONDS};
  uint32_t seen;
  int64_t looked = hewn_local_milliseconds();
  while ((seen = __atomic_load_n(&shared->attached, __ATOMIC_ACQUIRE)) < (uint32_t)count) {
    int64_t time = hewn_local_milliseconds();
    int isLate = time >= deadline, looks = time - looked >= LOOK_MILLISECONDS;
    looked = looks ? time : looked;
    if (isLate || (looks && hewn_local_find_gone(shared, count, rank) >= 0)) {
      __atomic_store_n(&own->left, 1, __ATOMIC_RELEASE);
      return isLate ? failCreate(HEWN_PEER_FAILED, "not all ranks joined the group in time")
                    : failCreate(HEWN_PEER_FAILED, "a rank of the group exited before all ranks had joined");
    }
    syscall(SYS_futex, &shared->attached, FUTEX_WAIT, seen, &slice, NULL, 0);
  }
  return failCreate(HEWN_OK, "");
}

control *hewn_local_enter(const char *path, int32_t rank, int32_t count, int64_t deadline, hewn_status *status) {
  control *shared = rank == 0 ? makeControl(path, count, status) : awaitControl(path, deadline, status);
  if (!shared)
    return NULL;
  *status = join(shared, rank, count, deadline);
  if (rank == 0)
    // unlinks the control block: all ranks have mapped it, or the group has failed
    shm_unlink(path);
  if (status->code == HEWN_OK)
    return shared;
  munmap(shared, sizeof(control));
  return NULL;
}
