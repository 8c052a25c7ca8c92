// SPDX-License-Identifier: Apache-2.0
//
// The model of reductions over rows and of what is cumulated along lines, on a grid: how many threads share a row or a line.
#ifndef HEWN_LIB_SCHEDULE_GRIDLOOPSCHEDULE_H
#define HEWN_LIB_SCHEDULE_GRIDLOOPSCHEDULE_H

#include "dialects/Graph/Analysis/Dims.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// A thread a row where rows lie side by side or are short, a warp where they are many, else a block.
GridRowsAttr chooseRowThreads(const graph::DimExpr &rows, const graph::DimExpr &length, bool sideBySide, GridAttr grid);
/// The same by vectors of `lanes` elements, where at least half of a row's threads have one; a block may be smaller for it.
GridRowsAttr chooseRowWidth(GridRowsAttr schedule, const graph::DimExpr &length, int64_t lanes, GridAttr grid);

/// A thread a line where lines are short, or lie side by side and are many, else a block. `alongLine`: neighbours of a line lie side by side.
GridCumulateAttr chooseLineThreads(const graph::DimExpr &lines, const graph::DimExpr &length, bool alongLine,
                                   GridAttr grid);

} // namespace hewn::plan

#endif
