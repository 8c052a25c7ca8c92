// SPDX-License-Identifier: Apache-2.0
//
// Vectorized maps: a thread computes several contiguous elements of the results as vectors. Used
// for kernels in which an indexing op or a reduction reads contiguous operand elements for
// contiguous result elements, such as a slice, a window over dims other than the innermost one, or
// split-K partials. GpuWide.h handles kernels in which all ops read elements at the index of the
// result.
#ifndef HEWN_LIB_CODEGEN_GPU_LOOPS_GPUVECTORS_H
#define HEWN_LIB_CODEGEN_GPU_LOOPS_GPUVECTORS_H

#include "lib/Codegen/GPU/GpuBuilder.h"

namespace hewn::codegen {

/// Returns true if the results number `together`, which have equal dims, can be computed as vectors
/// of `lanes` elements. Each input must be read as one element for all lanes, or as contiguous
/// aligned vectors of at most GpuWide::kBytes, and all ops must support vectors. Emits scratch code
/// at the insertion point of `b` and erases it.
bool makesVectors(KernelContext &k, mlir::OpBuilder &b, llvm::ArrayRef<unsigned> together, int64_t lanes);

/// Emits the vectorized map. Fails if `makesVectors` returns false.
llvm::LogicalResult emitVectorMap(KernelContext &k, GpuBuilder &gpu, mlir::OpBuilder &b,
                                  llvm::ArrayRef<unsigned> together, int64_t lanes);

} // namespace hewn::codegen

#endif
