// SPDX-License-Identifier: Apache-2.0
//
// What the ops that call parts of the runtime share.
#ifndef HEWN_DIALECTS_GRAPH_PART_PART_H
#define HEWN_DIALECTS_GRAPH_PART_PART_H

#include "dialects/Graph/Graph.h"

namespace hewn::graph {

class OnnxNode;

/// Whether parts can compare elements of the type: all numbers of a byte or more, but for the 8-bit floats.
bool isOrdered(mlir::Type elementType);

/// Builds an op of `numResults` results with inferred types; null (after an error) where its operands do not fit or one
/// is null.
mlir::Operation *makePart(OnnxNode &node, llvm::StringRef name, mlir::ValueRange operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes, unsigned numResults);
/// Numbers between 0 and 1, by the node's `seed` where it has one; null after an error.
mlir::Value makeUniform(OnnxNode &node, llvm::ArrayRef<DimExpr> shape, mlir::Type elementType);
/// The op's results are the node's outputs in order; fails where it is null.
llvm::LogicalResult setOutputs(OnnxNode &node, mlir::Operation *op);

} // namespace hewn::graph

#endif
