// SPDX-License-Identifier: Apache-2.0
//
// Passes of the simplify stage.
#ifndef HEWN_LIB_TRANSFORMS_SIMPLIFY_PASSES_H
#define HEWN_LIB_TRANSFORMS_SIMPLIFY_PASSES_H

#include "lib/Support/WeightTable.h"
#include "lib/Transforms/Simplify/ConstantEvaluator.h"
#include "mlir/Pass/Pass.h"

namespace hewn {

/// `maxFoldedOps`: how many operations on elements may be done now, beside kFoldingPerElement for each element of the constants. `keepCodes`: weights in few bits that a contraction may take as they are (graph::codedWeights) stay apart from their scales.
std::unique_ptr<mlir::Pass> createFoldConstantsPass(WeightTable *weights, ConstantEvaluator evaluate,
                                                    int64_t maxFoldedOps, bool keepCodes = false);

#define GEN_PASS_DECL
#include "lib/Transforms/Simplify/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Simplify/Passes.h.inc"
} // namespace hewn

#endif
