// SPDX-License-Identifier: Apache-2.0
//
// What the kernel that runs is at: for what lets its threads take turns (Machine.cpp), and what they call (Calls.cpp).
#ifndef HEWN_TEST_EMULATOR_DRIVER_RUN_H
#define HEWN_TEST_EMULATOR_DRIVER_RUN_H

#include "test/Emulator/Driver/Machine.h"
#include "test/Emulator/Driver/Mbarriers.h"
#include "test/Emulator/Driver/Races.h"
#include "test/Emulator/Driver/Warp.h"

namespace emulator {

enum class State { Ready, AtBarrier, AtMeeting, AtMbarrier, AtCounter, Done };

/// A copy to shared memory that is on its way.
struct Copy {
  char *to;
  const char *from;
  int32_t bytes, present;
  int64_t group;
};

struct Fiber {
  void *stack = nullptr; // where it was left
  State state = State::Done;
  /// Where in the kernel's code it waits for others.
  const void *place = nullptr;
  /// The barrier that it waits at, and how many threads come there.
  int32_t barrier = 0;
  int64_t comers = 0;
  Meeting meeting;
  std::vector<Copy> copies;
  /// Groups of copies that are closed.
  int64_t groups = 0;
  /// Whether all that it has written is for groups; whether it was at the last barrier; whether it was of all threads of its warp when
  /// they met, for which it may speak at a mbarrier; whether all have who came to the mbarrier where it has waited last.
  bool published = false, visible = false, speaks = false, told = false;
  /// The mbarrier where it waits, and for what.
  int64_t mbarrier = 0;
  int32_t parity = 0;
  /// What it has said that it needs; 0: nothing.
  int32_t registers = 0;
};

struct Run {
  const Kernel *kernel = nullptr;
  const uint64_t *arguments = nullptr;
  int64_t block = 0, blocks = 0, threads = 0, current = 0;
  std::vector<Fiber> fibers;
  std::vector<GroupWarp> groups; // of each warp
  std::unique_ptr<Mbarriers> mbarriers;
  /// Null where nobody looks for races.
  std::unique_ptr<Races> races;
  std::unique_ptr<BlockRaces> order;
  /// Whether all blocks run at once, and how often their counters have changed.
  bool together = false;
  uint64_t changes = 0;
  /// Of the blocks that take turns, the one whose turn it is; whether its turn has ended, with threads that could go on.
  int64_t slot = 0;
  bool paused = false;
  void *scheduler = nullptr;
  uint64_t random = 88172645463325252u;
  Schedule schedule = Schedule::Forward;
  /// What a thread has done that it must not.
  std::string problem;
};

extern thread_local Run run;

/// Lets others go on, until this thread may.
void leave(State state);
uint64_t nextRandom();
/// Whether what is asynchronous is done at once, or not before it is waited for.
bool isEarly();
/// Keeps the first problem.
void note(const std::string &problem);
/// Whether a thread that waits at a mbarrier may go on.
bool passesMbarrier(Fiber &fiber);

} // namespace emulator

#endif
