// SPDX-License-Identifier: Apache-2.0
//
// Passes of the layout stage.
#ifndef HEWN_LIB_TRANSFORMS_LAYOUT_PASSES_H
#define HEWN_LIB_TRANSFORMS_LAYOUT_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {
class WeightStore;

/// Creates the pass. It reads constants from `weights`, the weight store of the compilation, and
/// adds the packed ones. If the table is null (hewn-opt), only constants in the IR are packed. If
/// `shares`, another module reads the weights too, so their bytes are kept.
std::unique_ptr<mlir::Pass> createPackConstantsPass(WeightStore *weights, bool shares = false);

#define GEN_PASS_DECL
#include "lib/Transforms/Layout/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Layout/Passes.h.inc"
} // namespace hewn

#endif
