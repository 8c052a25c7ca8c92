// SPDX-License-Identifier: Apache-2.0
//
// Axes that are known only when the model runs, as expressions over symbols that are read from a tensor. What depends on
// them is written as sums over all dims of which one term counts.
#ifndef HEWN_DIALECTS_GRAPH_MOVE_AXES_H
#define HEWN_DIALECTS_GRAPH_MOVE_AXES_H

#include "dialects/Graph/Builders/OnnxNode.h"

namespace hewn::graph {

/// Axes of a tensor of `rank` dims, in [0, rank): attribute `name`, or input `i` where the attribute is absent. Absent
/// both: nullopt with `absent` set; nullopt otherwise after `refuse`.
std::optional<Dims> axesOrRead(OnnxNode &node, llvm::StringRef name, unsigned i, int64_t rank, bool &absent);
/// Integers that are all constant.
bool areConstant(llvm::ArrayRef<DimExpr> values);

/// 1 where a == b, else 0.
DimExpr equals(const DimExpr &a, const DimExpr &b);
/// list[index]; 0 outside.
DimExpr pick(llvm::ArrayRef<DimExpr> list, const DimExpr &index);
/// For each dim: 1 where one of `axes` is it, else 0. No axis stands twice.
Dims marks(llvm::ArrayRef<DimExpr> axes, int64_t rank);
/// The dims of which `marked` is 0, in order; there are `count` of them.
Dims unmarked(llvm::ArrayRef<DimExpr> dims, llvm::ArrayRef<DimExpr> marked, int64_t count);
/// `dims` as three: all before `axis` as one, it, and all behind it as one.
Dims aroundAxis(llvm::ArrayRef<DimExpr> dims, const DimExpr &axis);
/// Each as an expression of bearable length: OnnxNode::shortened.
Dims shortened(OnnxNode &node, llvm::ArrayRef<DimExpr> numbers, bool areSizes = true);

} // namespace hewn::graph

#endif
