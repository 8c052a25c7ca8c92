// SPDX-License-Identifier: Apache-2.0
//
// Passes that turn kernels into loops.
#ifndef HEWN_LIB_CODEGEN_PASSES_H
#define HEWN_LIB_CODEGEN_PASSES_H

#include "dialects/Plan/Plan.h"
#include "lib/Schedule/Tuning.h"
#include "mlir/Pass/Pass.h"

namespace hewn::codegen {

#define GEN_PASS_DECL
#include "lib/Codegen/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Codegen/Passes.h.inc"

/// The same by a tuning that is read already, which outlives the pass; null: by the model alone.
std::unique_ptr<mlir::Pass> createDecideKernelsPass(const plan::Tuning *tuning, llvm::StringRef machine);

} // namespace hewn::codegen

#endif
