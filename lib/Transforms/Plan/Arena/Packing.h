// SPDX-License-Identifier: Apache-2.0
//
// Packs blocks of static size and lifetime as low as possible (dynamic storage allocation).
//
// Greedy first-fit runs first, in three orders (size, size times lifetime, lifetime). It is optimal
// for nearly all networks. Otherwise a branch-and-bound search with a step limit follows. It stacks
// blocks from the bottom up and visits only canonical packings, in which no block could move down
// (MiniMalloc; Moffitt, ASPLOS 2024). A branch is pruned if the remaining blocks cannot fit at some
// position. The limit counts steps, not time, so that a model compiles to the same bytes
// everywhere.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_ARENA_PACKING_H
#define HEWN_LIB_TRANSFORMS_PLAN_ARENA_PACKING_H

#include "lib/Transforms/Plan/Values/Liveness.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace hewn::plan {

/// A block of `size` bytes (at least 0) that is live during `lifetime`. Packing sets `offset`.
struct ArenaBlock {
  int64_t size;
  Lifetime life;
  int64_t offset = 0;
};

/// Returns, for each block, the sorted indices of the blocks with overlapping lifetimes. Returns
/// nothing if there are more than `most` pairs of such blocks.
using Neighbours = std::vector<llvm::SmallVector<unsigned, 4>>;
std::optional<Neighbours> neighboursOf(llvm::ArrayRef<ArenaBlock> blocks, size_t most);

/// Returns the peak of live bytes, a lower bound for every packing.
int64_t liveAtOnce(llvm::ArrayRef<ArenaBlock> blocks);
/// Assigns an offset to every block and returns the end of the highest block, the size of the
/// packing. `steps` limits the steps of each branch-and-bound search.
int64_t packBlocks(llvm::MutableArrayRef<ArenaBlock> blocks, int64_t steps = 100'000'000);

} // namespace hewn::plan

#endif
