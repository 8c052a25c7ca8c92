// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_FUSE_SPLITSUMS_H
#define HEWN_FUSE_SPLITSUMS_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"

namespace hewn {

/// The contraction of a kernel of known sizes that has nothing but it, elementwise ops, moves and constants; null otherwise.
graph::ContractOpInterface splittableSum(plan::KernelOp kernel);

} // namespace hewn

#endif
