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

/// The kernel as a chain; nullopt where it is none, or where its rows are of unknown length or too long for a task.
std::optional<graph::Chain> chainIn(plan::KernelOp kernel);

/// Emits it; an error on the kernel where a step does not fit.
llvm::LogicalResult emitChain(KernelFunction &k, mlir::OpBuilder &b, const graph::Chain &chain);

} // namespace hewn::codegen

#endif
