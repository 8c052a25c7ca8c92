// SPDX-License-Identifier: Apache-2.0
//
// Views: ops whose result may be their operand's memory under another type.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_VIEWS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_VIEWS_H

#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// Whether `op` is a reshape or transposition: a view, if the types of its operand and result lie in memory alike.
bool isViewKind(mlir::Operation *op);
/// Whether `op` is a reshape or transposition whose result type lies in memory as its operand's does, so that nothing moves.
bool isView(mlir::Operation *op);

} // namespace hewn::graph

#endif
