// SPDX-License-Identifier: Apache-2.0
//
// Passes that plan memory (see Passes.td).
#ifndef HEWN_LIB_TRANSFORMS_PLAN_PASSES_H
#define HEWN_LIB_TRANSFORMS_PLAN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Plan/Passes.h.inc"

} // namespace hewn

#endif
