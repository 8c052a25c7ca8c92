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
  /// Products in a sum.
  int64_t sumLength = 0;
};

/// What sizes and types alone say; what the operands stand for is not looked at.
Found<IntegerForm> integerForm(graph::ContractOpInterface op);

} // namespace hewn

#endif
