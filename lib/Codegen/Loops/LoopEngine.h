// SPDX-License-Identifier: Apache-2.0
//
// Kernel generator for elementwise, indexing, reduction and prefix scan ops, as vector loops. It
// has several forms, from the most special to the most general:
//
//   elements  elementwise ops only: dims that are contiguous in every buffer collapse into one row
//   rows      row-wise reductions with the ops around them (softmax, norms): passes over a row
//   cumulate  a single prefix scan: one sweep along its dim
//   map       everything else: a nest over the result; each element is computed where it is used
#ifndef HEWN_LIB_CODEGEN_LOOPS_LOOPENGINE_H
#define HEWN_LIB_CODEGEN_LOOPS_LOOPENGINE_H

#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// Returns a schedule with the most special form that applies to the kernel.
plan::LoopsAttr chooseLoops(KernelContext &k);

/// Emits loops in the form that the schedule names to `k.function`, at the insertion point of `b`.
/// Emits an error on the kernel and fails if the form does not apply to the kernel.
llvm::LogicalResult emitLoops(KernelContext &k, mlir::OpBuilder &b, plan::LoopsAttr schedule);

/// Emits a loop over [0, extent) that processes several adjacent vectors per iteration, at most
/// `most`, followed by a loop over the remaining vectors. Chooses the number of vectors so that few
/// remain. `body` gets the indices of the vectors. The last vector may be partial; it is masked by
/// the mask of `elements`.
void vectorsLoop(ElementEmitter &elements, const graph::DimExpr &extent, int64_t most,
                 llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);

/// Emits a loop over [0, extent) by vectors. Calls `body` for full vectors, then for a partial one
/// that is masked by the mask of `elements`.
void vectorLoop(ElementEmitter &elements, const graph::DimExpr &extent, llvm::function_ref<void(graph::Index)> body);
/// Emits a loop over [from, to) by vectors: full vectors up to `whole`, then a masked one.
void vectorLoop(ElementEmitter &elements, graph::Index from, graph::Index whole, graph::Index to,
                llvm::function_ref<void(graph::Index)> body);

/// Returns the prefix scan that defines the kernel's only result, or null if there is none.
graph::PrefixScanOpInterface onlyCumulates(KernelContext &k);

/// Returns the indices of the kernel's results, grouped by equal dims.
llvm::SmallVector<llvm::SmallVector<unsigned>> resultsOfEqualDims(const KernelContext &k);

} // namespace hewn::codegen

#endif
