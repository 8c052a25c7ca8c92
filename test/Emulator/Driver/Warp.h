// SPDX-License-Identifier: Apache-2.0
//
// What the threads of a warp do together: shuffles, products of matrices, reads of matrices (lib/Codegen/Grid/Grid.h).
#ifndef HEWN_TEST_EMULATOR_DRIVER_WARP_H
#define HEWN_TEST_EMULATOR_DRIVER_WARP_H

#include "test/Emulator/Driver/Group.h"

#include <string>

namespace emulator {

/// What a thread comes to such a meeting with, and what it gets.
struct Meeting {
  enum class Kind { None, Shuffle, Product, ProductF16, ProductBF16, ProductBytes, Lines, LinesTurned, Group };
  Kind kind = Kind::None;
  /// Of a shuffle: its value, then the other lane's; and which that is.
  int32_t value = 0, laneXor = 0;
  /// Of a product: four words of the left matrix and two of the right one; four sums, which are added to.
  const int32_t *factors = nullptr;
  void *sums = nullptr;
  /// Of bytes: bits 0 and 1, whether the left and the right ones are signed.
  int32_t isSigned = 0;
  /// Of lines: where this lane's one is; four words.
  const char *line = nullptr;
  int32_t *words = nullptr;
  /// Of what concerns groups.
  GroupStep group;
};

/// Lets the threads of a warp do what they have met for; why they can't, or nothing. `group`: the warp's
/// products by groups.
std::string meet(Meeting *const *lanes, GroupWarp &group);

} // namespace emulator

#endif
