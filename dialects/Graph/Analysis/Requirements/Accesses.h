// SPDX-License-Identifier: Apache-2.0
//
// The ranges of the indices at which an indexing op reads its operands. Emits the op's element
// computation (`emitAt`) and evaluates it on index ranges.
//
//     from = at[0] * 2 + 3, at[0] in [0, n - 1]    =>    operand 0, dim 0: from 3 to 2*n + 1
//
// Kernel generators emit the same `emitAt` code, so the analysis cannot miss a read. Data-dependent
// indices have a range if the op clamps them. Conditional reads have the range implied by their
// condition.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_ACCESSES_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_ACCESSES_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// The range of the indices read along one dim of an operand. A missing bound means that no bound
/// is known.
struct AccessRange {
  mlir::Value tensor;
  unsigned dim;
  std::optional<DimExpr> least, most;
};

struct Accesses {
  llvm::SmallVector<AccessRange> ranges;
  /// For each division that the op emits for an index: the minimum value of the divisor, or nullopt
  /// if it is unknown.
  llvm::SmallVector<std::optional<DimExpr>> divisors;
};

/// Returns the accesses of an indexing op, under the assumption that its result is not empty.
Accesses accessesOf(mlir::Operation *move);

} // namespace hewn::graph

#endif
