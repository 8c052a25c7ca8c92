// SPDX-License-Identifier: Apache-2.0
//
// Passes of the simplify stage.
#ifndef HEWN_LIB_TRANSFORMS_SIMPLIFY_PASSES_H
#define HEWN_LIB_TRANSFORMS_SIMPLIFY_PASSES_H

#include "mlir/Pass/Pass.h"

namespace hewn {
#define GEN_PASS_DECL
#include "lib/Transforms/Simplify/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Simplify/Passes.h.inc"
} // namespace hewn

#endif
