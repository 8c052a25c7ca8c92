// SPDX-License-Identifier: Apache-2.0
//
// Cost model of Winograd convolutions: whether they are faster than a direct convolution, and the
// number of tiles per block.
#ifndef HEWN_LIB_SCHEDULE_WINOGRADSCHEDULE_H
#define HEWN_LIB_SCHEDULE_WINOGRADSCHEDULE_H

#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Support/Precision.h"

namespace hewn::plan {

/// Returns the largest Winograd tile size (of the result) that the precision allows. Tile size 2
/// loses no more significand bits than float32 accumulation does. Tile size 4 loses one more
/// decimal digit.
int64_t largestWinogradTile(Precision precision);

/// Largest Winograd tile size for which transformed weights may be rounded to float16. For tile
/// size 2, this rounding adds at most half of the error that rounding the result to float16 causes.
/// For tile size 4 it adds ten times that error.
inline constexpr int64_t kLargestHalfTile = 2;

/// Returns the largest Winograd tile size for one convolution. `otherwise`: the limit by the
/// precision. If the input is dequantized and all uses of the result quantize it, any size is
/// allowed: a quantized value can then differ from that of exact accumulation only if the exact
/// result is near a tie of the rounding, and only by 1. With float16 weights, the size is at most
/// kLargestHalfTile.
int64_t largestWinogradTile(graph::ContractOpInterface op, int64_t otherwise);

/// Returns the Winograd tile size, at most `maxTile`, with which Winograd is clearly faster than
/// direct convolution, or 0 if there is none. `rate`: rate of the multiply-adds of direct
/// convolution on the target, relative to vector FMAs. Larger tiles are less accurate.
int64_t chooseWinogradTile(graph::ContractOpInterface op, int64_t maxTile, double rate = 1);

/// Returns the schedule of a contraction with Winograd-transformed weights. It computes a block of
/// tiles at a time, and stores the transformed input and the accumulators of the block in a slot of
/// scratch memory. `panel`: number of columns in a panel of the packed weights.
WinogradAttr winogradSchedule(graph::ContractOpInterface op, int64_t tile, int64_t panel);
/// Returns the Winograd schedules that `hewn tune` should measure: the chosen one first, then
/// others with different register tiles, then others with half and twice as many Winograd tiles per
/// block.
llvm::SmallVector<WinogradAttr> winogradSchedules(graph::ContractOpInterface op, int64_t tile, int64_t panel);
/// Returns the number of columns in a panel of packed Winograd-transformed weights.
int64_t winogradPanel(graph::ContractOpInterface op, int64_t tile);
/// Returns the number of Winograd tiles of the convolution's result, along its height and width.
std::pair<graph::DimExpr, graph::DimExpr> winogradTiles(graph::ContractOpInterface op, int64_t tile);
/// Returns true if there is only one block of Winograd tiles, so that each slot of scratch memory
/// gets some of its columns. Otherwise each slot gets several blocks.
bool sharesColumns(graph::ContractOpInterface op, int64_t tile, int64_t block, int64_t slots);
/// Returns the size of a Winograd kernel's scratch memory slot in floats. A slot contains the
/// transformed input of a block of tiles, then the accumulators of its panels.
int64_t winogradSlotFloats(WinogradAttr schedule, int64_t tile);

} // namespace hewn::plan

#endif
