// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of contractions on a grid of threads that multiplies matrices: from the machine's processors, their
// rates and their shared memory to the tile of a block, and to how many parts a sum is cut into.
#ifndef HEWN_DIALECTS_PLAN_GRIDSCHEDULE_H
#define HEWN_DIALECTS_PLAN_GRIDSCHEDULE_H

#include "dialects/Plan/Schedule.h"

namespace hewn::plan {

/// Bytes along the sum that a block brings to shared memory at once, of each place of its tile; and of one that is fetched.
inline constexpr int64_t kSliceBytes = 64, kFetchedBytes = 128;

/// A contraction as a product of matrices.
struct GridProduct {
  /// Iteration dims: in both operands, in the left one, in the right one, summed.
  llvm::SmallVector<unsigned> batch, rows, columns, summed;
  graph::Dims extents;
  graph::DimExpr count(llvm::ArrayRef<unsigned> list) const;
};
GridProduct gridProduct(graph::ContractOpInterface op);

/// Whether the warps' matrix instruction takes the contraction's types, and gains by its sizes.
bool multipliesMatrices(graph::ContractOpInterface op);

/// Warps of a group that multiplies together, and rows of its product.
inline constexpr int64_t kGroupWarps = 4, kGroupRows = 64;

/// Whether groups of warps have an instruction for what `multipliesMatrices`: both operands are in shared memory as its factors.
bool multipliesByGroups(graph::ContractOpInterface op);
/// Whether the operands must be fetched for that: float32s become factors on their way.
bool roundsFetched(graph::ContractOpInterface op);

/// What an operand's elements are in shared memory: what they are, where both are the same or integers, else float32.
mlir::Type stagedType(graph::ContractOpInterface op, unsigned operand = 0);

/// Whether they must lie along the sum there, and had best do so in memory: the instruction has no other form for such elements.
bool multipliesAlongSum(graph::ContractOpInterface op);
/// Whether constants had best lie so: also where groups of warps multiply only what does.
bool wantsAlongSum(graph::ContractOpInterface op);

/// How a block makes its tile.
struct GridTile {
  int64_t rows, columns, warpsHigh, warpsWide;
  /// Slices in shared memory.
  int64_t buffers;
  /// Whether groups of warps multiply, each all columns of its rows, else each warp on its own.
  bool byGroups = false;
  /// Whether the block has one group more, whose first thread has slices fetched, whole boxes at a time.
  bool fetches = false;
  int64_t warps() const { return warpsHigh * warpsWide; }
  int64_t warpRows() const { return rows / warpsHigh; }
  int64_t warpColumns() const { return columns / warpsWide; }
  int64_t sliceBytes() const { return fetches ? kFetchedBytes : kSliceBytes; }
  int64_t sharedBytes() const { return buffers * (rows + columns) * sliceBytes(); }
};
/// Multiples of 32, up to 128 rows and 256 columns, whatever the schedule says, with no more buffers than fit. Groups multiply
/// where they may (`groups`, of what `multipliesByGroups`) and the tile has rows for them; else columns are at most 128.
GridTile gridTile(ScheduleAttr schedule, graph::ContractOpInterface op, bool groups);

/// The same tile where a group that multiplies nothing has the operands fetched; as it is where that is not worth it.
GridTile fetchedTile(GridTile tile, graph::ContractOpInterface op);

/// Blocks with such a tile that all processors have room for at once.
int64_t blocksAtOnce(const GridTile &tile, GridAttr grid);

/// The tile for a contraction that `multipliesMatrices`, and where `mayPart` the parts of its sum: what takes least time.
ScheduleAttr chooseTile(graph::ContractOpInterface op, bool mayPart);

} // namespace hewn::plan

#endif
