// SPDX-License-Identifier: Apache-2.0
//
// Passes that lower kernels to loops.
#ifndef HEWN_LIB_CODEGEN_PASSES_H
#define HEWN_LIB_CODEGEN_PASSES_H

#include "dialects/Plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace hewn::codegen {

#define GEN_PASS_DECL
#include "lib/Codegen/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Codegen/Passes.h.inc"

} // namespace hewn::codegen

#endif
