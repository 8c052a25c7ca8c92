// SPDX-License-Identifier: Apache-2.0
//
// Several neighbours of a map's results by one thread, evaluated as vectors: where ops move elements, or reduce others than those at
// their own place, but read neighbours that lie side by side for them (a slice, windows over dims that are not the innermost one, parts
// of a sum). What combines elements at the same place alone is GridWide.h's.
#ifndef HEWN_LIB_CODEGEN_GRID_LOOPS_GRIDVECTORS_H
#define HEWN_LIB_CODEGEN_GRID_LOOPS_GRIDVECTORS_H

#include "lib/Codegen/Grid/Grid.h"

namespace hewn::codegen {

/// Whether results `together`, of equal dims, can be made `lanes` neighbours at once: every tensor is read at one place for all of them, or
/// where vectors lie side by side at multiples of their size, of at most GridWide::kBytes; and all between is arithmetic that vectors have.
/// Emits code at the builder's place and erases it.
bool makesVectors(KernelFunction &k, mlir::OpBuilder &b, llvm::ArrayRef<unsigned> together, int64_t lanes);

/// Makes them; fails where they cannot be.
llvm::LogicalResult emitVectorMap(KernelFunction &k, Grid &grid, mlir::OpBuilder &b, llvm::ArrayRef<unsigned> together,
                                  int64_t lanes);

} // namespace hewn::codegen

#endif
