// SPDX-License-Identifier: Apache-2.0
//
// What an op costs, as far as decisions need it.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_COST_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_COST_H

#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// Whether the op is elementwise and its body calls a function that takes tens of instructions: exp, tanh, pow, a root.
bool isTranscendental(mlir::Operation &op);

} // namespace hewn::graph

#endif
