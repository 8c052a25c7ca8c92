// SPDX-License-Identifier: Apache-2.0
//
// The arena of a planned program, read back from its buffer assignments, for verification and
// display.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_ARENA_PLANNEDARENA_H
#define HEWN_LIB_TRANSFORMS_PLAN_ARENA_PLANNEDARENA_H

#include "dialects/Graph/Analysis/Dims.h"
#include "lib/Transforms/Plan/Arena/Packing.h"
#include "lib/Transforms/Plan/Arena/Samples.h"

namespace hewn::plan {

class PlannedArena {
public:
  /// A buffer of the arena. If another value reuses its memory, its lifetime ends just before the
  /// lifetime of that value.
  struct Buffer {
    mlir::Value value;
    Lifetime life;
    graph::DimExpr offset, bytes;
  };
  /// The arena's blocks if the symbols have the values of one sample.
  struct Sized {
    /// For each buffer of the arena, its block, with the size rounded up to the alignment.
    std::vector<ArenaBlock> blocks;
    int64_t bytes = 0;
    /// The peak of live bytes, a lower bound of the arena size.
    int64_t live = 0;
  };

  /// Reads the buffer assignments of `program`. Ignores missing assignments and invalid
  /// expressions.
  explicit PlannedArena(mlir::FunctionOpInterface program);
  llvm::ArrayRef<Buffer> buffers() const { return list; }
  Sized at(const Sample &sample) const;
  /// Returns true if all buffer sizes and offsets fit 64 bits for these symbol values. If they do
  /// not, no run can have such sizes, because the memory does not exist.
  bool fits(const Sample &sample) const;

private:
  std::vector<Buffer> list;
  std::vector<std::pair<std::string, graph::DimExpr>> levels;
  graph::DimExpr bytes;
};

} // namespace hewn::plan

#endif
