// SPDX-License-Identifier: Apache-2.0
//
// Copies results that consist of long contiguous runs of an operand's elements: repetitions,
// slices, and permutations of full rows. The C library's memmove copies them. Plain stores read
// each cache line for ownership before they write it, which is a third of the traffic of a large
// copy; memmove avoids these reads.
#ifndef HEWN_LIB_CODEGEN_LOOPS_RUNS_H
#define HEWN_LIB_CODEGEN_LOOPS_RUNS_H

#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// A result that consists of contiguous runs of `length` elements. There is one run for each index
/// of a loop nest with the trip counts `extents`; each loop has a step in the source and one in the
/// target. The first run begins at offset `first` in the source.
struct Runs {
  mlir::Value source; // memref
  int64_t first = 0, length = 1;
  llvm::SmallVector<int64_t> extents, sourceSteps, targetSteps;
};

/// Returns the runs of a result. Returns nullopt, so that loops are emitted instead, if the result
/// is not a copy of an operand, if the runs are short, if the result is small, or if a size is
/// dynamic. Emits scratch code at the insertion point of `b` and erases it.
std::optional<Runs> planRuns(KernelContext &k, mlir::OpBuilder &b, unsigned result);

/// Emits the copies of the runs by memmove, as the kernel's tasks.
void emitRuns(KernelContext &k, mlir::OpBuilder &b, unsigned result, const Runs &runs);

} // namespace hewn::codegen

#endif
