// SPDX-License-Identifier: Apache-2.0
//
// Lowers one op to one loop nest.
#ifndef HEWN_LIB_TRANSFORMS_LOWER_GRAPHTOLINALG_H
#define HEWN_LIB_TRANSFORMS_LOWER_GRAPHTOLINALG_H

#include "lib/Transforms/Lower/NaiveElements.h"

namespace hewn {

/// Emits loops that compute the op's result into its buffer. Reports an error if kernels do not
/// support the op.
llvm::LogicalResult lowerOp(mlir::Operation *op, mlir::OpBuilder &b, const NaiveMemory &memory);
/// Emits a copy of a tensor to a buffer of the same layout.
void copyTensor(mlir::Value tensor, mlir::Value buffer, mlir::Location loc, mlir::OpBuilder &b,
                const NaiveMemory &memory);

} // namespace hewn

#endif
