// SPDX-License-Identifier: Apache-2.0
//
// Contractions on a GPU as GEMMs: decides which contractions can use MMA instructions, and which
// layouts of the operands these instructions need.
#ifndef HEWN_LIB_TARGET_NVPTX_SCHEDULE_MMAPRODUCT_H
#define HEWN_LIB_TARGET_NVPTX_SCHEDULE_MMAPRODUCT_H

#include "lib/Schedule/Schedule.h"
#include "lib/Support/Remarks.h"

namespace hewn::plan {

/// Returns yes if warp MMA supports the contraction's types and is faster for its dims, otherwise
/// no with the reason.
Eligibility multipliesMatrices(graph::ContractOpInterface op);

/// Returns the number of MMAs that replace one MMA on the original operands: more than one if
/// float32 operands are split into TF32 components.
int64_t productsOf(graph::ContractOpInterface op);

/// Returns the element type that an operand has in shared memory: its own type if both operands
/// have the same type or are 8-bit integers, otherwise float32.
mlir::Type stagedType(graph::ContractOpInterface op, unsigned operand = 0);

/// Returns true if the operands of a contraction must be contiguous along K in shared memory,
/// because MMA supports no other layout for their type. Such operands should be contiguous along K
/// in global memory as well.
bool multipliesAlongSum(graph::ContractOpInterface op);
/// Returns true if constant operands of the contraction should be stored contiguous along K,
/// because warp MMA or warpgroup MMA requires that layout for their type.
bool wantsAlongSum(graph::ContractOpInterface op);

/// Returns true if warpgroup MMA, which reads both operands from shared memory, supports the
/// contraction. The contraction must be one that warp MMA supports.
bool multipliesByGroups(graph::ContractOpInterface op);
/// Returns true if a warpgroup kernel for this contraction requires TMA loads. It does for float32
/// operands: the TMA load, or the producer warpgroup after it, rounds or splits them to TF32.
bool mustBeFetched(graph::ContractOpInterface op);
/// Returns true if TMA can probably load both operands: each is a kernel argument, and each of its
/// dims is an iteration dim.
bool looksFetchable(graph::ContractOpInterface op);

} // namespace hewn::plan

#endif
