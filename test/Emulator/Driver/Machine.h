// SPDX-License-Identifier: Apache-2.0
//
// Runs GPU kernels on the CPU and checks their synchronization. Each thread is a fiber. Blocks run
// one after another; blocks that wait for each other are interleaved.
#ifndef HEWN_TEST_EMULATOR_DRIVER_MACHINE_H
#define HEWN_TEST_EMULATOR_DRIVER_MACHINE_H

#include "test/Emulator/Driver/Group.h"

#include <memory>
#include <string>
#include <vector>

namespace emulator {

/// Order in which threads run, and whether asynchronous copies complete early or late. The results
/// of a program without races do not depend on it.
enum class Schedule { Forward, Backward, Random };

/// A GPU kernel that the emulator has compiled to machine code of the CPU.
struct Kernel {
  void (*call)(const uint64_t *arguments);
  /// Kind of each argument of the kernel: a value, a device address, or a tensor map.
  enum class Argument { Value, Pointer, Tensor };
  std::vector<Argument> parameters;
  std::vector<SharedMemory> shared;
  /// True if threads of the kernel wait for each other. Otherwise they run one after another,
  /// without fibers.
  bool synchronizes = false;
  /// True if the kernel uses counters in global memory. Then several blocks are interleaved;
  /// otherwise blocks run one after another.
  bool counts = false;

  uint64_t sharedBytes() const {
    uint64_t bytes = 0;
    for (const SharedMemory &memory : shared)
      bytes += memory.bytes;
    return bytes;
  }
};

/// Returns true if race detection is on (Races.h).
bool looksForRaces();

/// Runs all blocks of a launch. `together` is true for a cooperative launch, in which all blocks
/// run concurrently. Returns an error text, or an empty string on success. Errors are deadlocks and
/// barriers that not all threads or blocks reach.
std::string runGrid(const Kernel &kernel, int64_t blocks, int64_t threads, const uint64_t *arguments, Schedule schedule,
                    bool together = false);

/// The compiled kernel calls this function before a memory access whose address is less aligned
/// than its instruction claims. A device would end the kernel.
void gpuMisaligned(int32_t alignment);
/// The compiled kernel calls these functions before each memory access if race detection is on.
/// `gpuStore` also gets the stored bits.
void gpuAccess(int64_t at, int64_t bytes, int32_t writes);
void gpuStore(int64_t at, int64_t bytes, uint64_t value);
/// The following functions implement instructions of kernels. The mask and width of a shuffle
/// always cover the full warp.
int32_t gpuThread();
int32_t gpuBlock();
int32_t gpuBlocks();
void gridBarrier(int32_t number);
void gridBarrierSome(int32_t number, int32_t threads);
int32_t gpuCounterAdd(int64_t at, int32_t more);
/// Adds to a counter. The kernel does not use the result, so the addition is a release without an
/// acquire.
int32_t gpuCounterRelease(int64_t at, int32_t more);
/// Reads a counter. Called only in a cooperative launch. The thread yields to other blocks before
/// it reads.
int32_t gpuCounterRead(int64_t at);
int32_t gpuCounterPeek(int64_t at);
float gpuExp2(float x);
int32_t gpuShuffle(int32_t mask, int32_t value, int32_t laneXor, int32_t width);
/// Executes a warp-level MMA. `bits`: 32 for float32, 16 for float16, -16 for bfloat16,
/// kProductOfBytes for integers (+ 1 if the left operand is signed, + 2 if the right one is).
/// `factors`: four registers of the left matrix and two of the right one. `sums`: four
/// accumulators, int32 or float.
constexpr int32_t kProductOfBytes = 80;
void gpuProduct(int32_t bits, const int32_t *factors, void *sums);
/// Executes ldmatrix. `from`: address of this lane's row.
void gpuLdmatrix(int64_t from, int32_t turned, int32_t *words);
/// Asynchronous copies complete as late as possible under Schedule::Forward, and at once under
/// Schedule::Backward.
void gpuCopy(int64_t to, int64_t from, int32_t present, int32_t bytes);
void gpuPrefetch(int64_t at);
void gpuCopiesClose();
void gpuCopiesWait(int32_t open);
/// Executes a warpgroup MMA. Bits of `form`: 0 bfloat16; 3 float32; 4 integers; 1 and 2 if the left
/// and the right matrix is K-major; 5 and 6 if the left and the right integers are signed. `sums`:
/// `columns / 2` accumulators, which are overwritten by NaNs that identify the pending result.
void gpuGroupProduct(int64_t left, int64_t right, int64_t leftForm, int64_t rightForm, int32_t form, int32_t columns,
                     float *sums);
void gpuGroupProductWords(int32_t word0, int32_t word1, int32_t word2, int32_t word3, int64_t right, int64_t rightForm,
                          int32_t form, int32_t columns, float *sums);
void gpuGroupWait(int32_t open, int32_t columns, float *sums);
void gpuWarpBarrier(int32_t mask);
void gpuGroupBegin();
void gpuGroupClose();
void gpuGroupPublish();
void gpuMbarrierInit(int64_t mbarrier, int32_t arrivals);
void gpuMbarrierInitFence();
void gpuMbarrierArrive(int64_t mbarrier);
void gpuMbarrierExpect(int64_t mbarrier, int32_t bytes);
void gpuMbarrierWait(int64_t mbarrier, int32_t parity);
void gpuFetch2(int64_t to, const void *tensor, int32_t x, int32_t y, int64_t mbarrier);
void gpuFetch3(int64_t to, const void *tensor, int32_t x, int32_t y, int32_t z, int64_t mbarrier);
void gpuRegisters(int32_t count);

} // namespace emulator

#endif
