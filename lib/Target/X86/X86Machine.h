// SPDX-License-Identifier: Apache-2.0
//
// The x86 machines that code can be made for.
//
// A machine is a set of features, never a name: processors that call themselves alike differ in what the system lets
// them use. What LLVM calls the processor only chooses its scheduling model and is derived from the features.
#ifndef HEWN_LIB_TARGET_X86_X86MACHINE_H
#define HEWN_LIB_TARGET_X86_X86MACHINE_H

#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Machine.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::x86 {

/// Makes LLVM's x86 code generator available; any number of times.
void initialize();

/// "host", "x86-64-v3", ...: nullopt for a name that is not in `targetNames`.
std::optional<codegen::MachineSpec> findMachine(llvm::StringRef name);
std::vector<std::string> targetNames();

/// What passes may know of the machine.
plan::TargetAttr targetAttr(mlir::MLIRContext *context, const codegen::MachineSpec &machine);

} // namespace hewn::x86

#endif
