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
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::x86 {

/// Makes LLVM's x86 code generator available; any number of times.
void initialize();

/// "host" where that is one of these, "x86-64-v3", "x86-64-v4+vnni+bf16", ...: nullopt for a name that means no one machine.
std::optional<codegen::MachineSpec> findMachine(llvm::StringRef name);
/// What "portable" stands for.
llvm::ArrayRef<llvm::StringRef> portableNames();
/// What every x86-64 has: for code that runs before anybody has looked at the processor.
codegen::MachineSpec baseMachine();
/// What `findMachine` takes; sets of instructions may follow a name.
std::vector<std::string> targetNames();

/// What passes may know of the machine.
plan::TargetAttr targetAttr(mlir::MLIRContext *context, const codegen::MachineSpec &machine);

} // namespace hewn::x86

#endif
