// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of contractions on a grid of threads that multiplies matrices: from the machine's processors, their
// rates and their shared memory to the tile of a block, and to how often a sum is split.
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
  bool makesFactors = false;
  int64_t warps() const { return warpsHigh * warpsWide; }
  int64_t warpRows() const { return rows / warpsHigh; }
  int64_t warpColumns() const { return columns / warpsWide; }
  int64_t sliceBytes() const { return fetches ? kFetchedBytes : kSliceBytes; }
  int64_t sharedBytes() const { return buffers * (rows + (makesFactors ? 2 : 1) * columns) * sliceBytes(); }
};
/// The tile that a schedule of the form `matrix` says.
GridTile tileOf(GridContractAttr schedule, graph::ContractOpInterface op);
/// Threads of a block that makes it.
int64_t threadsOf(const GridTile &tile, GridAttr grid);

/// The tile for a contraction that `multipliesMatrices`, and where `maySplit` how often its sum is split: what takes least time. Null where
/// the smallest one has no room in shared memory.
GridTileAttr chooseTile(graph::ContractOpInterface op, bool maySplit);

/// The schedule of a contraction that `multipliesMatrices` which is to have a tile: multiples of 32, up to 128 rows and 256 columns,
/// with no more buffers than fit. Groups multiply where that is wanted, they can, and the tile has rows for them; else columns are at
/// most 128. `fetchable`: whether both operands can be fetched, by a group that multiplies nothing. It does so where groups multiply
/// and that is worth it. `splits`: of the sum, as the kernel has been made.
GridContractAttr chooseMatrixContraction(GridTileAttr wanted, graph::ContractOpInterface op, bool fetchable,
                                         int64_t splits);

/// Rows or columns that are few for the forms `few_rows` and `few_columns`, at most, and threads of their blocks.
inline constexpr int64_t kMaxFew = 8, kFewThreads = 256;
/// Threads along each side of a block of the form `tiles`, and rows or columns of each, at most.
inline constexpr int64_t kTileSide = 16, kMaxSumsPerThreadSide = 8;
/// The schedule of a contraction by other instructions; null where sides or sums are so short that elements are better made one by one.
/// `leftAlongSum`, `rightAlongSum`: whether the operand lies with a summed dim innermost.
GridContractAttr chooseThreadContraction(graph::ContractOpInterface op, bool leftAlongSum, bool rightAlongSum);

} // namespace hewn::plan

#endif
