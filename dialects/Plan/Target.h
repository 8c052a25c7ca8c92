// SPDX-License-Identifier: Apache-2.0
//
// The machine that a module is for, as an op of it asks.
#ifndef HEWN_DIALECTS_PLAN_TARGET_H
#define HEWN_DIALECTS_PLAN_TARGET_H

#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// The machine of the module around `op`; null where the module does not say.
TargetAttr targetOf(mlir::Operation *op);
/// The grid of that machine; null: it runs vectors.
GridAttr gridOf(mlir::Operation *op);

/// The target's instruction for such products; null where it has none.
DotAttr findDot(mlir::Operation *op, mlir::Type left, mlir::Type right, mlir::Type sum);
/// The target's matrix unit for a contraction of such operands and sums; null where it has none.
MatrixAttr findMatrix(mlir::Operation *op, mlir::Type left, mlir::Type right, mlir::Type sum);

/// Lanes of vector code: vector bytes over four; eight where the module names no machine.
int64_t vectorLanes(mlir::Operation *op);

} // namespace hewn::plan

#endif
