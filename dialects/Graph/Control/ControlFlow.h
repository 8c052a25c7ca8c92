// SPDX-License-Identifier: Apache-2.0
//
// How passes and the program's emission ask for control flow: by ControlOpInterface, whichever op it is.
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_CONTROLFLOW_H
#define HEWN_DIALECTS_GRAPH_CONTROL_CONTROLFLOW_H

#include "dialects/Graph/Graph.h"

namespace hewn::graph {

/// The op as one whose regions are branches, as a loop, and as a counted loop: one whose number of steps is known before the first
/// one; null: it is none. `op` may be null.
ControlOpInterface branchesOf(mlir::Operation *op);
ControlOpInterface loopOf(mlir::Operation *op);
ControlOpInterface countedLoopOf(mlir::Operation *op);

} // namespace hewn::graph

#endif
