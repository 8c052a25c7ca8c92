// SPDX-License-Identifier: Apache-2.0
//
// Kernel generator for fused attention: two contractions with row-wise ops between them
// (dialects/Graph/Contract/FusedAttention.h).
//
// A task processes a block of rows. The contraction and loop generators emit its three steps:
// scores = Q K', row-wise ops (softmax), weights V. The task's scores and weights are full rows in
// two buffers, on the stack or in scratch memory. Softmax therefore needs no online rescaling, and
// no buffer of rows x columns exists. FlashAttention (Dao et al. 2022) does the same in a GPU's
// shared memory but has to split rows; a full row fits a CPU's L2 cache.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_ATTENTIONENGINE_H
#define HEWN_LIB_CODEGEN_CONTRACT_ATTENTIONENGINE_H

#include "dialects/Graph/Contract/FusedAttention.h"
#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// Returns the cost model's schedule for fused attention. Returns null if the rows fit neither the
/// stack nor scratch memory. If the shapes of a step do not match, emits an error and fails.
mlir::FailureOr<plan::AttentionAttr> chooseAttention(KernelContext &k, const graph::FusedAttention &attention);
/// Returns the schedules that the schedule search may try for fused attention. The cost model's
/// schedule is first; the others differ in the number of rows per task or in the tiles of the two
/// contractions.
llvm::SmallVector<plan::AttentionAttr> attentionCandidates(KernelContext &k, const graph::FusedAttention &attention);
/// Verifies that code for fused attention can be generated for the schedule, with the scratch
/// memory that the schedule needs. Emits an error on the kernel if not.
llvm::LogicalResult verifyAttention(KernelContext &k, const graph::FusedAttention &attention,
                                    plan::AttentionAttr schedule);
/// Returns the dims of the scratch memory that the schedule needs: [slots, buffers per slot, rows
/// per buffer, stride between rows]. A slot has a buffer for the scores and, unless the weights
/// overwrite the scores, one for the weights. Returns no dims if the rows are on the stack.
graph::Dims attentionScratch(const graph::FusedAttention &attention, plan::AttentionAttr schedule);

/// Emits the kernel as `schedule` describes. `memory` is the kernel's scratch memory, if the
/// schedule needs it. Emits an error on the kernel and fails if the schedule does not apply.
llvm::LogicalResult emitAttention(KernelContext &k, mlir::OpBuilder &b, plan::AttentionAttr schedule,
                                  const std::optional<Buffer> &memory);

} // namespace hewn::codegen

#endif
