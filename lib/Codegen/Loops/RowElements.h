// SPDX-License-Identifier: Apache-2.0
//
// What the code of a row program does at one element and at one row, in vectors as in threads of a grid. A state is what a reduction
// has gathered so far; the states of several reductions lie one after the other.
#ifndef HEWN_LIB_CODEGEN_LOOPS_ROWELEMENTS_H
#define HEWN_LIB_CODEGEN_LOOPS_ROWELEMENTS_H

#include "lib/Codegen/Loops/RowProgram.h"

namespace hewn::codegen {

/// The states before the first element, with the lanes of `e`.
llvm::SmallVector<mlir::Value> rowIdentities(KernelElements &e, llvm::ArrayRef<graph::ReduceOpInterface> reductions);
/// The states with the element at `at` of the space, which is behind all that they gathered, with the lanes of `e`.
llvm::SmallVector<mlir::Value> appendElement(KernelElements &e, const RowProgram &rows,
                                             llvm::ArrayRef<graph::ReduceOpInterface> reductions,
                                             mlir::ValueRange states, llvm::ArrayRef<graph::Index> at);
/// The states of what `a` and `c` gathered, scalars or vectors of any width.
llvm::SmallVector<mlir::Value> mergeStates(KernelElements &e, llvm::ArrayRef<graph::ReduceOpInterface> reductions,
                                           mlir::ValueRange a, mlir::ValueRange c);
/// From now on the reductions' results are what their states of a whole row give.
void bindFinished(KernelElements &e, const RowProgram &rows, llvm::ArrayRef<graph::ReduceOpInterface> reductions,
                  mlir::ValueRange states);
/// Before another row: no reduction has a result.
void unbindFinished(KernelElements &e, const RowProgram &rows);

/// Writes the results that have one element a row, for the row at `at`.
void writeRowResults(KernelFunction &k, KernelElements &e, const RowProgram &rows, llvm::ArrayRef<graph::Index> at);
/// The numbers of the results that have the row's extent.
llvm::SmallVector<unsigned> resultsAlongRow(const RowProgram &rows);
/// Writes their elements at `at`: all are read first, since an operand may lie where a result does.
void writeElements(KernelFunction &k, KernelElements &e, llvm::ArrayRef<unsigned> results,
                   llvm::ArrayRef<graph::Index> at);

} // namespace hewn::codegen

#endif
