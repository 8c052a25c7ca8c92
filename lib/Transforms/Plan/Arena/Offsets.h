// SPDX-License-Identifier: Apache-2.0
//
// Packs buffers with lifetimes into one arena.
//
// Where all sizes are static, offsets are numbers (Packing.h). Else what is decided is the order from the bottom up: a
// buffer lies on top of the highest one before it that lives at the same time. That is right for all sizes, and its
// offsets are sums and maxima of sizes: a closed form. The order is that of a packing for sample sizes, the one that comes
// nearest to what is live over all samples.
//
// Maxima of which neither side is always the larger, and sums of many sizes, are levels: they have names and are computed once,
// each from the ones before it.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_ARENA_OFFSETS_H
#define HEWN_LIB_TRANSFORMS_PLAN_ARENA_OFFSETS_H

#include "lib/Transforms/Plan/Arena/Samples.h"
#include "lib/Transforms/Plan/Values/Liveness.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hewn::plan {

/// Every offset is a multiple of it.
inline constexpr int64_t kAlignment = 64;

struct Request {
  graph::DimExpr bytes;
  Lifetime life;
};

struct Arena {
  /// One a request, over the inputs' symbols and the levels.
  std::vector<graph::DimExpr> offsets;
  /// Level i is the symbol `levelName(i)`, over the inputs' symbols and the levels before it.
  std::vector<graph::DimExpr> levels;
  graph::DimExpr bytes;
};

/// A name that no input's symbol has: those are made of letters, digits, '_', '.' and '/'.
std::string levelName(size_t level);

/// Bytes rounded up to the alignment.
graph::DimExpr aligned(const graph::DimExpr &bytes);

Arena packArena(llvm::ArrayRef<Request> requests, llvm::ArrayRef<Sample> samples);

} // namespace hewn::plan

#endif
