// SPDX-License-Identifier: Apache-2.0
//
// Passes that lower kernels to loops.
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

/// Creates the pass hewn-assign-schedules. `tuning` has measured schedules, of which the pass uses
/// those for the target of the module, and must outlive the pass. If `tuning` is null, all
/// schedules come from the cost model.
std::unique_ptr<mlir::Pass> createAssignSchedulesPass(const plan::Tuning *tuning);

} // namespace hewn::codegen

#endif
