// SPDX-License-Identifier: Apache-2.0
//
// Which tensors are made as subviews of others, instead of being put together.
#ifndef HEWN_LIB_SCHEDULE_PLACEDSUBVIEWS_H
#define HEWN_LIB_SCHEDULE_PLACEDSUBVIEWS_H

#include "dialects/Plan/Subviews.h"
#include "lib/Support/Remarks.h"

namespace hewn::plan {

/// Whether the op puts its operands together for readers that want them in one tensor: not where its only reader takes them out of
/// memory one by one anyhow, unless they are interleaved, which is expensive to read so.
bool isPutTogether(graph::MoveOpInterface op);

/// Whether the op, which puts its operands together, need not be run: what makes the operands, or most of their elements, can
/// make them where they belong. Not where some wait long for the others, or on grids, whose kernels read and write whole lines.
/// `isMadeElsewhere`: of an operand, whether it is made in a kernel that the op can't be in.
Verdict placesSubviews(graph::MoveOpInterface op, llvm::function_ref<bool(mlir::Value)> isMadeElsewhere);

/// Whether a subview of that type, one in a tensor of the whole's type and dims, may be read by others, too. With gaps it is spread over
/// more memory, and what comes from beyond the cache comes with the gaps.
bool mayBeReadApart(mlir::RankedTensorType subview, mlir::Value whole, const graph::Assembly &assembly);

} // namespace hewn::plan

#endif
