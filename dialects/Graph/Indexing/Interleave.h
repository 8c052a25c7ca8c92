// SPDX-License-Identifier: Apache-2.0
//
// How an indexing op combines its operands: by concatenation or by interleaving.
#ifndef HEWN_DIALECTS_GRAPH_INDEXING_INTERLEAVE_H
#define HEWN_DIALECTS_GRAPH_INDEXING_INTERLEAVE_H

#include "dialects/Graph/Graph.h"

#include "dialects/Graph/Indexing/InterleaveInterface.h.inc"

#define GET_OP_CLASSES
#include "dialects/Graph/Indexing/Interleave.h.inc"

namespace hewn::graph {

/// How an op combines its operands, if each result element is an element of one operand. Without
/// `steps`, the operands are concatenated along `dim`. With `steps`, one for each dim, they are
/// interleaved: along dim d, the elements of an operand are every `steps[d]`-th element of the
/// result (InterleaveOpInterface).
struct Assembly {
  int64_t dim = 0;
  llvm::SmallVector<int64_t> steps = {};
  bool isInterleaved() const { return !steps.empty(); }
  /// Returns the number of interleaved operands.
  int64_t numInterleaved() const;
  /// Returns the index of the first result element that comes from operand `number`, if the
  /// operands are interleaved.
  llvm::SmallVector<int64_t> firstOf(int64_t number) const;
  /// Returns how many of the `whole` result elements along a dim come from an operand whose
  /// elements start at result index `first` and are `step` apart there.
  static DimExpr lengthOf(const DimExpr &whole, int64_t first, int64_t step);
};

/// Returns how an indexing op combines its operands, or nullopt if it neither concatenates nor
/// interleaves.
std::optional<Assembly> assemblyOf(mlir::Operation *op);

} // namespace hewn::graph

#endif
