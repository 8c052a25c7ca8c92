// SPDX-License-Identifier: Apache-2.0
//
// Queries of the target (`plan.target`) that a module is compiled for.
#ifndef HEWN_DIALECTS_PLAN_TARGET_H
#define HEWN_DIALECTS_PLAN_TARGET_H

#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// Returns the target of the module that contains `op`, or null if the module has none.
TargetAttr targetOf(mlir::Operation *op);
/// Returns the GPU of the target that the module of `op` is compiled for, or null if the target is
/// a CPU.
GpuAttr gpuOf(mlir::Operation *op);

/// Returns the target's dot-product instruction for these operand element types, or null if the
/// target has none.
DotProductAttr findDot(mlir::Operation *op, mlir::Type left, mlir::Type right, mlir::Type sum);
/// Returns the target's matrix unit for these operand element types, or null if the target has
/// none.
MatrixUnitAttr findMatrix(mlir::Operation *op, mlir::Type left, mlir::Type right, mlir::Type sum);

/// Returns the number of 32-bit lanes in a vector of the target, or 8 if the module has no target.
int64_t vectorLanes(mlir::Operation *op);

} // namespace hewn::plan

#endif
