// SPDX-License-Identifier: Apache-2.0
//
// Kernels for a grid, run on the CPU: each thread is a fiber, blocks run one after another, or where they wait for each other in
// turns, and what synchronizes threads is checked.
#ifndef HEWN_TEST_EMULATOR_DRIVER_MACHINE_H
#define HEWN_TEST_EMULATOR_DRIVER_MACHINE_H

#include "test/Emulator/Driver/Group.h"

#include <memory>
#include <string>
#include <vector>

namespace emulator {

/// In which order threads take their turns, and when copies land; a program without races does not care.
enum class Schedule { Forward, Backward, Random };

/// A kernel as machine code.
struct Kernel {
  void (*call)(const uint64_t *arguments);
  /// What each argument is: a value, the device's memory, or a tensor's description.
  enum class Argument { Value, Pointer, Tensor };
  std::vector<Argument> parameters;
  std::vector<SharedMemory> shared;
  /// Whether threads wait for each other: if not, they run one after another without fibers.
  bool synchronizes = false;
  /// Whether blocks count something for each other: then some take turns, else they run one after another.
  bool counts = false;

  uint64_t sharedBytes() const {
    uint64_t bytes = 0;
    for (const SharedMemory &memory : shared)
      bytes += memory.bytes;
    return bytes;
  }
};

/// Whether races are looked for (Races.h).
bool looksForRaces();

/// Runs all blocks, `together` or not; an error's text, empty after success: threads or blocks that wait for ever, or meet where not
/// all come.
std::string runGrid(const Kernel &kernel, int64_t blocks, int64_t threads, const uint64_t *arguments, Schedule schedule,
                    bool together = false);

/// Called before an access that is not where its instruction says: it would end the kernel.
void gridMisaligned(int32_t alignment);
/// Called before each access, where races are looked for; of numbers with what is written.
void gridAccess(int64_t at, int64_t bytes, int32_t writes);
void gridStore(int64_t at, int64_t bytes, uint64_t value);
/// What kernels call. The shuffle's mask and width are those of whole warps.
int32_t gridThread();
int32_t gridBlock();
int32_t gridBlocks();
void gridBarrier(int32_t number);
void gridBarrierSome(int32_t number, int32_t threads);
int32_t gridCounterAdd(int64_t at, int32_t more);
/// The same where nobody looks at what it was: a release alone.
int32_t gridCounterRelease(int64_t at, int32_t more);
/// Only where all blocks run: whoever reads lets others go on before.
int32_t gridCounterRead(int64_t at);
int32_t gridCounterPeek(int64_t at);
float gridExp2(float x);
int32_t gridShuffle(int32_t mask, int32_t value, int32_t laneXor, int32_t width);
/// `bits`: 32 for float32, 16 for float16, -16 for bfloat16, of integers kProductOfBytes, + 1 and + 2 where the left and the right ones
/// are signed. `factors`: four words of the left matrix, two of the right one; `sums`: four, which are added to, of int32 or float.
constexpr int32_t kProductOfBytes = 80;
void gridProduct(int32_t bits, const int32_t *factors, void *sums);
/// `from`: where this lane's line is.
void gridLines(int64_t from, int32_t turned, int32_t *words);
/// Copies land as late as they may where threads take their turns forward, as early where backward.
void gridCopy(int64_t to, int64_t from, int32_t present, int32_t bytes);
void gridPrefetch(int64_t at);
void gridCopiesClose();
void gridCopiesWait(int32_t open);
/// `form`: bits 0 and 3, whether elements are bfloat16s, or float32s; 1 and 2, whether the left and the right matrix lie along the sum. `sums`:
/// columns / 2, which become those that are under way.
void gridGroupProduct(int64_t left, int64_t right, int64_t leftForm, int64_t rightForm, int32_t form, int32_t columns,
                      float *sums);
void gridGroupProductWords(int32_t word0, int32_t word1, int32_t word2, int32_t word3, int64_t right, int64_t rightForm,
                           int32_t form, int32_t columns, float *sums);
void gridGroupWait(int32_t open, int32_t columns, float *sums);
void gridWarpBarrier(int32_t mask);
void gridGroupBegin();
void gridGroupClose();
void gridGroupPublish();
void gridMbarrierInit(int64_t mbarrier, int32_t arrivals);
void gridMbarriersReady();
void gridMbarrierArrive(int64_t mbarrier);
void gridMbarrierExpect(int64_t mbarrier, int32_t bytes);
void gridMbarrierWait(int64_t mbarrier, int32_t parity);
void gridFetch2(int64_t to, const void *tensor, int32_t x, int32_t y, int64_t mbarrier);
void gridFetch3(int64_t to, const void *tensor, int32_t x, int32_t y, int32_t z, int64_t mbarrier);
void gridRegisters(int32_t count);

} // namespace emulator

#endif
