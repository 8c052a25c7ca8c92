// SPDX-License-Identifier: Apache-2.0
//
// Finds values whose elements are a contiguous range of another value, in row-major order: slices
// of leading dims, and reshapes of these.
#ifndef HEWN_DIALECTS_GRAPH_INDEXING_MEMORYRUN_H
#define HEWN_DIALECTS_GRAPH_INDEXING_MEMORYRUN_H

#include "dialects/Graph/Analysis/Dims.h"

namespace hewn::graph {

/// A contiguous range of the elements of the value `whole`, in row-major order, that starts at
/// index `first`. Another value consists of the elements of the range.
struct MemoryRun {
  mlir::Value whole;
  DimExpr first;
};

/// Follows slices and reshapes from a value to the largest value of which it is a contiguous range.
/// A value that is neither a slice nor a reshape is a range of itself from 0. Results are cached,
/// because chains of slices may be long. The cache is valid as long as these ops do not change.
class MemoryRuns {
public:
  MemoryRun of(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, MemoryRun> found;
};

} // namespace hewn::graph

#endif
