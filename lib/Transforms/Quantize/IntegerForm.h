// SPDX-License-Identifier: Apache-2.0
//
// Decides which contractions can be computed on 8-bit integers.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_INTEGERFORM_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_INTEGERFORM_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Support/Remarks.h"

namespace hewn {

/// How a contraction is computed on 8-bit integers. The right operand must have a column dim.
/// Dot-product instructions reduce groups of neighbours along the reduction dim `depth`.
struct IntegerForm {
  graph::ContractRoles roles;
  llvm::SmallVector<mlir::AffineMap> maps;
  graph::Dims extents;
  unsigned depth = 0;
  /// Positions of the reduction dim and the column dim in the operands and the result.
  unsigned depthInLeft = 0, depthInRight = 0, columnInRight = 0, columnInResult = 0;
  /// Number of multiply-adds per accumulator of the contraction. It may be dynamic in two cases:
  /// the result is an integer, which wraps modulo 2^32 by definition, or the user's range bounds
  /// the number.
  graph::DimExpr sumLength;
  /// True if the right operand's integers are computed at run time.
  bool isComputed = false;
};

/// Returns how `op` can be computed on 8-bit integers, or the reason why it cannot. This depends on
/// its sizes and types, and on whether its right operand is constant, but not on the ops that
/// produce its operands otherwise.
OrReason<IntegerForm> integerForm(graph::ContractOpInterface op);

} // namespace hewn

#endif
