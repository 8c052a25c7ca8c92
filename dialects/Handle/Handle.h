// SPDX-License-Identifier: Apache-2.0
//
// The dialect `handle`: types of values that are no numbers.
#ifndef HEWN_DIALECTS_HANDLE_HANDLE_H
#define HEWN_DIALECTS_HANDLE_HANDLE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include <optional>

#include "dialects/Handle/HandleDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Handle/HandleTypes.h.inc"

namespace hewn::handle {

/// The rank of a list's elements where they may differ, and where there are none yet.
inline constexpr int64_t kAnyRank = -1, kNoRank = -2;

/// On arguments and results of the function `main`, once handles are integers: the text of the type that they had.
inline constexpr llvm::StringLiteral kHeldAttr = "handle.held";

bool isHandle(mlir::Type elementType);
bool isString(mlir::Type elementType);

/// What the three types that hold tensors have in common.
struct List {
  enum class Kind { Sequence, Optional, OptionalSequence } kind;
  mlir::Type element;
  int64_t rank;

  mlir::Type type() const;
};
std::optional<List> asList(mlir::Type elementType);
/// The type that holds what either holds; nullopt where elements differ.
std::optional<List> join(const List &a, const List &b);

} // namespace hewn::handle

#endif
