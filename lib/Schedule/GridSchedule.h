// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of contractions on a grid of threads that multiplies matrices: from the machine's processors, their
// rates and their shared memory to the tile of a block, and to how many parts a sum is cut into.
#ifndef HEWN_LIB_SCHEDULE_GRIDSCHEDULE_H
#define HEWN_LIB_SCHEDULE_GRIDSCHEDULE_H

#include "lib/Schedule/GridProduct.h"

namespace hewn::plan {

/// Bytes along the sum that a block brings to shared memory at once, of each place of its tile; and of one that is fetched.
inline constexpr int64_t kSliceBytes = 64, kFetchedBytes = 128;

/// Warps of a group that multiplies together, and rows of its product.
inline constexpr int64_t kGroupWarps = 4, kGroupRows = 64;

/// How a block makes its tile.
struct GridTile {
  int64_t rows, columns, warpsHigh, warpsWide;
  /// Slices in shared memory.
  int64_t buffers;
  /// Whether groups of warps multiply, each all columns of its rows, else each warp on its own.
  bool byGroups = false;
  /// Whether the block has one group more, whose first thread has slices fetched, whole boxes at a time.
  bool fetches = false;
  /// Whether that group then makes two factors of each float32 of the right operand, the second ones in slices of their own.
  bool splits = false;
  int64_t warps() const { return warpsHigh * warpsWide; }
  int64_t warpRows() const { return rows / warpsHigh; }
  int64_t warpColumns() const { return columns / warpsWide; }
  int64_t sliceBytes() const { return fetches ? kFetchedBytes : kSliceBytes; }
  int64_t sharedBytes() const { return buffers * (rows + (splits ? 2 : 1) * columns) * sliceBytes(); }
};
/// Multiples of 32, up to 128 rows and 256 columns, whatever the schedule says, with no more buffers than fit. Groups multiply
/// where the schedule wants it, they can, and the tile has rows for them; else columns are at most 128. `fetchable`: whether both
/// operands can be fetched, by a group that multiplies nothing. It does so where groups multiply and that is worth it.
GridTile gridTile(GridContractAttr schedule, graph::ContractOpInterface op, bool fetchable);

/// Blocks with such a tile that all processors have room for at once.
int64_t blocksAtOnce(const GridTile &tile, GridAttr grid);

/// The kernel's schedule where it is one of a grid's contraction; null otherwise.
GridContractAttr gridContractOf(KernelOp kernel);

/// The tile for a contraction that `multipliesMatrices`, and where `mayPart` the parts of its sum: what takes least time.
GridContractAttr chooseTile(graph::ContractOpInterface op, bool mayPart);

} // namespace hewn::plan

#endif
