// SPDX-License-Identifier: Apache-2.0
//
// Packs blocks of known sizes, each needed for some time, as low as it can: dynamic storage allocation.
//
// Greedy first, in three orders (size, size times life, life), which is optimal on nearly all nets. Where it is not, a
// search with a bound on its steps: blocks are laid from the bottom up, each on top of what lives at the same time, so
// that only packings without a block that could slide down are looked at (the canonical ones of MiniMalloc, Moffitt,
// ASPLOS 2024); a branch ends where what is yet to come can't fit at some position. A bound on steps and not on time:
// the same model gives the same bytes everywhere.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_ARENA_PACKING_H
#define HEWN_LIB_TRANSFORMS_PLAN_ARENA_PACKING_H

#include "lib/Transforms/Plan/Values/Liveness.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace hewn::plan {

/// Bytes, never negative, for a lifetime; `offset` is what packing decides.
struct ArenaBlock {
  int64_t size;
  Lifetime life;
  int64_t offset = 0;
};

/// For each block those that live at the same time, in the blocks' order; nullopt where there are more than `most` pairs.
using Neighbours = std::vector<llvm::SmallVector<unsigned, 4>>;
std::optional<Neighbours> neighboursOf(llvm::ArrayRef<ArenaBlock> blocks, size_t most);

/// The most bytes that are live at one position: no packing is lower.
int64_t liveAtOnce(llvm::ArrayRef<ArenaBlock> blocks);
/// Gives every block its offset; returns the end of the highest. `steps` bounds each search.
int64_t packBlocks(llvm::MutableArrayRef<ArenaBlock> blocks, int64_t steps = 100'000'000);

} // namespace hewn::plan

#endif
