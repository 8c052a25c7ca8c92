// SPDX-License-Identifier: Apache-2.0
//
// What the calculation of a position shows of it.
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_FACTS_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_FACTS_H

#include "mlir/IR/Value.h"

namespace hewn::graph {

/// A number that divides the position; 0 where that is 0.
int64_t factorOf(mlir::Value position);

} // namespace hewn::graph

#endif
