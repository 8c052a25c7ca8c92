// SPDX-License-Identifier: Apache-2.0
//
// Packs buffers with lifetimes into one arena.
//
// If all sizes are static, offsets are constants (Packing.h). Otherwise the decision is an order of
// the buffers, from the bottom up: a buffer rests on the highest earlier buffer with an overlapping
// lifetime. This is correct for all sizes, and offsets are closed-form expressions: sums and maxima
// of sizes. The order comes from packings for sample sizes; the one closest to the lower bound over
// all samples is used.
//
// Maxima without a known larger side, and sums of many sizes, become levels: named expressions that
// are computed once, each from earlier ones.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_ARENA_OFFSETS_H
#define HEWN_LIB_TRANSFORMS_PLAN_ARENA_OFFSETS_H

#include "lib/Transforms/Plan/Arena/Samples.h"
#include "lib/Transforms/Plan/Values/Liveness.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hewn::plan {

/// Alignment of arena offsets, in bytes.
inline constexpr int64_t kAlignment = 64;

struct Request {
  graph::DimExpr bytes;
  Lifetime life;
};

struct Arena {
  /// Offset of each request, as an expression over the input symbols and the levels.
  std::vector<graph::DimExpr> offsets;
  /// Values of the levels. Level i is the symbol `levelName(i)`; its value is an expression over
  /// the input symbols and earlier levels.
  std::vector<graph::DimExpr> levels;
  graph::DimExpr bytes;
};

/// Returns the symbol name of a level. It cannot be the name of an input symbol, which consists of
/// letters, digits, '_', '.' and '/'.
std::string levelName(size_t level);

/// Returns `bytes`, rounded up to kAlignment.
graph::DimExpr aligned(const graph::DimExpr &bytes);

Arena packArena(llvm::ArrayRef<Request> requests, llvm::ArrayRef<Sample> samples);

} // namespace hewn::plan

#endif
