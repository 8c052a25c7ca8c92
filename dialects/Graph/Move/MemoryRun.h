// SPDX-License-Identifier: Apache-2.0
//
// Values that are some elements of another one which follow each other in row-major order: slices of leading dims, and reshapes of them.
#ifndef HEWN_DIALECTS_GRAPH_MOVE_MEMORYRUN_H
#define HEWN_DIALECTS_GRAPH_MOVE_MEMORYRUN_H

#include "dialects/Graph/Analysis/Dims.h"

namespace hewn::graph {

/// The elements of `whole` from number `first` on.
struct MemoryRun {
  mlir::Value whole;
  DimExpr first;
};

/// Of what the value is a run, as far as the moves tell that make it: of itself from 0 on where they tell nothing.
MemoryRun memoryRunOf(mlir::Value value);

} // namespace hewn::graph

#endif
