// SPDX-License-Identifier: Apache-2.0
//
// GPU kernels around one contraction, without matrix instructions. The schedule selects one of
// these forms:
//
// - tiles: one tile of the result per block, operands staged in shared memory, FMA instructions
// - few_rows, few_columns: skinny GEMM; each warp or block computes some of the many columns (or
//   rows)
#ifndef HEWN_LIB_CODEGEN_GPU_CONTRACT_GPUCONTRACTENGINE_H
#define HEWN_LIB_CODEGEN_GPU_CONTRACT_GPUCONTRACTENGINE_H

#include "lib/Codegen/GPU/Contract/GpuTiles.h"
#include "lib/Schedule/GpuThreadSchedule.h"

namespace hewn::codegen {

/// Emits the companion functions of a kernel with resident weights (plan::kResidentWeightsAttr), if
/// its form supports them. One function loads the weights into shared memory; the other is the
/// kernel, which reads them from there.
void emitKept(KernelContext &k, mlir::OpBuilder &b, plan::GpuContractAttr schedule);

/// Emit a GPU contraction kernel in the form that the function's name states.
llvm::LogicalResult emitGpuTiles(KernelContext &k, mlir::OpBuilder &b, const GpuTiles &tiles,
                                 plan::GpuContractAttr schedule);
llvm::LogicalResult verifySkinnyGemm(KernelContext &k, const GpuTiles &tiles, plan::GpuContractAttr schedule);
void emitSkinnyGemm(KernelContext &k, mlir::OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule);
/// Resident weights of a skinny GEMM, which are its larger operand. `bytesKeptByFew` returns the
/// bytes of shared memory that a block needs for them, or nullopt if the schedule does not support
/// them. `emitSkinnyGemmKeep` loads them into `kept`. `emitSkinnyGemmKept` emits the kernel that
/// reads them there. The caller emits a block-wide barrier between the two.
std::optional<int64_t> bytesKeptByFew(const GpuTiles &tiles, plan::GpuContractAttr schedule);
void emitSkinnyGemmKeep(KernelContext &k, mlir::OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule,
                        mlir::Value kept);
void emitSkinnyGemmKept(KernelContext &k, mlir::OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule,
                        mlir::Value kept);

} // namespace hewn::codegen

#endif
