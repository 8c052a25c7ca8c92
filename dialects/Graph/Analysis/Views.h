// SPDX-License-Identifier: Apache-2.0
//
// Views: ops whose result may be their operand's memory under another type.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_VIEWS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_VIEWS_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// Whether `op` is a reshape or transposition: a view, if the types of its operand and result lie in memory alike.
bool isViewKind(mlir::Operation *op);
/// Whether `op` is a reshape or transposition whose result type lies in memory as its operand's does, so that nothing moves.
bool isView(mlir::Operation *op);

/// The memory order in which a transposition's result, whose dim i is dim `view[i]` of the operand, is the memory of its operand.
llvm::SmallVector<int64_t> transposedOrder(llvm::ArrayRef<int64_t> order, llvm::ArrayRef<int64_t> view);

/// Operand dims of a reshape, and the result dims that they become: as few of each as have the same number of elements.
struct ReshapeRun {
  llvm::SmallVector<unsigned> operandDims, resultDims;
};
/// All dims of a reshape of `from` to `to`, in their order.
llvm::SmallVector<ReshapeRun> reshapeRuns(const Dims &from, const Dims &to);

/// The memory order in which a reshape's result is the memory of its operand, which lies in `order`. Nothing where elements
/// have to move: dims of a run must lie one after the other. Dims of `from` that are 1 lie anywhere.
std::optional<llvm::SmallVector<int64_t>> reshapedOrder(llvm::ArrayRef<int64_t> order, const Dims &from,
                                                        const Dims &to);
/// `order`, or another one for which reshapedOrder has an answer: runs one after the other, but last the one that is innermost.
llvm::SmallVector<int64_t> orderToReshape(llvm::ArrayRef<int64_t> order, const Dims &from, const Dims &to);

} // namespace hewn::graph

#endif
