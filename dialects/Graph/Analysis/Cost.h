// SPDX-License-Identifier: Apache-2.0
//
// The cost of computing one element of an op's result.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_COST_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_COST_H

#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// Returns true if the op is elementwise and its body calls a math function that takes tens of
/// instructions: exp, tanh, pow, a root.
bool isTranscendental(mlir::Operation &op);

/// The cost of one element of an op's result, determined from the scalar ops that the op emits.
struct ElementCost {
  /// The number of elements read from each operand.
  llvm::SmallVector<int64_t> reads;
  /// The number of operations on elements. Index arithmetic is not counted, as it is loop-invariant
  /// along a row.
  int64_t operations = 0;
};

/// Returns the cost of an element of an elementwise or indexing op. For all other ops, returns one
/// read of each operand.
ElementCost elementCost(mlir::Operation *op);

} // namespace hewn::graph

#endif
