// SPDX-License-Identifier: Apache-2.0
//
// Kernels as code for one thread of a grid.
//
// The same kinds of op as in Loops/ and Contract/, and the same elements (KernelElements), in these forms:
//   map       a thread an element of the result, or 16 bytes of them: evaluates all that it needs
//   turn      the same of what lies along another dim than the result: a block a tile, through shared memory
//   sweep     running sums: a thread or a block a line
//   rows      reductions over the same dims: a warp or a block a row
//   tiles     a contraction: a block a tile of the result, operands staged in shared memory
//   matrix    the same by the matrix instruction of warps
//   few       a contraction of few rows or columns: a warp or a block some columns
//   chain     two contractions with rows between them: a warp some rows
#ifndef HEWN_LIB_CODEGEN_GRID_GRIDENGINE_H
#define HEWN_LIB_CODEGEN_GRID_GRIDENGINE_H

#include "dialects/Graph/Contract/Chain.h"
#include "lib/Codegen/Grid/Contract/GridTiles.h"
#include "lib/Codegen/KernelFunction.h"
#include "lib/Codegen/Loops/RowProgram.h"

namespace hewn::codegen {

/// Fills `k.function` at the builder's insertion point. Nothing is refused.
void emitGrid(KernelFunction &k, mlir::OpBuilder &b);

/// The forms, each for what it takes.
void emitGridMap(KernelFunction &k, mlir::OpBuilder &b);
/// A map that reads along another dim than it writes; false: the kernel is none, and nothing was done.
bool emitGridTurn(KernelFunction &k, mlir::OpBuilder &b);
/// Running sums that are alone in their kernel; false: there are none, and nothing was done.
bool emitGridSweep(KernelFunction &k, mlir::OpBuilder &b);
void emitGridRows(KernelFunction &k, mlir::OpBuilder &b, const RowProgram &rows);
/// For what plan::multipliesMatrices.
void emitGridMatrix(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles);
/// Whether it has few rows or columns, and enough of the rest.
bool takesFew(const GridTiles &tiles);
void emitGridFew(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles);
/// Bytes of a block that keeps the larger operand on chip; nullopt: it can't. The functions that bring it to `kept`, and that read it
/// there: its threads wait for each other when they have.
std::optional<int64_t> bytesKeptByFew(const GridTiles &tiles, int64_t warp);
void emitGridFewKeep(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles, mlir::Value kept);
void emitGridFewKept(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles, mlir::Value kept);
/// Whether a tile's threads have enough to share.
bool takesTiles(const GridTiles &tiles);
void emitGridTiles(KernelFunction &k, mlir::OpBuilder &b, const GridTiles &tiles);
/// The kernel as a chain that the matrix instruction takes.
std::optional<graph::Chain> gridChain(KernelFunction &k);
void emitGridChain(KernelFunction &k, mlir::OpBuilder &b, const graph::Chain &chain);

} // namespace hewn::codegen

#endif
