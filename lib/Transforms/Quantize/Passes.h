// SPDX-License-Identifier: Apache-2.0
//
// Passes of the quantize stage.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_PASSES_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_PASSES_H

#include "lib/Support/PrecisionOption.h"
#include "lib/Support/WeightTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {

/// `weights` holds the constants that zero points may be; null: only those in the IR are known.
std::unique_ptr<mlir::Pass> createFormIntegerContractionsPass(const WeightTable *weights);

struct FormCodesPassOptions;
/// `weights`: as above.
std::unique_ptr<mlir::Pass> createFormCodesPass(const FormCodesPassOptions &options, const WeightTable *weights);

struct NarrowContractionsPassOptions;
/// `weights` holds the constants, whose range decides whether terms can stand for them; null: only those in the IR are known.
std::unique_ptr<mlir::Pass> createNarrowContractionsPass(const NarrowContractionsPassOptions &options,
                                                         const WeightTable *weights);

#define GEN_PASS_DECL
#include "lib/Transforms/Quantize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Quantize/Passes.h.inc"
} // namespace hewn

#endif
