// SPDX-License-Identifier: Apache-2.0
//
// What lies in the arena of a planned program, when and where: read off its places. For those who check a plan or show it.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_ARENA_PLANNEDARENA_H
#define HEWN_LIB_TRANSFORMS_PLAN_ARENA_PLANNEDARENA_H

#include "dialects/Graph/Analysis/Dims.h"
#include "lib/Transforms/Plan/Arena/Packing.h"
#include "lib/Transforms/Plan/Arena/Samples.h"

namespace hewn::plan {

class PlannedArena {
public:
  /// A buffer of the arena. One in whose memory the next is made lives until just before that.
  struct Buffer {
    mlir::Value value;
    Lifetime life;
    graph::DimExpr offset, bytes;
  };
  /// The arena for one size of each symbol.
  struct Sized {
    /// One a buffer, its size rounded up to the alignment.
    std::vector<ArenaBlock> blocks;
    int64_t bytes = 0;
    /// The most that is live at once: no arena is smaller.
    int64_t live = 0;
  };

  /// Places that are missing or no expressions are left out.
  explicit PlannedArena(mlir::FunctionOpInterface program);
  llvm::ArrayRef<Buffer> buffers() const { return list; }
  Sized at(const Sample &sample) const;
  /// Whether all sizes and offsets fit into 64 bits then. No run has dims with which they don't.
  bool fits(const Sample &sample) const;

private:
  std::vector<Buffer> list;
  std::vector<std::pair<std::string, graph::DimExpr>> levels;
  graph::DimExpr bytes;
};

} // namespace hewn::plan

#endif
