// SPDX-License-Identifier: Apache-2.0
//
// Emits the elements and results of row-wise reduction kernels, for CPU vector code and for GPU
// threads. The state of a reduction is its partial result; the states of several reductions are
// concatenated in one list.
#ifndef HEWN_LIB_CODEGEN_LOOPS_ROWELEMENTS_H
#define HEWN_LIB_CODEGEN_LOOPS_ROWELEMENTS_H

#include "lib/Codegen/BlockedSum.h"
#include "lib/Codegen/Loops/RowProgram.h"

namespace hewn::codegen {

/// Returns the initial states of the reductions, as scalars or vectors with the lanes of `e`.
llvm::SmallVector<mlir::Value> rowIdentities(ElementEmitter &e, llvm::ArrayRef<graph::ReduceOpInterface> reductions);
/// Returns the states after adding the element at `at`, which must follow all previous elements in
/// row order.
llvm::SmallVector<mlir::Value> appendElement(ElementEmitter &e, const RowProgram &rows,
                                             llvm::ArrayRef<graph::ReduceOpInterface> reductions,
                                             mlir::ValueRange states, llvm::ArrayRef<graph::Index> at);
/// Merges the states `a` with the states `c`. Both are scalars or vectors of any width.
llvm::SmallVector<mlir::Value> mergeStates(ElementEmitter &e, llvm::ArrayRef<graph::ReduceOpInterface> reductions,
                                           mlir::ValueRange a, mlir::ValueRange c);
/// Returns the summation of the states of the reductions, for `count` vectors of rows side by side.
BlockedSum blockedSum(ElementEmitter &e, llvm::ArrayRef<graph::ReduceOpInterface> reductions, size_t count = 1);
/// Binds the results of the reductions to the values that follow from the states of a full row.
void bindFinished(ElementEmitter &e, const RowProgram &rows, llvm::ArrayRef<graph::ReduceOpInterface> reductions,
                  mlir::ValueRange states);
/// Unbinds the results of all reductions, before the next row is processed.
void unbindFinished(ElementEmitter &e, const RowProgram &rows);

/// Stores the kernel results that have one element per row, for the row at `at`.
void writeRowResults(KernelContext &k, ElementEmitter &e, const RowProgram &rows, llvm::ArrayRef<graph::Index> at);
/// Returns the indices of the kernel results that have an element for each element of a row.
llvm::SmallVector<unsigned> resultsAlongRow(const RowProgram &rows);
/// Stores the elements of the results number `results` at `at`. Reads all values before it stores
/// any, since a result may overwrite an operand in memory.
void writeElements(KernelContext &k, ElementEmitter &e, llvm::ArrayRef<unsigned> results,
                   llvm::ArrayRef<graph::Index> at);

} // namespace hewn::codegen

#endif
