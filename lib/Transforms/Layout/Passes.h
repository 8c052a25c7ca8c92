// SPDX-License-Identifier: Apache-2.0
//
// Passes of the layout stage.
#ifndef HEWN_LIB_TRANSFORMS_LAYOUT_PASSES_H
#define HEWN_LIB_TRANSFORMS_LAYOUT_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {
#define GEN_PASS_DECL
#include "lib/Transforms/Layout/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Layout/Passes.h.inc"
} // namespace hewn

#endif
