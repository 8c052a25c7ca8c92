// SPDX-License-Identifier: Apache-2.0
//
// Products of groups of warps (lib/Codegen/Grid/Grid.h), a warp's part of each: its sixteen rows.
//
// A product is only noted when a warp comes to it; it is made when the warp waits for it (or at once, where copies are early too).
// Until then the sums that the code has are no numbers, which name those that will be.
#ifndef HEWN_TEST_EMULATOR_DRIVER_GROUP_H
#define HEWN_TEST_EMULATOR_DRIVER_GROUP_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulator {

constexpr int64_t kWarp = 32;

/// A region of a block's shared memory: filled with ones' bits (not a number) before each block.
struct SharedMemory {
  char *address;
  uint64_t bytes;
};

/// Two matrices whose product is to be added.
struct GroupMatrices {
  /// 16 for float16, -16 for bfloat16, 32 for float32, 8 for integers; which of them lie along the sum.
  int32_t bits = 0;
  bool leftAlongSum = false, rightAlongSum = false, leftInRegisters = false;
  int64_t left = 0, right = 0, leftForm = 0, rightForm = 0;
  bool leftSigned = false, rightSigned = false;
  bool operator==(const GroupMatrices &) const = default;
};

/// What a thread comes with.
struct GroupStep {
  enum class Kind { Begin, Product, Close, Wait };
  Kind kind = Kind::Begin;
  GroupMatrices matrices;
  /// This thread's words of a left matrix in registers.
  int32_t words[4] = {};
  /// Of a wait: sets that may stay open.
  int32_t open = 0;
  /// Of a product or a wait: columns / 2 sums, which are replaced; of integers their words.
  float *sums = nullptr;
  int32_t columns = 0;
};

class GroupWarp {
public:
  /// Warp number `warp` of a block. `early`: whether a product is made at once, asked each time.
  GroupWarp(int64_t warp, const std::vector<SharedMemory> &shared, bool (*early)())
      : warp(warp), shared(&shared), early(early) {}

  /// What the warp's threads have come for; why they can't, or nothing.
  std::string step(GroupStep *const *lanes);
  /// Why the warp may not end now, or nothing.
  std::string end() const;
  /// Sets of products that are closed; and where the warp's part of the newest product reads shared memory: lines of 16 bytes.
  int64_t closed() const { return sets; }
  std::vector<uint64_t> linesOfLast() const;
  /// All products so far: a group's warps must have the same.
  std::vector<GroupMatrices> history;

private:
  struct Sums {
    int32_t columns;
    std::vector<float> values[kWarp];
    int64_t left = 0; // products that are to be made
  };
  struct Product {
    GroupMatrices matrices;
    uint32_t sums;
    int64_t set;
    std::vector<double> left; // in registers: 16 rows
  };
  int64_t warp;
  const std::vector<SharedMemory> *shared;
  bool (*early)();
  /// Whether registers may be a product's sums.
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
