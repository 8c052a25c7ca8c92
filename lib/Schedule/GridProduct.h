// SPDX-License-Identifier: Apache-2.0
//
// Contractions on a grid as products of matrices: which of them its matrix instructions take, and how operands must lie for them.
#ifndef HEWN_LIB_SCHEDULE_GRIDPRODUCT_H
#define HEWN_LIB_SCHEDULE_GRIDPRODUCT_H

#include "lib/Schedule/Schedule.h"
#include "lib/Support/Remarks.h"

namespace hewn::plan {

/// Whether the warps' matrix instruction takes the contraction's types, and gains by its sizes.
Verdict multipliesMatrices(graph::ContractOpInterface op);

/// Products of a pair of the operands' elements: several where float32s are sums of factors.
int64_t productsOf(graph::ContractOpInterface op);

/// What an operand's elements are in shared memory: what they are, where both are the same or integers, else float32.
mlir::Type stagedType(graph::ContractOpInterface op, unsigned operand = 0);

/// Whether they must lie along the sum there, and had best do so in memory: the instruction has no other form for such elements.
bool multipliesAlongSum(graph::ContractOpInterface op);
/// Whether constants had best lie so: also where groups of warps multiply only what does.
bool wantsAlongSum(graph::ContractOpInterface op);

/// Whether groups of warps have an instruction for what `multipliesMatrices`: both operands are in shared memory as its factors.
bool multipliesByGroups(graph::ContractOpInterface op);
/// Whether the operands must be fetched for that: float32s become factors on their way, or there.
bool mustBeFetched(graph::ContractOpInterface op);
/// Whether both operands look as if they could be: kernel's inputs, of which each dim is one of the iteration.
bool looksFetchable(graph::ContractOpInterface op);

} // namespace hewn::plan

#endif
