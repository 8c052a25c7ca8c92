// SPDX-License-Identifier: Apache-2.0
//
// How a tensor of some type and dims lies in memory, by its layout (#graph.layout; `strided` for what lies in a larger one with gaps along
// several dims).
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_LAYOUT_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_LAYOUT_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/BuiltinTypes.h"

namespace hewn::graph {

/// Logical dims from outermost to innermost in memory.
llvm::SmallVector<int64_t> memoryOrder(mlir::RankedTensorType type);
/// The dims longer than 1 among them. Types that agree here and in their shape are the same memory.
llvm::SmallVector<int64_t> significantOrder(mlir::RankedTensorType type);
/// The same for a tensor of that shape in another order.
llvm::SmallVector<int64_t> significantOrder(llvm::ArrayRef<int64_t> order, mlir::RankedTensorType type);

/// Whether tensors of this type are subviews of larger ones, with gaps between neighbours.
bool isSubview(mlir::RankedTensorType type);

/// How often memory steps along each dim of a tensor of these dims: the number of blocks of a blocked dim, of groups of a
/// grouped one, the elements of a transformed window, all of the larger tensor that a subview lies in, else the dim itself.
Dims storedExtents(mlir::RankedTensorType type, llvm::ArrayRef<DimExpr> dims);
/// The elements that lie together innermost, where a dim is blocked; 1 otherwise.
int64_t storedTogether(mlir::RankedTensorType type);
/// Elements between neighbours along each logical dim of such a tensor; of a blocked or grouped dim between blocks or groups.
Dims storedStrides(mlir::RankedTensorType type, llvm::ArrayRef<DimExpr> dims);
/// Elements of a buffer of this type and these dims, the padding of blocks included.
DimExpr storedElements(mlir::RankedTensorType type, llvm::ArrayRef<DimExpr> dims);

} // namespace hewn::graph

#endif
