// SPDX-License-Identifier: Apache-2.0
//
// Helpers for ops that call runtime functions.
#ifndef HEWN_DIALECTS_GRAPH_RUNTIMECALL_RUNTIMECALL_H
#define HEWN_DIALECTS_GRAPH_RUNTIMECALL_RUNTIMECALL_H

#include "dialects/Graph/Graph.h"

namespace hewn::graph {

class OnnxNode;

/// Returns true if the runtime can compare elements of this type: number types of at least 8 bits,
/// except for float8 types.
bool isOrdered(mlir::Type elementType);

/// Builds an op with `numResults` results, whose types the op infers. Returns null if an operand is
/// null, or, after an error, if the op is invalid.
mlir::Operation *makePart(OnnxNode &node, llvm::StringRef name, mlir::ValueRange operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes, unsigned numResults);
/// Emits uniformly distributed random numbers in [0, 1), with the node's `seed` if it has one.
/// Returns null after an error.
mlir::Value makeUniform(OnnxNode &node, llvm::ArrayRef<DimExpr> shape, mlir::Type elementType);
/// Emits Fourier transforms of `length` elements along dim `axis` of x, by a runtime function. The
/// last dim of x has real and imaginary parts. Returns null after an error.
mlir::Value makeFourier(OnnxNode &node, mlir::Value x, int64_t axis, const DimExpr &length, bool inverse,
                        bool onesided);
/// Sets the node's outputs to the results of `op`, in order. Fails if `op` is null.
llvm::LogicalResult setOutputs(OnnxNode &node, mlir::Operation *op);

} // namespace hewn::graph

#endif
