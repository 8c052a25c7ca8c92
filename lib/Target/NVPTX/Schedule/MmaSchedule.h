// SPDX-License-Identifier: Apache-2.0
//
// Cost model of contractions on a GPU with MMA instructions: chooses the tile of a block and the
// number of split-K partials from the target's multiprocessors, rates and shared memory.
#ifndef HEWN_LIB_TARGET_NVPTX_SCHEDULE_MMASCHEDULE_H
#define HEWN_LIB_TARGET_NVPTX_SCHEDULE_MMASCHEDULE_H

#include "lib/Target/NVPTX/Schedule/MmaProduct.h"

namespace hewn::plan {

/// Number of bytes along K of a K-slice, for each row or column of a block's tile: `kSliceBytes` if
/// threads load the slice, `kFetchedBytes` if TMA loads it.
inline constexpr int64_t kSliceBytes = 64, kFetchedBytes = 128;

/// Number of warps in a warpgroup, and number of rows of one warpgroup MMA instruction.
inline constexpr int64_t kGroupWarps = 4, kGroupRows = 64;

/// The tile of a GEMM that a block computes, and how it computes the tile.
struct GpuTile {
  int64_t rows, columns, warpsHigh, warpsWide;
  /// Number of pipeline stages of the tile, that is of K-slices in shared memory.
  int64_t buffers;
  /// True if the block uses warpgroup MMA, and each warpgroup computes all columns of its rows.
  /// False if it uses warp MMA.
  bool byGroups = false;
  /// True if the block has an additional producer warpgroup, whose first thread issues TMA loads.
  bool fetches = false;
  /// True if the producer warpgroup also splits each float32 of the right operand into two TF32
  /// components (3xTF32). The low components are stored in slices of their own.
  bool makesFactors = false;
  int64_t warps() const { return warpsHigh * warpsWide; }
  int64_t warpRows() const { return rows / warpsHigh; }
  int64_t warpColumns() const { return columns / warpsWide; }
  int64_t sliceBytes() const { return fetches ? kFetchedBytes : kSliceBytes; }
  int64_t sharedBytes() const { return buffers * (rows + (makesFactors ? 2 : 1) * columns) * sliceBytes(); }
};
/// Returns the tile that the schedule attribute `schedule` contains. The schedule must have the
/// form `matrix`.
GpuTile tileOf(GpuContractAttr schedule, graph::ContractOpInterface op);
/// Returns the number of threads of a block that computes `tile`.
int64_t threadsOf(const GpuTile &tile, GpuAttr gpu);

/// Returns the fastest GEMM tile for a contraction that `multipliesMatrices`, with the number of
/// split-K partials if `maySplit`. Returns null if the smallest tile does not fit in shared memory.
GpuTileAttr chooseTile(graph::ContractOpInterface op, bool maySplit);

/// Returns the schedule of a contraction that `multipliesMatrices`, for the requested tile. The
/// rows and columns of the tile are rounded up to multiples of 32, at most 128 rows and 256
/// columns, and the number of pipeline stages is reduced to what fits. The schedule uses warpgroup
/// MMA if it is requested and supported and the tile has enough rows; otherwise the tile has at
/// most 128 columns. `fetchable`: TMA can load both operands; a producer warpgroup then issues TMA
/// loads, if the schedule uses warpgroup MMA and at least two stages fit. `splits`: number of
/// split-K partials of the kernel.
GpuContractAttr chooseMatrixContraction(GpuTileAttr wanted, graph::ContractOpInterface op, bool fetchable,
                                        int64_t splits);

} // namespace hewn::plan

#endif
