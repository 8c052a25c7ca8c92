// SPDX-License-Identifier: Apache-2.0
//
// How moves put their operands together: concatenated, or interleaved.
#ifndef HEWN_DIALECTS_GRAPH_MOVE_INTERLEAVE_H
#define HEWN_DIALECTS_GRAPH_MOVE_INTERLEAVE_H

#include "dialects/Graph/Graph.h"

#include "dialects/Graph/Move/InterleaveInterface.h.inc"

#define GET_OP_CLASSES
#include "dialects/Graph/Move/Interleave.h.inc"

namespace hewn::graph {

/// Each element of a result is an operand's. Without `steps` operands are concatenated along `dim`. With them, one for each dim, they are
/// interleaved (InterleaveOpInterface).
struct Assembly {
  int64_t dim = 0;
  llvm::SmallVector<int64_t> steps = {};
  bool isInterleaved() const { return !steps.empty(); }
  /// Operands that are interleaved.
  int64_t numInterleaved() const;
  /// The first element of the result that is operand `number`'s, where operands are interleaved.
  llvm::SmallVector<int64_t> firstOf(int64_t number) const;
  /// How many elements of a dim of `whole` elements are those of an operand whose first one is `first`.
  static DimExpr lengthOf(const DimExpr &whole, int64_t first, int64_t step);
};

/// How the op puts its operands together; nullopt: it does something else.
std::optional<Assembly> assemblyOf(mlir::Operation *op);

} // namespace hewn::graph

#endif
