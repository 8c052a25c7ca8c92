// SPDX-License-Identifier: Apache-2.0
//
// Contractions on a grid, by the form that their schedule says:
//   tiles     a block a tile of the result, operands staged in shared memory
//   matrix    the same by the matrix instruction of warps
//   few       few rows or columns: a warp or a block some of the others
#ifndef HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDCONTRACTENGINE_H
#define HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDCONTRACTENGINE_H

#include "lib/Codegen/Grid/Contract/GridTiles.h"
#include "lib/Schedule/GridSchedule.h"

namespace hewn::codegen {

/// Fills `k.function` at the builder's insertion point; an error on the kernel where no code can be made by the schedule.
llvm::LogicalResult emitGridContraction(KernelFunction &k, mlir::OpBuilder &b, plan::GridContractAttr schedule);

/// Beside a kernel that may keep an argument, the functions that do (plan::kKeepsAttr), where its form can.
void emitKept(KernelFunction &k, mlir::OpBuilder &b, plan::GridContractAttr schedule);

/// The forms.
llvm::LogicalResult emitGridMatrix(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles,
                                   plan::GridContractAttr schedule);
llvm::LogicalResult emitGridTiles(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles,
                                  plan::GridContractAttr schedule);
llvm::LogicalResult verifyGridFew(KernelFunction &k, const GridTiles &tiles, plan::GridContractAttr schedule);
void emitGridFew(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule);
/// Bytes of a block that keeps the larger operand on chip; nullopt: it can't. The functions that bring it to `kept`, and that read it
/// there: its threads wait for each other when they have.
std::optional<int64_t> bytesKeptByFew(const GridTiles &tiles, plan::GridContractAttr schedule);
void emitGridFewKeep(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule,
                     mlir::Value kept);
void emitGridFewKept(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule,
                     mlir::Value kept);

} // namespace hewn::codegen

#endif
