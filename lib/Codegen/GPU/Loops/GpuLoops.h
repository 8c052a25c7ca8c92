// SPDX-License-Identifier: Apache-2.0
//
// Analyses of GPU loop kernels, which the kernel generators and the choice of schedules share.
#ifndef HEWN_LIB_CODEGEN_GPU_LOOPS_GPULOOPS_H
#define HEWN_LIB_CODEGEN_GPU_LOOPS_GPULOOPS_H

#include "lib/Codegen/GPU/Loops/GpuWide.h"
#include "lib/Codegen/Loops/RowProgram.h"

namespace hewn::codegen {

/// Dims of a row-wise kernel, in memory order: `inner` dims are within a row, `outer` dims index
/// the rows.
struct GpuRowDims {
  llvm::SmallVector<int64_t> inner, outer;
  /// True if elements that are adjacent in memory belong to different rows.
  bool sideBySide = false;
};
GpuRowDims rowDims(const RowProgram &rows);
/// Returns the vectorization of a row-wise kernel along its rows, with `lanes` elements per vector;
/// see GpuWide::along. Returns nullopt also if a row has several dims.
std::optional<GpuWide> wideRows(KernelContext &k, const RowProgram &rows, std::optional<int64_t> lanes);

/// The rows that a prefix scan scans: the dims that index them, in memory order and without dims of
/// size 1, and whether the elements of a row are contiguous.
struct AttentionTileDims {
  llvm::SmallVector<int64_t> outer;
  bool areContiguous = false;
};
AttentionTileDims linesOf(graph::PrefixScanOpInterface op);

/// Two dims of a transpose's result: `along` is contiguous in the result, `across` in the input.
struct GpuTransposeDims {
  unsigned along = 0, across = 0;
};
/// Returns the dims of a map that transposes one input, or the reason why the kernel is no such
/// map. Emits scratch code at the insertion point of `b` and erases it.
OrReason<GpuTransposeDims> transposedDims(KernelContext &k, mlir::OpBuilder &b);

/// Returns the vectorization of the results number `results`, which have equal dims, with `lanes`
/// elements per vector; see GpuWide::along.
std::optional<GpuWide> wideMap(KernelContext &k, llvm::ArrayRef<unsigned> results, std::optional<int64_t> lanes);

} // namespace hewn::codegen

#endif
