// SPDX-License-Identifier: Apache-2.0
//
// The loop engine: kernels of elementwise, move, reduce and cumulate ops as vector code.
//
// Four shapes of code, from the most special to the most general:
//   elements  all ops elementwise: dims that lie alike in every buffer collapse into one long row
//   rows      reductions over the same dims with consumers over them (softmax, norms): passes over a row
//   cumulate  a running sum alone: one sweep along its dim
//   map       everything else: a nest over the result, each element evaluated where it is needed
#ifndef HEWN_LIB_CODEGEN_LOOPS_LOOPENGINE_H
#define HEWN_LIB_CODEGEN_LOOPS_LOOPENGINE_H

#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// The most special form of loops that the kernel has.
plan::LoopsAttr chooseLoops(KernelFunction &k);

/// Fills `k.function` with loops of this form at the builder's insertion point; fails with a message at the kernel where it has no such
/// form.
llvm::LogicalResult emitLoops(KernelFunction &k, mlir::OpBuilder &b, plan::LoopsAttr schedule);

/// Calls `body` for as many neighbouring vectors of indices as are equal parts of [0, extent), `most` at a time, then for what is left, one at
/// a time, the last one masked by `elements`' mask.
void vectorsLoop(KernelElements &elements, const graph::DimExpr &extent, int64_t most,
                 llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);

/// Calls `body` for the vector of indices at each step of [0, extent): whole vectors, then one masked by `elements`'
/// mask.
void vectorLoop(KernelElements &elements, const graph::DimExpr &extent, llvm::function_ref<void(graph::Index)> body);
/// The same over [from, to): vectors up to `whole`, where whole ones end, then a masked one.
void vectorLoop(KernelElements &elements, graph::Index from, graph::Index whole, graph::Index to,
                llvm::function_ref<void(graph::Index)> body);

/// The op that cumulates and makes all that the kernel does; null where it is something else.
graph::CumulateOpInterface onlyCumulates(KernelFunction &k);

/// The kernel's results by their number, those of the same dims together.
llvm::SmallVector<llvm::SmallVector<unsigned>> resultsOfEqualDims(const KernelFunction &k);

} // namespace hewn::codegen

#endif
