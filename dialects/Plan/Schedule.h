// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of register tiles: from the machine's registers and the sizes to a schedule.
#ifndef HEWN_DIALECTS_PLAN_SCHEDULE_H
#define HEWN_DIALECTS_PLAN_SCHEDULE_H

#include "dialects/Graph/Dims.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// The machine of the module around `op`; null where the module does not say.
TargetAttr targetOf(mlir::Operation *op);

/// Lanes of vector code: vector bytes over four; eight where the module names no machine.
int64_t vectorLanes(mlir::Operation *op);

/// The tile for a float32 contraction of so many rows and columns. `n` is a multiple of the lanes; it is also the block in
/// which a constant right operand is packed.
ScheduleAttr chooseSchedule(mlir::Operation *op, const graph::DimExpr &rows, const graph::DimExpr &columns);

} // namespace hewn::plan

#endif
