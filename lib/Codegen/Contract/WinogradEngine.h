// SPDX-License-Identifier: Apache-2.0
//
// The engine for windows of 3 x 3 by Winograd's minimal filtering (dialects/Graph/Contract/Winograd.h).
//
// For each block of tiles: the operand's tiles are transformed into as many matrices as a tile has elements (B' d B, channels
// in lanes; what lies outside of the operand is masked), each is multiplied with the weights of its place, which were
// transformed when compiling, and the sums are transformed back (A' m A) and go through the kernel's other ops as
// accumulators do. A block's matrices stay in the cache; nothing of them is as large as the operand.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_WINOGRADENGINE_H
#define HEWN_LIB_CODEGEN_CONTRACT_WINOGRADENGINE_H

#include "lib/Codegen/KernelFunction.h"
#include "lib/Schedule/WinogradSchedule.h"

namespace hewn::codegen {

/// The model's schedule for a contraction whose weights are transformed; null where the kernel is none, or the engine can't take it.
plan::WinogradAttr chooseWinograd(KernelFunction &k);
/// Those that a search over schedules may try: first that one.
llvm::SmallVector<plan::WinogradAttr> winogradCandidates(KernelFunction &k);
/// Whether code can be made by the schedule, in the scratch memory that it needs; an error on the kernel otherwise.
llvm::LogicalResult verifyWinograd(KernelFunction &k, plan::WinogradAttr schedule);
/// Dims of the scratch memory that it needs: slots, floats of each.
graph::Dims winogradScratch(KernelFunction &k, plan::WinogradAttr schedule);

/// Emits the loops of the kernel by `schedule`, in its scratch memory; fails with a message at the kernel where that can't be done.
llvm::LogicalResult emitWinograd(KernelFunction &k, mlir::OpBuilder &b, plan::WinogradAttr schedule,
                                 const std::optional<Buffer> &memory);

} // namespace hewn::codegen

#endif
