// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_FUSE_SPLITK_H
#define HEWN_FUSE_SPLITK_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Support/Remarks.h"

namespace hewn {

/// The contraction of a kernel of known sizes that has nothing but it, elementwise ops, moves and constants, or why its sum is not split.
Found<graph::ContractOpInterface> splitKContraction(plan::KernelOp kernel);

} // namespace hewn

#endif
