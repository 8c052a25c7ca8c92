// SPDX-License-Identifier: Apache-2.0
//
// Steps of the driver as passes, for hewn-opt.
#ifndef HEWN_LIB_COMPILER_PASSES_H
#define HEWN_LIB_COMPILER_PASSES_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Support/PrecisionOption.h"
#include "mlir/Pass/Pass.h"

namespace hewn {
#define GEN_PASS_DECL
#include "lib/Compiler/Stages/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Compiler/Stages/Passes.h.inc"
} // namespace hewn

#endif
