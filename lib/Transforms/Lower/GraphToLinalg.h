// SPDX-License-Identifier: Apache-2.0
//
// One op, by its kind, to one loop nest.
#ifndef HEWN_LIB_TRANSFORMS_LOWER_GRAPHTOLINALG_H
#define HEWN_LIB_TRANSFORMS_LOWER_GRAPHTOLINALG_H

#include "lib/Transforms/Lower/NaiveElements.h"

namespace hewn {

/// Writes code that fills the memory of op's result. An error where the op is of no kind that a kernel may hold.
llvm::LogicalResult lowerOp(mlir::Operation *op, mlir::OpBuilder &b, const NaiveMemory &memory);
/// Writes code that copies a tensor to a buffer of the same layout.
void copyTensor(mlir::Value tensor, mlir::Value buffer, mlir::Location loc, mlir::OpBuilder &b,
                const NaiveMemory &memory);

} // namespace hewn

#endif
