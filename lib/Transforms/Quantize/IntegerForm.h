// SPDX-License-Identifier: Apache-2.0
//
// Which contractions can be computed on integers of 8 bits, and how they lie.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_INTEGERFORM_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_INTEGERFORM_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Support/Remarks.h"

namespace hewn {

/// A contraction whose right operand has columns of its own, along the summed dim `depth` of which groups of neighbours are summed.
struct IntegerForm {
  graph::ContractRoles roles;
  llvm::SmallVector<mlir::AffineMap> maps;
  graph::Dims extents;
  unsigned depth = 0;
  /// Which dim of an operand or of the result these are.
  unsigned depthInLeft = 0, depthInRight = 0, columnInRight = 0, columnInResult = 0;
  /// Products in a sum. It may be known only when run, of integers alone, whose sums are counted modulo 2^32 either way, or where a range bounds it.
  graph::DimExpr sumLength;
  /// Whether a run makes the integers of the right operand.
  bool isComputed = false;
};

/// What sizes and types say; of what the operands stand for no more than whether a run makes the right one.
Found<IntegerForm> integerForm(graph::ContractOpInterface op);

} // namespace hewn

#endif
