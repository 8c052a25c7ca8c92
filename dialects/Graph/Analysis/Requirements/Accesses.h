// SPDX-License-Identifier: Apache-2.0
//
// Where a move reads its operands: its `emitAt` evaluated on ranges instead of positions.
//
//     from = at[0] * 2 + 3, at[0] in [0, n - 1]         →        operand 0, dim 0: from 3 to 2*n + 1
//
// The ranges come of the code that the engines emit, so that no op can forget to speak of a read. Positions that data tell have a
// range where the op clamps them, and elements that are read only where a condition holds have that condition's.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_ACCESSES_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_ACCESSES_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// The positions along one dim of an operand that are read; an end is absent where nothing bounds it.
struct AccessRange {
  mlir::Value tensor;
  unsigned dim;
  std::optional<DimExpr> least, most;
};

struct Accesses {
  llvm::SmallVector<AccessRange> ranges;
  /// The least that numbers are which positions are divided by; absent as above.
  llvm::SmallVector<std::optional<DimExpr>> divisors;
};

/// Of an op with MoveOpInterface, where its result has elements.
Accesses accessesOf(mlir::Operation *move);

} // namespace hewn::graph

#endif
