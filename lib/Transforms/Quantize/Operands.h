// SPDX-License-Identifier: Apache-2.0
//
// How a contraction's operands are given another type.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_OPERANDS_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_OPERANDS_H

#include "dialects/Graph/Graph.h"

namespace hewn {

/// The same contraction of other operands with sums of type `sum`, in the place of `op`, which is erased; `rewrite` gives the
/// operand (0 or 1) for a value that stands for it. A border of zeros around the left one that nobody else reads stays next
/// to the contraction, which can leave it out: what it surrounds is rewritten.
void rewriteOperands(graph::ContractOpInterface op, mlir::Type sum,
                     llvm::function_ref<mlir::Value(unsigned operand, mlir::Value value)> rewrite);

/// Casts both operands.
void castOperands(graph::ContractOpInterface op, mlir::Type type);

} // namespace hewn

#endif
