// SPDX-License-Identifier: Apache-2.0
//
// Kernels of NVIDIA GPUs: those of lib/Codegen/GPU, and contractions and fused attention by MMA.
#ifndef HEWN_LIB_TARGET_NVPTX_KERNELS_KERNELS_H
#define HEWN_LIB_TARGET_NVPTX_KERNELS_KERNELS_H

#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/Kernel/KernelGenerator.h"
#include "lib/Target/NVPTX/Kernels/Attention/OnlineRows.h"

namespace hewn::codegen {

/// Returns the generator of the kernels.
const KernelGenerator &nvptxKernelGenerator();

/// Returns the schedule of a kernel (ChooseSchedule.cpp). `wanted` is the tile that an earlier pass
/// has selected for the kernel's contraction, or null. The analysis emits scratch code at the
/// insertion point of `b`, which must be in a function that the caller discards.
mlir::Attribute chooseGpu(KernelContext &k, mlir::OpBuilder &b, plan::GpuTileAttr wanted);

/// Emits the body of `k.function` at the insertion point of `b`. Emits an error on the kernel if
/// the schedule does not apply.
llvm::LogicalResult emitGpuContraction(KernelContext &k, mlir::OpBuilder &b, plan::GpuContractAttr schedule);
/// Emits a contraction as one tile of the result per block, by warp-level or warpgroup MMA.
llvm::LogicalResult emitGpuMatrix(KernelContext &k, mlir::OpBuilder &b, const GpuTiles &tiles,
                                  plan::GpuContractAttr schedule);
/// Emits fused attention. `memory` is the kernel's scratch memory, in which blocks combine the
/// partial results of column splits.
llvm::LogicalResult emitGpuAttention(KernelContext &k, mlir::OpBuilder &b, plan::GpuAttentionAttr schedule,
                                     const std::optional<Buffer> &memory);

/// Return the kernel as fused attention on matrix instructions (gpuAttention), and the online
/// softmax of its rows (onlineRows). Return the reason if the kernel is not of this form.
OrReason<graph::FusedAttention> gpuAttention(KernelContext &k);
OrReason<OnlineRows> onlineRows(KernelContext &k, mlir::OpBuilder &b, const graph::FusedAttention &attention);

} // namespace hewn::codegen

#endif
