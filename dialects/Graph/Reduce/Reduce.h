// SPDX-License-Identifier: Apache-2.0
//
// What the reductions share.
#ifndef HEWN_DIALECTS_GRAPH_REDUCE_REDUCE_H
#define HEWN_DIALECTS_GRAPH_REDUCE_REDUCE_H

#include "dialects/Graph/Elementwise/ElementwiseBodies.h"

namespace hewn::graph {

class OnnxNode;

namespace body {
enum class IdentityValue { Zero, One, Lowest, Highest };
/// state / count, where count is an i64 of the state's shape.
Value divideByCount(Builder &e, NumberKind kind, Value state, Value count);
} // namespace body

/// A scalar (`lanes` 0) or vector constant of the compute type of `element`.
mlir::Value reduceConstant(body::Builder &e, mlir::Type element, int64_t lanes, body::IdentityValue value);
/// Operand 0's dims without `dims`, or with 1 in their place.
llvm::LogicalResult inferReduce(mlir::Operation *op, DimsOf dimsOf, mlir::Type elementType,
                                llvm::SmallVectorImpl<TensorShape> &results);

/// What an AveragePool node gives of x; null after `refuse`.
mlir::Value importAveragePool(OnnxNode &node, mlir::Value x);

/// Where no element of `x` has been seen along `dim`: the least extreme value, at a position that every other comes before (with `last`: after). Positions
/// have 32 bits where these have room for all of the dim.
llvm::SmallVector<mlir::Value> argIdentity(body::Builder &e, mlir::Value x, int64_t dim, int64_t lanes,
                                           body::IdentityValue least, bool last);
/// An index of 64 bits as a position of the state.
mlir::Value argPosition(body::Builder &e, mlir::Value x, int64_t dim, mlir::Value position);
/// The state's position as ONNX has it, in 64 bits.
mlir::Value argFinish(body::Builder &e, bool last, mlir::ValueRange state);
/// The state with one element more, lifted, that is behind all others: no position need be compared.
llvm::SmallVector<mlir::Value> argAppend(body::Builder &e, body::NumberKind kind, body::Order order, bool last,
                                         mlir::ValueRange state, mlir::ValueRange element);
/// The state whose value is more extreme by `order`; between equals the first,
/// or the last.
llvm::SmallVector<mlir::Value> argMerge(body::Builder &e, body::NumberKind kind, body::Order order, bool last,
                                        mlir::ValueRange a, mlir::ValueRange b);

} // namespace hewn::graph

#endif
