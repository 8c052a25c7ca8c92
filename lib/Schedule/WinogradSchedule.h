// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of minimal filtering: whether it wins, and how many tiles are done at a time.
#ifndef HEWN_LIB_SCHEDULE_WINOGRADSCHEDULE_H
#define HEWN_LIB_SCHEDULE_WINOGRADSCHEDULE_H

#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Support/Precision.h"

namespace hewn::plan {

/// The largest tile of results that loses no more digits than the precision allows: 2 loses no more than sums do, 4 one.
int64_t largestWinogradTile(Precision precision);

/// The largest tile whose transformed weights may be rounded to float16. Of tiles of 2 that costs a result no more than half as much again as its own
/// rounding to that type, of tiles of 4 ten times as much.
inline constexpr int64_t kLargestHalfTile = 2;

/// The same for one contraction: of a quantized tensor whose results are quantized again and not read otherwise any tile is taken: each integer is
/// then that of exact sums or, near a half, the one next to it. Where weights are float16, tiles whose transformed weights may be rounded to that.
int64_t largestWinogradTile(graph::ContractOpInterface op, int64_t otherwise);

/// The tile of results for which minimal filtering is clearly faster on the machine than the sum of products, of which the
/// machine does `rate` in the time of one; `maxTile` at the most, 0 where none is. Larger tiles lose more digits.
int64_t chooseWinogradTile(graph::ContractOpInterface op, int64_t maxTile, double rate = 1);

/// How a contraction with transformed weights is done: a block of tiles at a time, whose transformed operands and sums lie in a slot of
/// scratch memory. `panel`: columns of a panel of the packed weights.
WinogradAttr winogradSchedule(graph::ContractOpInterface op, int64_t tile, int64_t panel);
/// Those that a search over schedules may try: first that one, then other register tiles, and blocks of half and of twice as many tiles.
llvm::SmallVector<WinogradAttr> winogradSchedules(graph::ContractOpInterface op, int64_t tile, int64_t panel);
/// Columns of a panel of weights that are to be packed for such a contraction.
int64_t winogradPanel(graph::ContractOpInterface op, int64_t tile);
/// Tiles of results along each of the two rows of the windows.
std::pair<graph::DimExpr, graph::DimExpr> winogradTiles(graph::ContractOpInterface op, int64_t tile);
/// Whether slots share the columns of a block of so many tiles, since there is no other block; else each has blocks of its own.
bool sharesColumns(graph::ContractOpInterface op, int64_t tile, int64_t block, int64_t slots);
/// Floats of a slot of the scratch memory: transformed operands, then sums of n columns.
int64_t winogradSlotFloats(WinogradAttr schedule, int64_t tile);

} // namespace hewn::plan

#endif
