// SPDX-License-Identifier: Apache-2.0
//
// Kernels as code for one thread of a grid.
//
// The same kinds of op as in Loops/ and Contract/, and the same elements (KernelElements), in these forms, each with a schedule of its
// own (dialects/Plan/PlanBase.td):
//   grid_map         a thread an element of the result, or some neighbours of them: evaluates all that it needs
//   grid_transpose   the same of what lies along another dim than the result: a block a tile, through shared memory
//   grid_cumulate    running sums: a thread or a block a line
//   grid_rows        reductions over the same dims: a thread, a warp or a block a row
//   grid_contract    a contraction: Contract/GridContractEngine.h
//   grid_chain       two contractions with rows between them: a warp some rows
#ifndef HEWN_LIB_CODEGEN_GRID_GRIDENGINE_H
#define HEWN_LIB_CODEGEN_GRID_GRIDENGINE_H

#include "dialects/Graph/Contract/Chain.h"
#include "lib/Codegen/Grid/Chain/OnlineRows.h"
#include "lib/Codegen/Grid/Contract/GridContractEngine.h"
#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// The schedule of a kernel for a grid of threads (DecideGrid.cpp). `wanted`: the tile that it has been given for its contraction; null:
/// none. What its forms are is found by code at the builder's place, in a function that is then thrown away.
mlir::Attribute chooseGrid(KernelFunction &k, mlir::OpBuilder &b, plan::GridTileAttr wanted);

/// Whether the kernel has code on a grid of threads at all, and its blocks are some of the machine's. An error on it otherwise.
llvm::LogicalResult verifyForGrid(plan::KernelOp kernel);
llvm::LogicalResult verifyThreads(KernelFunction &k, mlir::Attribute schedule);

/// Each fills `k.function` at the builder's insertion point, as the schedule says; an error on the kernel where no code can be made by it.
llvm::LogicalResult emitGridMap(KernelFunction &k, mlir::OpBuilder &b, plan::GridMapAttr schedule);
llvm::LogicalResult emitGridTranspose(KernelFunction &k, mlir::OpBuilder &b, plan::GridTransposeAttr schedule);
llvm::LogicalResult emitGridCumulate(KernelFunction &k, mlir::OpBuilder &b, plan::GridCumulateAttr schedule);
llvm::LogicalResult emitGridRows(KernelFunction &k, mlir::OpBuilder &b, plan::GridRowsAttr schedule);
/// `memory`: the kernel's scratch memory, in which splits of the columns meet.
llvm::LogicalResult emitGridChain(KernelFunction &k, mlir::OpBuilder &b, plan::GridChainAttr schedule,
                                  const std::optional<Buffer> &memory);

/// At the end of a kernel, what its blocks share; an error on it where that is more than they have.
llvm::LogicalResult finishGrid(KernelFunction &k, mlir::OpBuilder &b, mlir::Attribute schedule);

/// The kernel as a chain that the matrix instruction takes, and the softmax of its rows, or why there is none.
Found<graph::Chain> gridChain(KernelFunction &k);
Found<OnlineRows> onlineRows(KernelFunction &k, mlir::OpBuilder &b, const graph::Chain &chain);

} // namespace hewn::codegen

#endif
