// SPDX-License-Identifier: Apache-2.0
//
// Required accuracy of float32 multiplications, as the user selects it. lib/Schedule and lib/Target
// derive the number of split-bf16 components, the TF32 split and the Winograd tile size from it.
#ifndef HEWN_LIB_SUPPORT_PRECISION_H
#define HEWN_LIB_SUPPORT_PRECISION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <utility>

namespace hewn {

/// Required accuracy of float32 multiplications. The values have the names of PyTorch's
/// float32_matmul_precision.
enum class Precision {
  /// Matmul products are as accurate as in float32.
  Highest,
  /// Matmul products have a relative error of about 2^-16 per multiplication.
  High,
  /// Matmul operands may be rounded to bfloat16.
  Medium,
};

/// Returns all precisions with their names, the default first.
llvm::ArrayRef<std::pair<Precision, llvm::StringRef>> precisions();
llvm::StringRef nameOf(Precision precision);
/// Returns the precision with the given name, or nullopt for an unknown name.
std::optional<Precision> parsePrecision(llvm::StringRef text);

} // namespace hewn

#endif
