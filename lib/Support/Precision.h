// SPDX-License-Identifier: Apache-2.0
//
// How exact products of float32 must be: what the user says, and all that is said of it on the way to the engines. What follows from it
// is said once, where it belongs: terms of bfloat16 and factors of a grid's products (lib/Schedule, lib/Target), tiles of
// minimal filtering (lib/Schedule).
#ifndef HEWN_LIB_SUPPORT_PRECISION_H
#define HEWN_LIB_SUPPORT_PRECISION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <utility>

namespace hewn {

/// The names are those of PyTorch's float32_matmul_precision.
enum class Precision {
  /// As exact as float32.
  Highest,
  /// About 2^-16 of a product may be lost.
  High,
  /// Operands may be rounded to bfloat16.
  Medium,
};

/// Every precision with its name, the default first.
llvm::ArrayRef<std::pair<Precision, llvm::StringRef>> precisions();
llvm::StringRef nameOf(Precision precision);
/// nullopt where the text names none.
std::optional<Precision> parsePrecision(llvm::StringRef text);

} // namespace hewn

#endif
