// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of chains (dialects/Graph/Contract/Chain.h: attention) on a grid: how a block's warps share rows and columns,
// and over how many blocks the columns of a row are divided.
//
// Rows of a softmax can be made in parts: each block has the maximum, the sum and the result of its columns, and the last one to
// come adds them up. Where rows are too few for all processors (decoding: one row a head) the columns are what there is to share.
#ifndef HEWN_LIB_SCHEDULE_GRIDCHAINSCHEDULE_H
#define HEWN_LIB_SCHEDULE_GRIDCHAINSCHEDULE_H

#include "dialects/Graph/Contract/Chain.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// How a block's warps are spread over rows and columns, and columns of a tile for each.
struct GridChainSpread {
  /// Rows of a matrix instruction, which a warp has `rowTiles` times.
  static constexpr int64_t kInstructionRows = 16;
  int64_t high, wide, columns, rowTiles = 1;
  int64_t warpRows() const { return rowTiles * kInstructionRows; }
  int64_t rows() const { return high * warpRows(); }
  int64_t tile() const { return wide * columns; }
};

/// What the matrix instruction multiplies: the type of all three operands and of the weights where that is a narrow float, else
/// float32.
mlir::Type gridChainFactors(const graph::Chain &chain);

/// Elements of a line of which a warp's rows have room in registers, beside all else or twice.
inline constexpr int64_t kShortLine = 64;

/// As a schedule says.
GridChainSpread spreadOf(GridChainAttr schedule);

/// The schedule of a chain: what fits into registers and shared memory. `online`: rows are made in one pass, so that warps, or blocks, can
/// share them. Columns are split over as many blocks as have no rows of their own, of a few tiles each, where that gains anything.
GridChainAttr chooseGridChain(const graph::Chain &chain, bool online);

/// Rows of the chain by a block's, over all batches.
graph::DimExpr gridChainItems(const graph::Chain &chain, const GridChainSpread &spread);

/// Float32s that a block has of its columns: a warp's words one lane after another, of every warp of rows.
int64_t gridChainStates(const graph::Chain &chain, const GridChainSpread &spread);

/// Over how many blocks the columns of a row are split by the schedule; no more of all rows than its `blocks`.
graph::DimExpr gridChainSplits(const graph::Chain &chain, GridChainAttr schedule);

/// Dims of the memory in which the splits meet: splits, and what all of them have; none where the columns are not split for any
/// sizes. There are none in it where sizes known only when run make it one.
graph::Dims gridChainScratch(const graph::Chain &chain, GridChainAttr schedule);

} // namespace hewn::plan

#endif
