// SPDX-License-Identifier: Apache-2.0
//
// The handle dialect: the types of strings, sequences and optional values.
#ifndef HEWN_DIALECTS_HANDLE_HANDLE_H
#define HEWN_DIALECTS_HANDLE_HANDLE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include <optional>

#include "dialects/Handle/HandleDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Handle/HandleTypes.h.inc"

namespace hewn::handle {

/// Special values of the parameter `rank` of a list type, the rank of the tensors in the list:
/// kAnyRank if they may have different ranks, kNoRank if there are no tensors yet.
inline constexpr int64_t kAnyRank = -1, kNoRank = -2;

/// Attribute of arguments and results of the function `main`, after handles (strings, lists) have
/// been lowered to integers: the original type, as text.
inline constexpr llvm::StringLiteral kHeldAttr = "handle.held";

bool isHandle(mlir::Type elementType);
bool isString(mlir::Type elementType);

/// A common representation of the three types that contain tensors: sequence, optional tensor and
/// optional sequence.
struct List {
  enum class Kind { Sequence, Optional, OptionalSequence } kind;
  mlir::Type element;
  int64_t rank;

  mlir::Type type() const;
};
std::optional<List> asList(mlir::Type elementType);
/// Returns the list type that can hold the values of both lists. Returns nullopt if their element
/// types differ, or if only one of them is an optional tensor.
std::optional<List> join(const List &a, const List &b);

} // namespace hewn::handle

#endif
