// SPDX-License-Identifier: Apache-2.0
//
// Passes of the simplify stage.
#ifndef HEWN_LIB_TRANSFORMS_SIMPLIFY_PASSES_H
#define HEWN_LIB_TRANSFORMS_SIMPLIFY_PASSES_H

#include "lib/Support/Limits.h"
#include "mlir/Pass/Pass.h"

namespace hewn {

/// Selects the low-bit weights that are not folded with their scales, because a contraction may
/// read them packed: none, matrices (graph::packedWeights), or also all 8-bit weights
/// (graph::scaledWeights).
enum class KeptCodes { None, Matrices, All };

#define GEN_PASS_DECL
#include "lib/Transforms/Simplify/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Simplify/Passes.h.inc"
} // namespace hewn

#endif
