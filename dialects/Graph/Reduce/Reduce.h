// SPDX-License-Identifier: Apache-2.0
//
// Functions that the reductions in Reduce.td and Window.td use.
#ifndef HEWN_DIALECTS_GRAPH_REDUCE_REDUCE_H
#define HEWN_DIALECTS_GRAPH_REDUCE_REDUCE_H

#include "dialects/Graph/Elementwise/ElementwiseBodies.h"

namespace hewn::graph {

class OnnxNode;

namespace body {
enum class IdentityValue { Zero, One, Lowest, Highest };
/// Emits the mean, state / count, of a mean reduction. `count` is an i64 with the shape of the
/// state (scalar or vector).
Value divideByCount(Builder &e, NumberKind kind, Value state, Value count);
} // namespace body

/// Emits the identity value of a reduction as a constant of the compute type of `element`: a vector
/// with `lanes` lanes, or a scalar if `lanes` is 0.
mlir::Value reduceConstant(body::Builder &e, mlir::Type element, int64_t lanes, body::IdentityValue value);
/// Infers the result dims of a reduction: those of operand 0, with the reduced dims removed or set
/// to 1.
llvm::LogicalResult inferReduce(mlir::Operation *op, DimsOf dimsOf, mlir::Type elementType,
                                llvm::SmallVectorImpl<TensorShape> &results);

/// Emits the result of an AveragePool node for input x. Returns null after a call of `refuse`.
mlir::Value importAveragePool(OnnxNode &node, mlir::Value x);

/// Emits the initial state of ArgMax or ArgMin along `dim`: the least extreme value, and an index
/// greater than all others, or less than all others if `last` is set. The index is a 32-bit integer
/// if all indices along the dim are known to fit.
llvm::SmallVector<mlir::Value> argIdentity(body::Builder &e, mlir::Value x, int64_t dim, int64_t lanes,
                                           body::IdentityValue least, bool last);
/// Converts a 64-bit index to the integer type that the index in the state of an ArgMax or ArgMin
/// has.
mlir::Value argPosition(body::Builder &e, mlir::Value x, int64_t dim, mlir::Value position);
/// Returns the index in the final state of an ArgMax or ArgMin as i64, the result type in ONNX.
mlir::Value argFinish(body::Builder &e, bool last, mlir::ValueRange state);
/// Emits the state of an ArgMax or ArgMin after one more element. The index of the element is
/// greater than that of all elements before, so indices need not be compared.
llvm::SmallVector<mlir::Value> argAppend(body::Builder &e, body::NumberKind kind, body::Order order, bool last,
                                         mlir::ValueRange state, mlir::ValueRange element);
/// Emits the combination of two states of an ArgMax or ArgMin: the state whose value is greater (or
/// less, by `order`). If the values are equal, it is the state with the smaller index, or with the
/// larger index if `last` is set.
llvm::SmallVector<mlir::Value> argMerge(body::Builder &e, body::NumberKind kind, body::Order order, bool last,
                                        mlir::ValueRange a, mlir::ValueRange b);

} // namespace hewn::graph

#endif
