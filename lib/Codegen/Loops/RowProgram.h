// SPDX-License-Identifier: Apache-2.0
//
// Row programs: kernels whose reductions all run over the same dims.
//
// A row is what is reduced. For each row the code makes passes over it: a pass computes the reductions whose operands
// need only what earlier passes found, the last one writes what has a row's extent. Softmax is three passes: max; exp
// and sum; scale. A value that is expensive (an exponential) and needed by a later pass is kept in the row of the result,
// which is written last anyway, so no scratch memory is needed.
#ifndef HEWN_LIB_CODEGEN_LOOPS_ROWPROGRAM_H
#define HEWN_LIB_CODEGEN_LOOPS_ROWPROGRAM_H

#include "lib/Codegen/KernelFunction.h"
#include "lib/Support/Remarks.h"

namespace hewn::codegen {

struct RowProgram {
  graph::Dims space;                  // the dims of the reduced operands
  llvm::SmallVector<int64_t> reduced; // which of them are reduced
  llvm::SmallVector<int64_t> order;   // memory order of the space
  /// Innermost dims, all of them reduced, that lie one after the other in all that is read and written, so that they are walked as one
  /// long dim: from the outermost on, two or more, or none.
  llvm::SmallVector<int64_t> joined;
  /// Reductions by pass.
  llvm::SmallVector<llvm::SmallVector<graph::ReduceOpInterface>> passes;
  /// Of each result of the kernel.
  llvm::SmallVector<graph::SpaceMap::Place> places;
};

/// The passes of a kernel; a reason where its reductions do not share a space, what is made of them has no place there, or they are
/// better done element by element (small windows).
Found<RowProgram> planRows(KernelFunction &k);
void emitRows(KernelFunction &k, mlir::OpBuilder &b, const RowProgram &rows);

} // namespace hewn::codegen

#endif
