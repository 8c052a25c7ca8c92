// SPDX-License-Identifier: Apache-2.0
//
// Results that are made of long runs of an operand's elements as they are: repetitions, slices, and whole rows in another order. memmove of the C
// library avoids the read for ownership of the lines that it writes, which plain stores cause: a third of the traffic of large copies.
#ifndef HEWN_LIB_CODEGEN_LOOPS_RUNS_H
#define HEWN_LIB_CODEGEN_LOOPS_RUNS_H

#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// A result as runs of `length` elements: one for each index in dims of these extents, at these distances.
struct Runs {
  mlir::Value source; // memref
  int64_t first = 0, length = 1;
  llvm::SmallVector<int64_t> extents, sourceSteps, targetSteps;
};

/// How a result lies in an operand of its kernel; nullopt: its runs are short or its size not known, or it is something else, for which there are
/// loops. Makes ops at the builder's insertion point, and takes them back.
std::optional<Runs> planRuns(KernelFunction &k, mlir::OpBuilder &b, unsigned result);

/// Copies them.
void emitRuns(KernelFunction &k, mlir::OpBuilder &b, unsigned result, const Runs &runs);

} // namespace hewn::codegen

#endif
