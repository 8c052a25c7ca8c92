// SPDX-License-Identifier: Apache-2.0
//
// Cost model of contractions on a GPU without MMA instructions.
#ifndef HEWN_LIB_SCHEDULE_GPUTHREADSCHEDULE_H
#define HEWN_LIB_SCHEDULE_GPUTHREADSCHEDULE_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// Maximum number of rows or columns for the skinny GEMM forms `few_rows` and `few_columns`, and
/// number of threads in one of their blocks.
inline constexpr int64_t kMaxFew = 8, kFewThreads = 256;
/// Sizes of a contraction of the form `tiles`: number of threads along each side of a thread block,
/// and maximum number of rows or columns per thread.
inline constexpr int64_t kTileSide = 16, kMaxSumsPerThreadSide = 8;
/// Returns the schedule of a contraction without MMA. Returns null if M, N or K is so small that an
/// elementwise kernel is faster. `leftAlongSum`, `rightAlongSum`: true if the innermost dim
/// of the left or right operand is a reduction dim.
GpuContractAttr chooseThreadContraction(graph::ContractOpInterface op, bool leftAlongSum, bool rightAlongSum);

} // namespace hewn::plan

#endif
