// SPDX-License-Identifier: Apache-2.0
//
// What an op costs, as far as decisions need it.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_COST_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_COST_H

#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// Whether the op is elementwise and its body calls a function that takes tens of instructions: exp, tanh, pow, a root.
bool isTranscendental(mlir::Operation &op);

/// What one element of an op's result takes, by what the op itself emits.
struct ElementCost {
  /// For each operand how many of its elements are read.
  llvm::SmallVector<int64_t> reads;
  /// Operations on these elements. Those on positions are not counted: they are the same all along a line.
  int64_t operations = 0;
};

/// The cost of an elementwise op or a move; other kinds read each operand once for all that it says.
ElementCost elementCost(mlir::Operation *op);

} // namespace hewn::graph

#endif
