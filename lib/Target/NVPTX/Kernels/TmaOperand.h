// SPDX-License-Identifier: Apache-2.0
//
// Finds contraction operands that TMA can load (GpuBuilder::fetch): tensors of two or three dims
// whose innermost dim is contiguous. TMA computes the addresses, so threads need no registers for
// them.
#ifndef HEWN_LIB_TARGET_NVPTX_KERNELS_TMAOPERAND_H
#define HEWN_LIB_TARGET_NVPTX_KERNELS_TMAOPERAND_H

#include "lib/Codegen/GPU/Contract/GpuTiles.h"

namespace hewn::codegen {

/// A contraction operand as TMA sees it: a tensor of two or three dims. From the innermost on,
/// these are K and rows (or columns), in the operand's order, then batch if there is any. With a
/// blocked layout, the dims are the rows of a block, K, and the blocks.
struct TmaOperand {
  /// Number of the kernel function's argument that has the operand's memory.
  unsigned argument;
  /// Number of elements along each dim of the tensor, and strides of the dims in elements.
  graph::Dims extents, strides;
  /// Number of rows (or columns) of a block; 0 if the layout is not blocked.
  int64_t block = 0;
};

/// Returns the operand as a TMA tensor of `staged` elements, or the reason why TMA cannot load it:
/// it is computed, has zero padding or another element type, or its dims do not collapse to two or
/// three.
OrReason<TmaOperand> tmaOperand(KernelContext &k, const GpuTiles &tiles, unsigned operand, mlir::Type staged);

/// Returns both operands of a contraction on matrix instructions as TMA tensors, or the reason why
/// TMA cannot load one of them.
OrReason<std::pair<TmaOperand, TmaOperand>> gpuBoxes(KernelContext &k, const GpuTiles &tiles);

/// Adds an argument to the kernel: the TMA descriptor for tiles with `sizes` elements along each
/// dim and `bytes` bytes per element. If `rounds` is true, TMA rounds float32 to TF32.
mlir::Value addBox(KernelContext &k, const TmaOperand &box, int64_t bytes, bool rounds, llvm::ArrayRef<int64_t> sizes);

} // namespace hewn::codegen

#endif
