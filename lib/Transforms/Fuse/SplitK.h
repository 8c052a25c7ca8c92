// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_FUSE_SPLITK_H
#define HEWN_FUSE_SPLITK_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Support/Remarks.h"

namespace hewn {

/// Returns the contraction of a kernel that supports split-K, or the reason why the kernel does not
/// support it. A supported kernel has static sizes and consists of one contraction, elementwise
/// ops, indexing ops and constants.
OrReason<graph::ContractOpInterface> splitKContraction(plan::KernelOp kernel);

} // namespace hewn

#endif
