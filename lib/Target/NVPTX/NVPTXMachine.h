// SPDX-License-Identifier: Apache-2.0
//
// The NVIDIA machines that code can be made for. Their code is PTX, a text that the driver compiles where the model runs.
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXMACHINE_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXMACHINE_H

#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Machine.h"
#include "lib/Support/Precision.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::nvptx {

/// Makes LLVM's PTX code generator available; any number of times.
void initialize();

/// The dialect `nvptx`, loaded with the dialect `plan`: engines make its ops where a schedule asks for them.
void registerDialects(mlir::DialectRegistry &registry);

/// "sm_80", "sm_90a", ...: nullopt for a name that is not in `targetNames`.
std::optional<codegen::MachineSpec> findMachine(llvm::StringRef name);
std::vector<std::string> targetNames();

/// What passes may know of the machine, with products of float32 for this precision.
plan::TargetAttr targetAttr(mlir::MLIRContext *context, const codegen::MachineSpec &machine, Precision precision);

} // namespace hewn::nvptx

#endif
