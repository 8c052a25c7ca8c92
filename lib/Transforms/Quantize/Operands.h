// SPDX-License-Identifier: Apache-2.0
//
// How a contraction's operands are given another type.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_OPERANDS_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_OPERANDS_H

#include "dialects/Graph/Graph.h"

namespace hewn {

/// Casts both operands. A border of zeros around the left one that nobody else reads stays next to the contraction, which can
/// leave it out: the cast goes before it.
void castOperands(graph::ContractOpInterface op, mlir::Type type);

} // namespace hewn

#endif
