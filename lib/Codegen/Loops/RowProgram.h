// SPDX-License-Identifier: Apache-2.0
//
// Row-wise reduction kernels: all reductions are over the same dims, which form a row.
//
// The code makes several passes over each row. A pass computes the reductions whose operands depend
// only on results of earlier passes. The last pass stores the results that have an element for each
// element of the row. Softmax takes three passes: maximum; exponential and sum; scale. An expensive
// value (an exponential) that a later pass needs is stored in the row of the result. Since the
// result itself is written last, this needs no scratch memory.
#ifndef HEWN_LIB_CODEGEN_LOOPS_ROWPROGRAM_H
#define HEWN_LIB_CODEGEN_LOOPS_ROWPROGRAM_H

#include "lib/Codegen/Kernel/KernelContext.h"
#include "lib/Support/Remarks.h"

namespace hewn::codegen {

struct RowProgram {
  graph::Dims space;                  // the dims of the reduced operands
  llvm::SmallVector<int64_t> reduced; // the dims that are reduced
  llvm::SmallVector<int64_t> order;   // memory order of the space
  /// The innermost reduced dims, outermost first, if they are contiguous in all operands and
  /// results and are therefore iterated as one long dim. Empty if fewer than two dims can be
  /// collapsed.
  llvm::SmallVector<int64_t> joined;
  /// The reductions that each pass computes.
  llvm::SmallVector<llvm::SmallVector<graph::ReduceOpInterface>> passes;
  /// For each result of the kernel, the mapping of its indices to the space.
  llvm::SmallVector<graph::SpaceMap::Place> places;
};

/// Returns the passes of a kernel. Returns a reason if its reductions have different spaces, if a
/// result reads a reduction of another row, or if small windows are faster element by element.
OrReason<RowProgram> planRows(KernelContext &k);
void emitRows(KernelContext &k, mlir::OpBuilder &b, const RowProgram &rows);

} // namespace hewn::codegen

#endif
