// SPDX-License-Identifier: Apache-2.0
//
// Warp-synchronous instructions: shuffles, MMA, ldmatrix (lib/Codegen/GPU/GpuBuilder.h).
#ifndef HEWN_TEST_EMULATOR_DRIVER_WARP_H
#define HEWN_TEST_EMULATOR_DRIVER_WARP_H

#include "test/Emulator/Driver/Group.h"

#include <string>

namespace emulator {

/// Operands and results of a warp-synchronous instruction for one lane.
struct Meeting {
  enum class Kind { None, Shuffle, Product, ProductF16, ProductBF16, ProductBytes, Lines, LinesTurned, Group };
  Kind kind = Kind::None;
  /// For a shuffle: this lane's value, which the other lane's value replaces, and the xor mask.
  int32_t value = 0, laneXor = 0;
  /// For an MMA: four registers of the left matrix, two of the right one, and four accumulators.
  const int32_t *factors = nullptr;
  void *sums = nullptr;
  /// For an integer MMA: bit 0 is set if the left operand is signed, bit 1 if the right one is.
  int32_t isSigned = 0;
  /// For ldmatrix: the address of this lane's row, and four result registers.
  const char *line = nullptr;
  int32_t *words = nullptr;
  /// For a warpgroup instruction: its operands.
  GroupStep group;
};

/// Executes the instruction that all lanes have reached. `group` is the warp's warpgroup state.
/// Returns an error text, or an empty string.
std::string meet(Meeting *const *lanes, GroupWarp &group);

} // namespace emulator

#endif
