// SPDX-License-Identifier: Apache-2.0
//
// Cost model of fused attention (dialects/Graph/Contract/FusedAttention.h) on a GPU. It chooses how
// the warps of a block divide the rows and columns of the scores, and how many blocks share the
// columns of a row.
//
// A softmax over a row can be computed from partial results: each block computes the maximum, the
// sum and the result for its columns, and the last block combines them. If there are not enough
// rows for all streaming multiprocessors (decoding: one row per head), the columns are split over
// several blocks.
#ifndef HEWN_LIB_TARGET_NVPTX_SCHEDULE_MMAATTENTIONSCHEDULE_H
#define HEWN_LIB_TARGET_NVPTX_SCHEDULE_MMAATTENTIONSCHEDULE_H

#include "dialects/Graph/Contract/FusedAttention.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// Distribution of attention scores over the warps of a thread block: `high` warps along the rows
/// times `wide` warps along the columns. A warp computes `rowTiles` row tiles and `columns` columns
/// at a time.
struct GpuAttentionSpread {
  /// Number of rows of an MMA instruction, that is of a row tile.
  static constexpr int64_t kInstructionRows = 16;
  int64_t high, wide, columns, rowTiles = 1;
  int64_t warpRows() const { return rowTiles * kInstructionRows; }
  int64_t rows() const { return high * warpRows(); }
  int64_t tile() const { return wide * columns; }
};

/// Returns the element type of the MMA operands of a fused attention kernel: the common type of q,
/// k, v and the weights if it is float16 or bfloat16, otherwise float32.
mlir::Type gpuAttentionFactors(const graph::FusedAttention &attention);

/// Largest head dim of fused attention for which the registers of a warp are enough: they hold its
/// accumulators and, in addition, its rows of q or the accumulators of a second row tile.
inline constexpr int64_t kShortLine = 64;

/// Returns the distribution of scores over warps that the schedule attribute `schedule` contains.
GpuAttentionSpread spreadOf(GpuAttentionAttr schedule);

/// Chooses the schedule of fused attention that fits the registers and the shared memory. `online`:
/// the softmax is computed in one pass (online softmax), so that several warps or blocks can share
/// the columns of a row. If there are fewer blocks of rows than multiprocessors and it is faster,
/// the columns of each row are split over several blocks, with at least a few tiles each.
GpuAttentionAttr chooseGpuAttention(const graph::FusedAttention &attention, bool online);

/// Returns the number of thread blocks that the attention rows of all batch elements are divided
/// into.
graph::DimExpr gpuAttentionItems(const graph::FusedAttention &attention, const GpuAttentionSpread &spread);

/// Returns the number of float32 values in the partial attention result that a thread block
/// computes for its columns. Each warp along the rows stores one 32-bit register of all lanes after
/// another, so that the values of adjacent lanes are adjacent.
int64_t gpuAttentionStates(const graph::FusedAttention &attention, const GpuAttentionSpread &spread);

/// Returns the number of thread blocks over which the attention schedule `schedule` splits the
/// columns of each row. The total number of blocks does not exceed the limit `blocks` of the
/// schedule.
graph::DimExpr gpuAttentionSplits(const graph::FusedAttention &attention, GpuAttentionAttr schedule);

/// Returns the dims of the scratch memory for partial attention results: the number of splits, and
/// the number of values for all rows. Returns no dims if the schedule never splits the columns.
/// With dynamic sizes, the scratch memory is empty in runs that do not split them.
graph::Dims gpuAttentionScratch(const graph::FusedAttention &attention, GpuAttentionAttr schedule);

} // namespace hewn::plan

#endif
