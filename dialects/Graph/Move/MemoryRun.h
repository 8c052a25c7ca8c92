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

/// Of what values are runs, as far as the moves tell that make them: of themselves from 0 on where they tell nothing. Keeps what it has found, for slices of
/// slices without end; to be used while the moves stay as they are.
class MemoryRuns {
public:
  MemoryRun of(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, MemoryRun> found;
};

} // namespace hewn::graph

#endif
