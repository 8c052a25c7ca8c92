// SPDX-License-Identifier: Apache-2.0
//
// Functions that return the memory layout of a tensor with a given type and dims. The layout is the
// encoding of the type: #graph.layout, or `strided` for a subview of a larger tensor with gaps
// along several dims.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_LAYOUT_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_LAYOUT_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/BuiltinTypes.h"

namespace hewn::graph {

/// Returns the logical dims of the type, sorted from outermost to innermost in memory.
llvm::SmallVector<int64_t> memoryOrder(mlir::RankedTensorType type);
/// Returns the memory order of a tensor type (`memoryOrder`) without its dims of size 1. Two types
/// of equal shape have the same memory layout if these significant orders are equal.
llvm::SmallVector<int64_t> significantOrder(mlir::RankedTensorType type);
/// Returns `order` without the dims that have size 1 in `type`.
llvm::SmallVector<int64_t> significantOrder(llvm::ArrayRef<int64_t> order, mlir::RankedTensorType type);

/// Returns true if tensors of this type are subviews of a larger tensor, with gaps in memory
/// between their rows.
bool isSubview(mlir::RankedTensorType type);

/// Returns the extent in memory along each dim of a tensor: for a blocked or grouped dim, the
/// number of blocks or groups; for a Winograd-transformed window, its transformed size; for the dim
/// of a subview, the size of the enclosing tensor; else the dim itself.
Dims storedExtents(mlir::RankedTensorType type, llvm::ArrayRef<DimExpr> dims);
/// Returns the number of elements in an innermost block if a dim of the type is blocked, else 1.
int64_t storedTogether(mlir::RankedTensorType type);
/// Returns the stride in elements of each logical dim of a tensor; for a blocked or grouped dim,
/// the stride between blocks or groups.
Dims storedStrides(mlir::RankedTensorType type, llvm::ArrayRef<DimExpr> dims);
/// Returns the number of elements in a buffer of this type and dims, including the padding of
/// blocks.
DimExpr storedElements(mlir::RankedTensorType type, llvm::ArrayRef<DimExpr> dims);

} // namespace hewn::graph

#endif
