// SPDX-License-Identifier: Apache-2.0
//
// GPU kernel generators.
//
// They handle the op categories of Loops/ and Contract/ and emit elements with ElementEmitter, as
// the CPU generators do. Each generator has a schedule attribute (dialects/Plan/PlanBase.td):
//
// | schedule | work distribution |
// | --- | --- |
// | gpu_map | one or several neighbouring result elements per thread |
// | gpu_transpose | one tile per block, through shared memory |
// | gpu_cumulate | prefix scan: one thread or one block per row |
// | gpu_rows | reductions over the same dims: one thread, warp or block per row |
// | gpu_contract | one contraction: see Contract/GpuContractEngine.h |
// | gpu_attention | two contractions with row-wise ops between them: some rows per warp |
#ifndef HEWN_LIB_CODEGEN_GPU_GPUENGINE_H
#define HEWN_LIB_CODEGEN_GPU_GPUENGINE_H

#include "dialects/Graph/Contract/FusedAttention.h"
#include "lib/Codegen/GPU/Attention/OnlineRows.h"
#include "lib/Codegen/GPU/Contract/GpuContractEngine.h"
#include "lib/Codegen/KernelContext.h"

namespace hewn::codegen {

/// Returns the GPU schedule of a kernel (AssignGpuSchedules.cpp). `wanted` is the tile that an
/// earlier pass has selected for the kernel's contraction, or null. The analysis emits scratch code
/// at the insertion point of `b`, which must be in a function that the caller discards.
mlir::Attribute chooseGpu(KernelContext &k, mlir::OpBuilder &b, plan::GpuTileAttr wanted);

/// Verify that code can be generated for the GPU kernel (verifyForGpu), and that the block size of
/// `schedule` is valid for the target (verifyThreads). Emit an error on the kernel if not.
llvm::LogicalResult verifyForGpu(plan::KernelOp kernel);
llvm::LogicalResult verifyThreads(KernelContext &k, mlir::Attribute schedule);

/// Emit the body of `k.function` at the insertion point of `b`, as `schedule` describes. Emit an
/// error on the kernel if the schedule does not apply.
llvm::LogicalResult emitGpuMap(KernelContext &k, mlir::OpBuilder &b, plan::GpuMapAttr schedule);
llvm::LogicalResult emitGpuTranspose(KernelContext &k, mlir::OpBuilder &b, plan::GpuTransposeAttr schedule);
llvm::LogicalResult emitGpuCumulate(KernelContext &k, mlir::OpBuilder &b, plan::GpuCumulateAttr schedule);
llvm::LogicalResult emitGpuRows(KernelContext &k, mlir::OpBuilder &b, plan::GpuRowsAttr schedule);
/// `memory` is the kernel's scratch memory, in which blocks combine the partial results of column
/// splits.
llvm::LogicalResult emitGpuAttention(KernelContext &k, mlir::OpBuilder &b, plan::GpuAttentionAttr schedule,
                                     const std::optional<Buffer> &memory);

/// Finishes a kernel: lays out its shared memory and emits the companion functions for resident
/// weights. Emits an error if the shared memory exceeds that of a block.
llvm::LogicalResult finishGrid(KernelContext &k, mlir::OpBuilder &b, mlir::Attribute schedule);

/// Return the kernel as fused attention on matrix instructions (gpuAttention), and the online
/// softmax of its rows (onlineRows). Return the reason if the kernel is not of this form.
OrReason<graph::FusedAttention> gpuAttention(KernelContext &k);
OrReason<OnlineRows> onlineRows(KernelContext &k, mlir::OpBuilder &b, const graph::FusedAttention &attention);

} // namespace hewn::codegen

#endif
