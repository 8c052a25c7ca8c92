// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of minimal filtering: whether it wins, and how many tiles are done at a time.
#ifndef HEWN_DIALECTS_PLAN_WINOGRADSCHEDULE_H
#define HEWN_DIALECTS_PLAN_WINOGRADSCHEDULE_H

#include "dialects/Graph/Contract/Winograd.h"
#include "dialects/Plan/Schedule.h"

namespace hewn::plan {

/// The tile of results for which minimal filtering is clearly faster on the machine than the sum of products, of which the
/// machine does `rate` in the time of one; `most` at the most, 0 where none is. Larger tiles lose more digits.
int64_t chooseWinogradTile(graph::ContractOpInterface op, int64_t most, double rate = 1);

/// How a contraction with transformed weights is done: a block of tiles at a time, whose transformed operands and sums lie in
/// a slot of scratch memory.
struct WinogradSchedule {
  /// Tiles of results along each of the two rows.
  graph::DimExpr down, across;
  /// Columns of a panel of the packed weights.
  int64_t panel;
  /// Tiles of a block; rows and columns of a register tile of the products.
  int64_t block, m, n;
  /// Floats between the channels of neighbouring tiles of a block.
  int64_t stride;
  int64_t lanes;
  /// Dims of the scratch memory: slots, floats of a slot (transformed operands, then sums of n columns).
  graph::Dims scratch;
};

/// `panel`: columns of a panel of the packed weights, or 0 where that is to be chosen.
WinogradSchedule winogradSchedule(graph::ContractOpInterface op, int64_t tile, int64_t panel);

} // namespace hewn::plan

#endif
