// SPDX-License-Identifier: Apache-2.0
//
// Passes of the simplify stage.
#ifndef HEWN_LIB_TRANSFORMS_SIMPLIFY_PASSES_H
#define HEWN_LIB_TRANSFORMS_SIMPLIFY_PASSES_H

#include "lib/Support/WeightTable.h"
#include "lib/Transforms/Simplify/ConstantEvaluator.h"
#include "mlir/Pass/Pass.h"

namespace hewn {

/// Which weights in few bits stay apart from their scales, as a contraction may take them so: none, matrices (graph::codedWeights), or all of 8 bits, too
/// (graph::scaledWeights).
enum class KeptCodes { None, Matrices, All };

/// `maxFoldedOps`: how many operations on elements may be done now, beside kFoldingPerElement for each element of the constants.
std::unique_ptr<mlir::Pass> createFoldConstantsPass(WeightTable *weights, ConstantEvaluator evaluate,
                                                    int64_t maxFoldedOps, KeptCodes kept = KeptCodes::None);

#define GEN_PASS_DECL
#include "lib/Transforms/Simplify/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Simplify/Passes.h.inc"
} // namespace hewn

#endif
