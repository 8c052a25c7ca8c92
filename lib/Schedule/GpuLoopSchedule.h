// SPDX-License-Identifier: Apache-2.0
//
// Cost model of row-wise reductions and prefix scans on a GPU: how many threads share a row.
#ifndef HEWN_LIB_SCHEDULE_GPULOOPSCHEDULE_H
#define HEWN_LIB_SCHEDULE_GPULOOPSCHEDULE_H

#include "dialects/Graph/Analysis/Dims.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// Chooses how many threads compute a row of a row-wise reduction: one thread if rows are short, or
/// if they are many and interleaved in memory (`sideBySide`); a warp if rows are of moderate length
/// or many; otherwise a block.
GpuRowsAttr chooseRowThreads(const graph::DimExpr &rows, const graph::DimExpr &length, bool sideBySide, GpuAttr gpu);
/// Returns the schedule of a row-wise reduction, changed to vector loads of `lanes` elements, if at
/// least half of the threads that share a row then have a vector to load. Where possible, the
/// changed schedule uses fewer threads per row to achieve that.
GpuRowsAttr chooseRowWidth(GpuRowsAttr schedule, const graph::DimExpr &length, int64_t lanes, GpuAttr gpu);

/// Chooses the threads of a prefix scan: one thread for each scanned row if the rows are short, or
/// if they are many and not contiguous; otherwise a block for each row. `alongLine`: the elements
/// of a row are contiguous.
GpuCumulateAttr chooseLineThreads(const graph::DimExpr &lines, const graph::DimExpr &length, bool alongLine,
                                  GpuAttr gpu);

} // namespace hewn::plan

#endif
