// SPDX-License-Identifier: Apache-2.0
//
// Facts about index values that follow from the ops that compute them.
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_FACTS_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_FACTS_H

#include "mlir/IR/Value.h"

namespace hewn::graph {

/// Returns a number that divides the index value `position`, or 0 if `position` is 0.
int64_t factorOf(mlir::Value position);

} // namespace hewn::graph

#endif
