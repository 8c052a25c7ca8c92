// SPDX-License-Identifier: Apache-2.0
// How the ranks of a group of one machine come together: rank 0 makes the block of
// control words that all map, the others wait for it, and all for each other.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ranks/local.h"
#include "ranks/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/// Whether a rank that has come is gone.
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

/// Maps the block of control words that is at `path` now; NULL: there is none, or none that this rank may take for its group's.
static control *mapControl(const char *path) {
  int file = shm_open(path, O_RDWR | O_CLOEXEC, 0600);
  struct stat info;
  void *base = MAP_FAILED;
  if (file < 0)
    return NULL;
  // One of another user's is none of ours, whatever its name.
  if (fstat(file, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 077) == 0 &&
      (size_t)info.st_size == sizeof(control))
    base = mmap(NULL, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return base == MAP_FAILED ? NULL : base;
}

/// Whether rank 0 has made it and is there.
static int isAlive(const control *shared) {
  return __atomic_load_n(&shared->magic, __ATOMIC_ACQUIRE) == MAGIC && !isGone(&shared->slots[0]);
}

static void present(control *shared, int32_t rank) {
  slot *own = &shared->slots[rank];
  own->process = (int32_t)getpid();
  own->started = hewn_process_start(own->process);
  __atomic_store_n(&own->joined, 2, __ATOMIC_RELEASE);
}

/// Rank 0 makes the block. One that a rank 0 left behind which was killed before all had come is taken away. NULL: `*status` says why.
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
    *status = errno == EEXIST ? failCreate(HEWN_INVALID_ARGUMENT, "there is a group of ranks by that name already")
                              : failCreate(HEWN_IO, "memory that ranks share can't be made (shm_open)");
    return NULL;
  }
  void *base = MAP_FAILED;
  if (posix_fallocate(file, 0, (off_t)sizeof(control)) == 0)
    base = mmap(NULL, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (base == MAP_FAILED) {
    shm_unlink(path);
    *status = failCreate(HEWN_OUT_OF_MEMORY, "there is no memory that ranks share (/dev/shm)");
    return NULL;
  }
  control *shared = base;
  shared->num_ranks = count;
  present(shared, 0);
  __atomic_store_n(&shared->magic, MAGIC, __ATOMIC_RELEASE);
  return shared;
}

/// The other ranks wait for it.
static control *awaitControl(const char *path, int64_t deadline, hewn_status *status) {
  struct timespec pause = {0, 2000000};
  for (;;) {
    control *shared = mapControl(path);
    if (shared && isAlive(shared))
      return shared;
    if (shared)
      munmap(shared, sizeof(control));
    if (hewn_local_milliseconds() >= deadline) {
      *status = failCreate(HEWN_PEER_FAILED, "rank 0 of the group has not come in time");
      return NULL;
    }
    nanosleep(&pause, NULL);
  }
}

/// Takes this rank's place and waits for all others.
static hewn_status join(control *shared, int32_t rank, int32_t count, int64_t deadline) {
  if (shared->num_ranks != count)
    return failCreate(HEWN_INVALID_ARGUMENT, "ranks of the group do not agree in how many they are");
  slot *own = &shared->slots[rank];
  uint32_t expected = 0;
  if (rank > 0) {
    if (!__atomic_compare_exchange_n(&own->joined, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return failCreate(HEWN_INVALID_ARGUMENT, "two processes say that they are the same rank of the group");
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
      return isLate ? failCreate(HEWN_PEER_FAILED, "not all ranks of the group have come in time")
                    : failCreate(HEWN_PEER_FAILED, "a rank of the group was gone before all had come");
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
    shm_unlink(path); // all have it, or nobody will
  if (status->code == HEWN_OK)
    return shared;
  munmap(shared, sizeof(control));
  return NULL;
}
