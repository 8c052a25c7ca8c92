// SPDX-License-Identifier: Apache-2.0
//
// Executes warpgroup MMAs (lib/Codegen/GPU/GpuBuilder.h) for one warp at a time: a warp computes 16
// rows of the result.
//
// An MMA is queued when a warp issues it. It is computed when the warp waits for it, or at once
// under a schedule that completes asynchronous work early. Until the wait, the accumulator
// registers hold signalling NaNs that identify the pending result.
#ifndef HEWN_TEST_EMULATOR_DRIVER_GROUP_H
#define HEWN_TEST_EMULATOR_DRIVER_GROUP_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulator {

constexpr int64_t kWarp = 32;

/// A region of a block's shared memory. Filled with 0xff bytes (NaN) before each block.
struct SharedMemory {
  char *address;
  uint64_t bytes;
};

/// Descriptors and types of the operands of a warpgroup MMA.
struct GroupMatrices {
  /// `bits` is the element type of the operands of a warpgroup MMA: 16 is float16, -16 is bfloat16,
  /// 32 is float32, 8 is an integer type. The flags are true for matrices that are contiguous along
  /// K.
  int32_t bits = 0;
  bool leftAlongSum = false, rightAlongSum = false, leftInRegisters = false;
  int64_t left = 0, right = 0, leftForm = 0, rightForm = 0;
  bool leftSigned = false, rightSigned = false;
  bool operator==(const GroupMatrices &) const = default;
};

/// A warpgroup instruction with one thread's operands.
struct GroupStep {
  enum class Kind { Begin, Product, Close, Wait };
  Kind kind = Kind::Begin;
  GroupMatrices matrices;
  /// This thread's registers of the left operand of a warpgroup MMA, if the operand is not in
  /// shared memory.
  int32_t words[4] = {};
  /// For a wait of a warpgroup: the number of commit groups of MMAs that may stay pending.
  int32_t open = 0;
  /// For an MMA and a wait: this thread's `columns / 2` accumulators, which the step overwrites.
  /// Integer accumulators are passed as their bits.
  float *sums = nullptr;
  int32_t columns = 0;
};

class GroupWarp {
public:
  /// Creates the state of warp `warp` of a block. `early` is called for each MMA and returns true
  /// if the MMA is computed at once.
  GroupWarp(int64_t warp, const std::vector<SharedMemory> &shared, bool (*early)())
      : warp(warp), shared(&shared), early(early) {}

  /// Executes the instruction that the 32 lanes have issued. Returns an error text, or an empty
  /// string.
  std::string step(GroupStep *const *lanes);
  /// Returns an error text if the warp may not end now, because MMAs are pending, else an empty
  /// string.
  std::string end() const;
  /// `closed` returns the number of committed groups. `linesOfLast` returns the addresses of the
  /// 16-byte chunks of shared memory that this warp's rows of the newest MMA read.
  int64_t closed() const { return sets; }
  std::vector<uint64_t> linesOfLast() const;
  /// All MMAs that this warp has issued. The four warps of a warpgroup must issue the same ones.
  std::vector<GroupMatrices> history;

private:
  struct Sums {
    int32_t columns;
    std::vector<float> values[kWarp];
    int64_t left = 0; // number of MMAs of the group that are not computed yet
  };
  struct Product {
    GroupMatrices matrices;
    uint32_t sums;
    int64_t set;
    std::vector<double> left; // 16 rows, if in registers
  };
  int64_t warp;
  const std::vector<SharedMemory> *shared;
  bool (*early)();
  /// True after the warp has executed the fence (wgmma.fence) that makes registers available as
  /// accumulators.
  bool begun = false;
  int64_t sets = 0;
  uint32_t names = 0;
  std::map<uint32_t, Sums> sums;
  std::vector<Product> open;

  std::string product(GroupStep *const *lanes);
  std::string wait(GroupStep *const *lanes);
  std::string make(const Product &product);
};

} // namespace emulator

#endif
