// SPDX-License-Identifier: Apache-2.0
//
// The AArch64 targets of the compiler: Linux, ELF, little-endian.
//
// A target consists of instruction sets. LLVM's CPU name selects only the scheduling model and the
// costs.
#ifndef HEWN_LIB_TARGET_AARCH64_AARCH64MACHINE_H
#define HEWN_LIB_TARGET_AARCH64_AARCH64MACHINE_H

#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Machine.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::aarch64 {

/// Initializes LLVM's AArch64 code generator. May be called more than once.
void initialize();

/// Returns the AArch64 target with the given name: "host" on an AArch64 CPU, "neoverse-n1",
/// "aarch64+dotprod", ... Returns nullopt if the name is unknown.
std::optional<codegen::TargetSpec> findTarget(llvm::StringRef name);
/// Returns the AArch64 baseline, for code that runs before the CPU is detected.
codegen::TargetSpec baseTarget();
/// Returns the target names that `findTarget` accepts; "+SET" and "-SET" may follow each name.
std::vector<std::string> targetNames();

/// Returns the description of an AArch64 target for passes (#plan.target).
plan::TargetAttr targetAttr(mlir::MLIRContext *context, const codegen::TargetSpec &machine);

} // namespace hewn::aarch64

#endif
