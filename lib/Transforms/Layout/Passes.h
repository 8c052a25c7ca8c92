// SPDX-License-Identifier: Apache-2.0
//
// Passes of the layout stage.
#ifndef HEWN_LIB_TRANSFORMS_LAYOUT_PASSES_H
#define HEWN_LIB_TRANSFORMS_LAYOUT_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {
class WeightTable;

/// The pass with the compile's table of weights, which it reads and adds to. Without a table (hewn-opt) only constants that lie
/// in the IR are packed. `shares`: another module reads the weights too, so their bytes stay.
std::unique_ptr<mlir::Pass> createPackConstantsPass(WeightTable *weights, bool shares = false);

#define GEN_PASS_DECL
#include "lib/Transforms/Layout/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Layout/Passes.h.inc"
} // namespace hewn

#endif
