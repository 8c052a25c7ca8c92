// SPDX-License-Identifier: Apache-2.0
//
// Columns of a chain's rows that are split over blocks (lib/Schedule/GridChainSchedule.h), and where these parts meet.
//
//     block:  states of its columns  →  memory;  barrier;  count itself;  barrier
//     the one that counted last:  states = all parts', one after another;  the counter is 0 again
//
// Nobody waits: so the blocks may run in any order, some of them before others begin. Parts are always merged in the same order,
// whoever does it.
#ifndef HEWN_LIB_CODEGEN_GRID_CHAIN_CHAINPARTS_H
#define HEWN_LIB_CODEGEN_GRID_CHAIN_CHAINPARTS_H

#include "lib/Codegen/Grid/Grid.h"
#include "lib/Schedule/GridChainSchedule.h"

namespace hewn::codegen {

class ChainParts {
public:
  /// `memory`: the scratch memory that the schedule wants (plan::gridChainScratch), if it wants some.
  ChainParts(KernelFunction &k, KernelElements &e, Grid &grid, const graph::Chain &chain, plan::GridChainAttr schedule,
             const std::optional<Buffer> &memory);

  /// How many; 1: all else is not to be called.
  const graph::DimExpr &count() const { return parts; }
  /// Whether there are several; null: always.
  mlir::Value areSeveral();
  /// This thread's states of part `part` of item `item`, in memory.
  void give(graph::Index item, graph::Index part, graph::Index warp, llvm::ArrayRef<mlir::Value> states);
  llvm::SmallVector<mlir::Value> taken(graph::Index item, graph::Index part, graph::Index warp, size_t number);
  /// All threads of the block: whether it is the last one of the item.
  mlir::Value isLast(graph::Index item);

private:
  KernelElements &e;
  Grid &grid;
  graph::DimExpr parts{1};
  int64_t high;
  Buffer memory;
  mlir::Value counters, answer;

  graph::Index place(graph::Index item, graph::Index warp, size_t number, size_t state);
};

} // namespace hewn::codegen

#endif
