// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_RANKS_LOCAL_H
#define HEWN_RUNTIME_RANKS_LOCAL_H

/// \file
/// The shared control block of a group of ranks on one machine, and functions to join the group.

#include "hewn/communicator.h"

#define MAX_RANKS 64
#define MAX_NAME 128
#define WHY_BYTES 200
#define FEW_BYTES 2048
#define SLICE_NANOSECONDS 20000000
// Interval between two checks of a waiting rank for exited ranks. A check needs a system call per
// rank.
#define LOOK_MILLISECONDS 100

/// Memory of a rank that other ranks map. `generation` changes with each new file.
typedef struct region {
  uint32_t generation;
  int32_t file;
  uint64_t bytes;
} region;

enum { WINDOW, STAGING, REGIONS };

/// A position in a rank's memory that other ranks can map.
typedef struct place {
  uint32_t region;
  uint32_t reserved;
  uint64_t offset;
} place;

enum operation { ADDS = 1, GATHERS = 2, SCATTERS = 3 };

/// Parameters of the collective operation that a rank has called. The rank writes them to shared
/// memory before the ranks synchronize, and the other ranks read them until the next
/// synchronization.
typedef struct call {
  uint32_t operation;
  uint32_t reserved;
  uint64_t bytes;
  place from, to;
  unsigned char few[FEW_BYTES]; ///< data of a gather of at most this size
} call;

typedef struct slot {
  uint32_t joined;
  int32_t process;
  uint64_t started; ///< start time of the process: its id may be reused
  uint32_t left;
  /// Number of synchronizations that this rank has reached: with all ranks, and with its smaller
  /// group.
  uint32_t at[2];
  region regions[REGIONS];
  /// The rank's calls, indexed by the group (all ranks, or the smaller group) and by the parity of
  /// the synchronization's number. Two entries suffice: a rank that reaches a synchronization has
  /// read the calls of the previous one, so they may be overwritten.
  call calls[2][2];
} slot;

/// Channel for messages from one rank to another. Its `state` is 0, then 1 when the receiver has
/// set the destination, then 2 when the sender has written the data.
typedef struct channel {
  uint32_t state;
  uint32_t reserved;
  uint64_t bytes;
  place to;
  int64_t copied; ///< time in nanoseconds at which the sender started to copy (the clock is common)
} channel;

typedef struct control {
  uint32_t magic;
  int32_t num_ranks;
  uint32_t attached;
  uint32_t failed; ///< 1 while a rank writes `why`, 2 when it is written
  char why[WHY_BYTES];
  slot slots[MAX_RANKS];
  channel channels[MAX_RANKS * MAX_RANKS];
} control;

/// Returns the time of CLOCK_MONOTONIC, which is the same in all processes of the machine.
int64_t hewn_local_nanoseconds(void);
int64_t hewn_local_milliseconds(void);
/// Returns a rank of the group, other than `but`, whose process has exited, or -1.
int32_t hewn_local_find_gone(const control *shared, int32_t ranks, int32_t but);
/// Wakes all ranks that sleep on the word.
void hewn_local_wake(uint32_t *word);
/// Creates the shared control block (rank 0) or finds it, registers this rank, and waits for all
/// other ranks until `deadline` (in milliseconds). Returns NULL on failure, with the reason in
/// `*status`. `path` is the block's name for shm_open.
control *hewn_local_enter(const char *path, int32_t rank, int32_t count, int64_t deadline, hewn_status *status);

#endif // HEWN_RUNTIME_RANKS_LOCAL_H
