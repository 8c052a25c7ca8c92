// SPDX-License-Identifier: Apache-2.0
//
// Helpers for the import of ONNX nodes on run-time lists.
#ifndef HEWN_DIALECTS_GRAPH_LIST_LIST_H
#define HEWN_DIALECTS_GRAPH_LIST_LIST_H

#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Handle/Handle.h"

namespace hewn::graph {

/// The position after the last tensor of any list: an insertion at this position appends.
inline constexpr int64_t kEnd = INT64_MAX;

/// Returns the type of a list value, or nullopt if the value is not a list.
std::optional<handle::List> listOf(mlir::Value value);

/// Below, functions that take an ONNX node `node` emit ops at the location of the node. The other
/// functions take a builder and a location.
mlir::Value makeList(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange elements, const handle::List &type);
/// Converts a `graph.sequence` (of known length) to a run-time list. Returns tensors and lists
/// unchanged.
mlir::Value asHandle(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value);
/// Converts a value to a list of type `wanted`. A tensor becomes an optional value. Returns null if
/// the value cannot have this type.
mlir::Value asHandle(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, const handle::List &wanted);
/// Returns a list handle converted to another list type.
mlir::Value retype(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Type elementType);
mlir::Value lengthOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value list);
/// Emits the tensor at position `place` (an i64 scalar) of a list. Returns null after a call of
/// `refuse`.
mlir::Value elementAt(OnnxNode &node, mlir::Value list, mlir::Value place);
/// Emits a list with `element` inserted at position `place`, or appended if `place` is null.
mlir::Value inserted(OnnxNode &node, mlir::Value list, mlir::Value element, mlir::Value place);

/// Emit the ops for ONNX nodes on run-time lists. The positions in a list are scalars, or null if
/// the node gives none. The functions return null after a call of `refuse`.
mlir::Value erased(OnnxNode &node, mlir::Value list, mlir::Value place);
mlir::Value joined(OnnxNode &node, mlir::Value list);
mlir::Value split(OnnxNode &node, mlir::Value x, mlir::Value sizes, int64_t axis, bool drop);
llvm::LogicalResult mapLists(OnnxNode &node);
mlir::Value hasElement(OnnxNode &node, mlir::Value optional);
mlir::Value elementOf(OnnxNode &node, mlir::Value optional);

} // namespace hewn::graph

#endif
