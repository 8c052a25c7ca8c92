// SPDX-License-Identifier: Apache-2.0
//
// What kernels of loops on a grid are, as their engines find it and schedules are chosen by it.
#ifndef HEWN_LIB_CODEGEN_GRID_LOOPS_GRIDLOOPS_H
#define HEWN_LIB_CODEGEN_GRID_LOOPS_GRIDLOOPS_H

#include "lib/Codegen/Grid/Loops/GridWide.h"
#include "lib/Codegen/Loops/RowProgram.h"

namespace hewn::codegen {

/// The dims of a row program in memory's order: those of a row, and those that count rows.
struct GridRowDims {
  llvm::SmallVector<int64_t> inner, outer;
  /// Whether neighbours in memory are of neighbouring rows.
  bool sideBySide = false;
};
GridRowDims rowDims(const RowProgram &rows);
/// Rows that are read and written `lanes` neighbours at once, as GridWide::along says; nullopt also where rows have several dims.
std::optional<GridWide> wideRows(KernelFunction &k, const RowProgram &rows, std::optional<int64_t> lanes);

/// Lines along which is cumulated: the dims that count them in memory's order, without those of one, and whether the elements of a line
/// lie side by side.
struct GridLineDims {
  llvm::SmallVector<int64_t> outer;
  bool areContiguous = false;
};
GridLineDims linesOf(graph::CumulateOpInterface op);

/// The dims of a result in which its neighbours lie, and in which those of the tensor lie that it is read of.
struct GridTransposeDims {
  unsigned along = 0, across = 0;
};
/// Those of a kernel that is a map of one tensor along another dim than it writes, or why it is none. Emits code at the builder's place
/// and erases it.
Found<GridTransposeDims> transposedDims(KernelFunction &k, mlir::OpBuilder &b);

/// Results of equal dims that are made `lanes` neighbours at once, as GridWide::along says.
std::optional<GridWide> wideMap(KernelFunction &k, llvm::ArrayRef<unsigned> results, std::optional<int64_t> lanes);

} // namespace hewn::codegen

#endif
