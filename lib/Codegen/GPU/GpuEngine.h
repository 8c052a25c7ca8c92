// SPDX-License-Identifier: Apache-2.0
//
// Generators of GPU kernels without matrix instructions.
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
//
// A target family adds kernels for its matrix instructions (lib/Target/NVPTX/Kernels).
#ifndef HEWN_LIB_CODEGEN_GPU_GPUENGINE_H
#define HEWN_LIB_CODEGEN_GPU_GPUENGINE_H

#include "lib/Codegen/GPU/Contract/GpuContractEngine.h"
#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// Emit the body of `k.function` at the insertion point of `b`, as `schedule` describes. Emit an
/// error on the kernel if the schedule does not apply.
llvm::LogicalResult emitGpuMap(KernelContext &k, mlir::OpBuilder &b, plan::GpuMapAttr schedule);
llvm::LogicalResult emitGpuTranspose(KernelContext &k, mlir::OpBuilder &b, plan::GpuTransposeAttr schedule);
llvm::LogicalResult emitGpuCumulate(KernelContext &k, mlir::OpBuilder &b, plan::GpuCumulateAttr schedule);
llvm::LogicalResult emitGpuRows(KernelContext &k, mlir::OpBuilder &b, plan::GpuRowsAttr schedule);
/// Finishes a kernel: lays out its shared memory and emits the companion functions for resident
/// weights. Emits an error if the shared memory exceeds that of a block.
llvm::LogicalResult finishGrid(KernelContext &k, mlir::OpBuilder &b, mlir::Attribute schedule);

} // namespace hewn::codegen

#endif
