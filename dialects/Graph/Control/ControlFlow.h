// SPDX-License-Identifier: Apache-2.0
//
// Queries of control flow, for passes and for the emission of the program. They use
// ControlOpInterface.
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_CONTROLFLOW_H
#define HEWN_DIALECTS_GRAPH_CONTROL_CONTROLFLOW_H

#include "dialects/Graph/Graph.h"

namespace hewn::graph {

/// Return `op` if it is a branch op, a loop, or a counted loop (a loop whose number of steps is
/// known before its first step). Return null if `op` is null or another op.
ControlOpInterface branchesOf(mlir::Operation *op);
ControlOpInterface loopOf(mlir::Operation *op);
ControlOpInterface countedLoopOf(mlir::Operation *op);

} // namespace hewn::graph

#endif
