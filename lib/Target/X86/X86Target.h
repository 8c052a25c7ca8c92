// SPDX-License-Identifier: Apache-2.0
//
// The x86 targets of the compiler.
//
// A target is defined by its instruction sets, because CPUs of one name differ in the sets that the
// operating system or a hypervisor enables. LLVM's CPU name selects the scheduling model and the
// rates of instructions alone.
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

/// Initializes LLVM's x86 code generator. May be called more than once.
void initialize();

/// Returns the x86 target with the given name: "host" on an x86 CPU, "x86-64-v3",
/// "x86-64-v4+vnni+bf16", "sapphirerapids-amx", ... Returns nullopt if the name is unknown.
std::optional<codegen::TargetSpec> findTarget(llvm::StringRef name);
/// Returns the names of the targets that "portable" consists of.
llvm::ArrayRef<llvm::StringRef> portableNames();
/// Returns the x86-64 baseline, for code that runs before the CPU is detected.
codegen::TargetSpec baseTarget();
/// Returns the target names that `findTarget` accepts; "+SET" and "-SET" may follow each name.
std::vector<std::string> targetNames();

/// Returns the description of an x86 target for passes (#plan.target).
plan::TargetAttr targetAttr(mlir::MLIRContext *context, const codegen::TargetSpec &machine);

} // namespace hewn::x86

#endif
