// SPDX-License-Identifier: Apache-2.0
//
// The engine for two contractions with rows between them (dialects/Graph/Contract/Chain.h): attention as one kernel.
//
// A task is a few rows. Their scores are made as a contraction, worked on as a row program and summed up as a contraction
// again, by the engines for these, in two buffers of those rows on the stack: whole rows, so that a softmax is exact, and no
// buffer of rows times columns anywhere (what FlashAttention, Dao et al. 2022, does for a GPU's shared memory; with a cache of
// a megabyte no row has to be cut).
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CHAINENGINE_H
#define HEWN_LIB_CODEGEN_CONTRACT_CHAINENGINE_H

#include "dialects/Graph/Contract/Chain.h"
#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// The kernel, but for its scratch memory, as a chain, or why it is none.
Found<graph::Chain> chainIn(KernelFunction &k);

/// The model's schedule for a chain. Failure: a step's shapes don't fit, which has been said.
mlir::FailureOr<plan::ChainAttr> chooseChain(KernelFunction &k, const graph::Chain &chain);
/// Those that a search over schedules may try: first that one, then other numbers of rows, and other tiles of the two contractions.
llvm::SmallVector<plan::ChainAttr> chainCandidates(KernelFunction &k, const graph::Chain &chain);
/// Whether code can be made by the schedule, in the scratch memory that it needs; an error on the kernel otherwise.
llvm::LogicalResult verifyChain(KernelFunction &k, const graph::Chain &chain, plan::ChainAttr schedule);
/// Dims of the scratch memory that it needs: slots, buffers of a slot (scores, and weights where these are not in place), rows of a buffer,
/// elements between rows. Empty: rows lie on the stack.
graph::Dims chainScratch(const graph::Chain &chain, plan::ChainAttr schedule);

/// Emits the kernel by `schedule`, in its scratch memory if it needs some; an error on the kernel where that can't be done.
llvm::LogicalResult emitChain(KernelFunction &k, mlir::OpBuilder &b, plan::ChainAttr schedule,
                              const std::optional<Buffer> &memory);

} // namespace hewn::codegen

#endif
