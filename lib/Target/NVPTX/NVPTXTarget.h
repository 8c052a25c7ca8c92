// SPDX-License-Identifier: Apache-2.0
//
// The NVIDIA GPU targets of the compiler. Their code is PTX, which the driver compiles on the host
// that runs the model.
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXMACHINE_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXMACHINE_H

#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Machine.h"
#include "lib/Support/Precision.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::nvptx {

/// Initializes LLVM's NVPTX code generator. May be called more than once.
void initialize();

/// Registers the nvptx dialect. It is loaded together with the plan dialect, because kernel
/// generators emit its ops if a schedule requires them.
void registerDialects(mlir::DialectRegistry &registry);

/// Returns the GPU target with the given name ("sm_80", "sm_90a", ...), or nullopt if `targetNames`
/// does not contain the name.
std::optional<codegen::TargetSpec> findTarget(llvm::StringRef name);
std::vector<std::string> targetNames();

/// Returns the description of a GPU target for passes (#plan.target). It contains the number of
/// TF32 MMAs that a float32 MMA consists of at the given precision.
plan::TargetAttr targetAttr(mlir::MLIRContext *context, const codegen::TargetSpec &machine, Precision precision);

} // namespace hewn::nvptx

#endif
