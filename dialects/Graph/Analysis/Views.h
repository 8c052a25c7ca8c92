// SPDX-License-Identifier: Apache-2.0
//
// Views: ops whose result can share the operand's memory, with another type.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_VIEWS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_VIEWS_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// Returns true for a reshape or transpose. Such an op is a view if its operand and result have the
/// same memory layout.
bool isViewKind(mlir::Operation *op);
/// Returns true for a reshape or transpose whose operand and result have the same memory layout, so
/// that no data is copied.
bool isView(mlir::Operation *op);

/// Returns the memory order of the result that makes a transpose a view. Result dim i is operand
/// dim `view[i]`.
llvm::SmallVector<int64_t> transposedOrder(llvm::ArrayRef<int64_t> order, llvm::ArrayRef<int64_t> view);

/// A group of adjacent dims that a reshape maps to each other: operand dims and result dims with
/// the same number of elements. Groups are as small as possible.
struct ReshapeRun {
  llvm::SmallVector<unsigned> operandDims, resultDims;
};
/// Splits the dims of a reshape with operand dims `from` and result dims `to` into groups, in
/// order.
llvm::SmallVector<ReshapeRun> reshapeRuns(const Dims &from, const Dims &to);

/// Returns the memory order of the result that makes a reshape a view of an operand with memory
/// order `order`. Returns nullopt if the reshape must copy data: the operand dims of each group
/// must be adjacent and in order in memory. Dims of size 1 may be anywhere.
std::optional<llvm::SmallVector<int64_t>> reshapedOrder(llvm::ArrayRef<int64_t> order, const Dims &from,
                                                        const Dims &to);
/// Returns a memory order of a reshape's operand for which the reshape is a view. It is `order` if
/// `reshapedOrder` accepts `order`. Otherwise, it has the groups of reshape dims one after another,
/// with the group of the innermost dim last.
llvm::SmallVector<int64_t> orderToReshape(llvm::ArrayRef<int64_t> order, const Dims &from, const Dims &to);

} // namespace hewn::graph

#endif
