// SPDX-License-Identifier: Apache-2.0
//
// State of the kernel that runs, shared by the scheduler (Machine.cpp) and the functions that
// kernels call (Calls.cpp).
#ifndef HEWN_TEST_EMULATOR_DRIVER_RUN_H
#define HEWN_TEST_EMULATOR_DRIVER_RUN_H

#include "test/Emulator/Driver/Machine.h"
#include "test/Emulator/Driver/Mbarriers.h"
#include "test/Emulator/Driver/Races.h"
#include "test/Emulator/Driver/Warp.h"

namespace emulator {

enum class State { Ready, AtBarrier, AtMeeting, AtMbarrier, AtCounter, Done };

/// A pending asynchronous copy to shared memory.
struct Copy {
  char *to;
  const char *from;
  int32_t bytes, present;
  int64_t group;
};

struct Fiber {
  void *stack = nullptr; // saved stack pointer
  State state = State::Done;
  /// Return address of the call in which this thread waits for others.
  const void *place = nullptr;
  /// Number of the barrier at which this thread waits, and the number of threads that the barrier
  /// expects.
  int32_t barrier = 0;
  int64_t comers = 0;
  Meeting meeting;
  std::vector<Copy> copies;
  /// Number of copy groups that this thread has committed.
  int64_t groups = 0;
  /// `published`: a proxy fence follows all writes of the thread. `visible`: value of `published`
  /// at the last barrier. `speaks`: whether all lanes were `published` at the last warp barrier;
  /// the thread passes this on when it arrives at an mbarrier. `told`: whether all arrivals of the
  /// mbarrier phase that the thread waited for last were published.
  bool published = false, visible = false, speaks = false, told = false;
  /// The mbarrier and the parity for which this thread waits.
  int64_t mbarrier = 0;
  int32_t parity = 0;
  /// Number of registers that the thread has requested by setmaxnreg, or 0 if it has made no
  /// request.
  int32_t registers = 0;
};

struct Run {
  const Kernel *kernel = nullptr;
  const uint64_t *arguments = nullptr;
  int64_t block = 0, blocks = 0, threads = 0, current = 0;
  std::vector<Fiber> fibers;
  std::vector<GroupWarp> groups;
  std::unique_ptr<Mbarriers> mbarriers;
  /// The race detector, or null if race detection is off.
  std::unique_ptr<Races> races;
  std::unique_ptr<BlockRaces> order;
  /// `together` is true in a cooperative launch. `changes` counts the updates of counters in global
  /// memory.
  bool together = false;
  uint64_t changes = 0;
  /// Index of the running block among the interleaved ones. `paused` is true if the block yields
  /// although some of its threads could continue.
  int64_t slot = 0;
  bool paused = false;
  void *scheduler = nullptr;
  uint64_t random = 88172645463325252u;
  Schedule schedule = Schedule::Forward;
  /// Text of the first error in any thread, or an empty string.
  std::string problem;
};

extern thread_local Run run;

/// Suspends the current thread in `state`, until the scheduler resumes it.
void leave(State state);
uint64_t nextRandom();
/// Returns true if the next asynchronous operation (copy, TMA load or warpgroup MMA) completes at
/// once, false if it completes when a thread waits for it.
bool isEarly();
/// Records an error of the kernel that runs, unless an earlier error is recorded already.
void note(const std::string &problem);
/// Returns true if the mbarrier phase for which the thread waits has completed.
bool passesMbarrier(Fiber &fiber);

} // namespace emulator

#endif
