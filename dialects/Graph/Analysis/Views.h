// SPDX-License-Identifier: Apache-2.0
//
// Views: ops whose result is their operand's memory under another type.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_VIEWS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_VIEWS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// The dims longer than 1 from outermost to innermost in memory. Types that agree here and in their shape are the same memory.
llvm::SmallVector<int64_t> memoryOrder(mlir::RankedTensorType type);

/// Whether `op` is a reshape or transposition whose result type lies in memory as its operand's does, so that nothing moves.
bool isView(mlir::Operation *op);

} // namespace hewn::graph

#endif
