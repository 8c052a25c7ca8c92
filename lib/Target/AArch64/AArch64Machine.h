// SPDX-License-Identifier: Apache-2.0
//
// The AArch64 machines that code can be made for: Linux, ELF, little-endian.
//
// As on other processors a machine is a set of features; LLVM's name for it only chooses its scheduling model.
#ifndef HEWN_LIB_TARGET_AARCH64_AARCH64MACHINE_H
#define HEWN_LIB_TARGET_AARCH64_AARCH64MACHINE_H

#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Machine.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::aarch64 {

/// Makes LLVM's AArch64 code generator available; any number of times.
void initialize();

/// "host" where that is one of these, "neoverse-n1", "aarch64+dotprod", ...: nullopt for a name that means no machine.
std::optional<codegen::MachineSpec> findMachine(llvm::StringRef name);
/// What every AArch64 machine has: for code that runs before anybody has looked at the processor.
codegen::MachineSpec baseMachine();
/// What `findMachine` takes; sets of instructions may follow a name.
std::vector<std::string> targetNames();

/// What passes may know of the machine.
plan::TargetAttr targetAttr(mlir::MLIRContext *context, const codegen::MachineSpec &machine);

} // namespace hewn::aarch64

#endif
