// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_FUSE_SPLITK_H
#define HEWN_FUSE_SPLITK_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"

namespace hewn {

/// The contraction of a kernel of known sizes that has nothing but it, elementwise ops, moves and constants; null otherwise.
graph::ContractOpInterface splitKContraction(plan::KernelOp kernel);

} // namespace hewn

#endif
