// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_RANKS_LOCAL_H
#define HEWN_RUNTIME_RANKS_LOCAL_H

/// \file
/// What the ranks of a group of one machine share: a block of control words, and
/// how a rank comes to it.

#include "hewn/communicator.h"

#define MAX_RANKS 64
#define MAX_NAME 128
#define WHY_BYTES 200
#define FEW_BYTES 2048
#define SLICE_NANOSECONDS 20000000
#define LOOK_MILLISECONDS 100 // between two looks whether ranks are gone, which ask the system of each

/// Memory of a rank that others map. `generation` changes with each new file.
typedef struct region {
  uint32_t generation;
  int32_t file;
  uint64_t bytes;
} region;

enum { WINDOW, STAGING, REGIONS };

/// A place in a rank's memory.
typedef struct place {
  uint32_t region;
  uint32_t reserved;
  uint64_t offset;
} place;

enum operation { ADDS = 1, GATHERS = 2, SCATTERS = 3 };

/// What a rank does from one of its meetings on.
typedef struct call {
  uint32_t operation;
  uint32_t reserved;
  uint64_t bytes;
  place from, to;
  unsigned char few[FEW_BYTES]; ///< of a gather of no more: what the rank has, itself
} call;

typedef struct slot {
  uint32_t joined;
  int32_t process;
  uint64_t started; ///< when the process was: another may have its number later
  uint32_t left;
  uint32_t at[2]; ///< how many meetings it has come to: of all ranks, and of those that it is with
  region regions[REGIONS];
  /// For each of these, by the meeting's number: who comes to one has seen all that others said at the one before, and says what it does in the other
  /// place, which nobody looks at any more.
  call calls[2][2];
} slot;

/// From one rank to another: 0, then 1 where the receiver has said where to, then 2 where all is there.
typedef struct channel {
  uint32_t state;
  uint32_t reserved;
  uint64_t bytes;
  place to;
  int64_t copied; ///< by the sender's clock, which is the receiver's: when it began to copy
} channel;

typedef struct control {
  uint32_t magic;
  int32_t num_ranks;
  uint32_t attached;
  uint32_t failed; ///< 1: somebody writes why; 2: `why` is there
  char why[WHY_BYTES];
  slot slots[MAX_RANKS];
  channel channels[MAX_RANKS * MAX_RANKS];
} control;

/// CLOCK_MONOTONIC's, which all processes of the machine have alike.
int64_t hewn_local_nanoseconds(void);
int64_t hewn_local_milliseconds(void);
/// A rank that is gone; -1: none is.
int32_t hewn_local_find_gone(const control *shared, int32_t ranks, int32_t but);
/// Whoever sleeps on the word.
void hewn_local_wake(uint32_t *word);
/// Makes the block (rank 0) or finds it, takes this rank's place, and waits for all others until `deadline`, in milliseconds. NULL: `*status` says
/// why. `path` is that of shm_open.
control *hewn_local_enter(const char *path, int32_t rank, int32_t count, int64_t deadline, hewn_status *status);

#endif // HEWN_RUNTIME_RANKS_LOCAL_H
