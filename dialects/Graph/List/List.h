// SPDX-License-Identifier: Apache-2.0
//
// Lists that only a run knows, as builders of ONNX nodes make them.
#ifndef HEWN_DIALECTS_GRAPH_LIST_LIST_H
#define HEWN_DIALECTS_GRAPH_LIST_LIST_H

#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Handle/Handle.h"

namespace hewn::graph {

/// The place behind the last tensor, which no list reaches.
inline constexpr int64_t kEnd = INT64_MAX;

/// What a value holds, where it is a list; nullopt otherwise.
std::optional<handle::List> listOf(mlir::Value value);

/// Builders stand where `node` does; the others write where `b` stands.
mlir::Value makeList(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange elements, const handle::List &type);
/// The value as a handle: a `graph.sequence`, whose length is known when compiling, is made into a list; tensors and lists stay.
mlir::Value asHandle(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value);
/// The same where a list of type `wanted` is asked for: a tensor becomes an optional one. Null where it does not fit.
mlir::Value asHandle(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, const handle::List &wanted);
/// The same handle as a value of another type.
mlir::Value retype(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Type elementType);
mlir::Value lengthOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value list);
/// The tensor at a place (i64 of rank 0); null after `refuse`.
mlir::Value elementAt(OnnxNode &node, mlir::Value list, mlir::Value place);
/// The list with `element` more; `place` null: behind the last.
mlir::Value inserted(OnnxNode &node, mlir::Value list, mlir::Value element, mlir::Value place);

/// The nodes' ops on lists that only a run knows; places are scalars, or null where the node has none. Null after `refuse`.
mlir::Value erased(OnnxNode &node, mlir::Value list, mlir::Value place);
mlir::Value joined(OnnxNode &node, mlir::Value list);
mlir::Value split(OnnxNode &node, mlir::Value x, mlir::Value sizes, int64_t axis, bool drop);
llvm::LogicalResult mapLists(OnnxNode &node);
mlir::Value hasElement(OnnxNode &node, mlir::Value optional);
mlir::Value elementOf(OnnxNode &node, mlir::Value optional);

} // namespace hewn::graph

#endif
