// SPDX-License-Identifier: Apache-2.0
//
// Kernel generator for 3x3 convolutions by Winograd's algorithm
// (dialects/Graph/Contract/Winograd.h).
//
// The output is computed in blocks of tiles. The input tiles d of a block are transformed (B' d B,
// vectorized along the channels, with masks outside of the input) into one matrix per element of a
// tile. Each matrix is multiplied by the matrix of weights for that element, which was transformed
// at compile time. The products m are transformed back (A' m A) and then pass through the kernel's
// epilogue, as GEMM accumulators do. A block's matrices stay in the cache; no intermediate buffer
// is as large as the input.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_WINOGRADENGINE_H
#define HEWN_LIB_CODEGEN_CONTRACT_WINOGRADENGINE_H

#include "lib/Codegen/Kernel/KernelContext.h"
#include "lib/Schedule/WinogradSchedule.h"

namespace hewn::codegen {

/// Returns the cost model's schedule for a contraction with Winograd-transformed weights. Returns
/// null if the kernel has no such contraction. Emits a remark and returns null if the contraction
/// is not supported.
plan::WinogradAttr chooseWinograd(KernelContext &k);
/// Returns the schedules that the schedule search may try for a Winograd convolution; the cost
/// model's schedule is first.
llvm::SmallVector<plan::WinogradAttr> winogradCandidates(KernelContext &k);
/// Verifies that code can be generated for the schedule of a Winograd convolution, apart from its
/// scratch memory. Emits an error on the kernel if not.
llvm::LogicalResult verifyWinograd(KernelContext &k, plan::WinogradAttr schedule);
/// Returns the dims of the scratch memory that a Winograd convolution's schedule needs: [slots,
/// floats per slot].
graph::Dims winogradScratch(KernelContext &k, plan::WinogradAttr schedule);

/// Emits the loops of the kernel as `schedule` describes, with intermediate matrices in the
/// kernel's scratch memory. Emits an error on the kernel and fails if the schedule does not apply.
llvm::LogicalResult emitWinograd(KernelContext &k, mlir::OpBuilder &b, plan::WinogradAttr schedule,
                                 const std::optional<Buffer> &memory);

} // namespace hewn::codegen

#endif
