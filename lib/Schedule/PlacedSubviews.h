// SPDX-License-Identifier: Apache-2.0
//
// Decides which operands of a concat or interleave are allocated as subviews of the result.
#ifndef HEWN_LIB_SCHEDULE_PLACEDSUBVIEWS_H
#define HEWN_LIB_SCHEDULE_PLACEDSUBVIEWS_H

#include "dialects/Plan/Subviews.h"
#include "lib/Support/Remarks.h"

namespace hewn::plan {

/// Returns true if the op is a concat or interleave whose result must be in memory. A concat whose
/// only user is an elementwise or indexing op is not stored: the user reads its elements one by
/// one. Interleaved operands are expensive to read that way, so the result of an interleave is
/// always stored.
bool isPutTogether(graph::IndexingOpInterface op);

/// Returns yes if the kernels that compute most of the operands can write them directly into the
/// op's result, so that the op copies only the other operands. Returns no on GPUs, and if the
/// result would be live for many ops before this op. `isMadeElsewhere`: returns true for an operand
/// that is computed in another kernel than the op.
Eligibility placesSubviews(graph::IndexingOpInterface op, llvm::function_ref<bool(mlir::Value)> isMadeElsewhere);

/// Returns true if ops other than the concat may read the operand as a subview of the result. A
/// strided subview is spread over more memory, so reading a large one takes more memory bandwidth.
bool mayBeReadApart(mlir::RankedTensorType subview, mlir::Value whole, const graph::Assembly &assembly);

} // namespace hewn::plan

#endif
