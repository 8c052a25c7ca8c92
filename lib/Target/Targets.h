// SPDX-License-Identifier: Apache-2.0
//
// The targets of the compiler, for all architectures.
#ifndef HEWN_LIB_TARGET_TARGETS_H
#define HEWN_LIB_TARGET_TARGETS_H

#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Machine.h"
#include "lib/Support/Precision.h"
#include "lib/Support/RankUpdate.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::target {

/// Initializes LLVM's code generators of all targets. May be called more than once.
void initialize();

/// Register the ops that only one architecture has (the nvptx dialect), and the passes that lower
/// them.
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

/// Return the accepted values of `--target`, and the target with a given name, or nullopt if the
/// name is unknown.
std::vector<std::string> names();
std::optional<codegen::TargetSpec> find(llvm::StringRef name);

/// Returns the targets of a `--target` list, in the order in which the loader tries them. A device
/// must be the only target. An error names the invalid target.
llvm::Expected<std::vector<codegen::TargetSpec>> findAll(llvm::StringRef list);

/// Returns the baseline of the architecture of the target `machine`: the instruction sets that all
/// of its CPUs have. The loader's code, which selects a variant of the model for the CPU, is
/// compiled for the baseline. For a device, returns the baseline of the host.
codegen::TargetSpec baseTarget(const codegen::TargetSpec &machine);

/// Returns the name by which tuning files identify a target: LLVM's CPU and a hash of the features.
/// "host" and the name of the host have the same identity.
std::string identity(const codegen::TargetSpec &machine);

/// Returns the description of a target for passes (#plan.target). GPU targets multiply float32 as
/// accurately as `precision` requires.
plan::TargetAttr attribute(mlir::MLIRContext *context, const codegen::TargetSpec &machine, Precision precision);

/// Returns the rank-k update (BLAS syrk) function that uses the longest vectors of the host. Its
/// result is the same on all hosts.
RankUpdate *rankUpdate();

} // namespace hewn::target

#endif
