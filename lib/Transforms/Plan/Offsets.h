// SPDX-License-Identifier: Apache-2.0
//
// Packs buffers with lifetimes into one arena.
//
// Static sizes: the largest first, each at the lowest offset where nothing that lives at the same time is in the way.
// With symbols in the sizes the same is done among all sizes that are multiples of one product of symbols
// (4096*batch*seq: units of batch*seq), which gives offsets in closed form; what is left shares slots, a smaller size
// in a larger one where it is smaller whatever the symbols are.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_OFFSETS_H
#define HEWN_LIB_TRANSFORMS_PLAN_OFFSETS_H

#include "dialects/Graph/Analysis/Dims.h"
#include "lib/Transforms/Plan/Liveness.h"
#include <vector>

namespace hewn::plan {

/// Every offset is a multiple of it.
inline constexpr int64_t kAlignment = 64;

struct Request {
  graph::DimExpr bytes;
  Lifetime life;
};

struct Arena {
  /// One a request.
  std::vector<graph::DimExpr> offsets;
  graph::DimExpr bytes;
  /// The most bytes of static size that are live at once.
  int64_t maxLive = 0;
};

Arena packArena(llvm::ArrayRef<Request> requests);

} // namespace hewn::plan

#endif
