// SPDX-License-Identifier: Apache-2.0
//
// The registry of targets: all families (lib/Target/Base/Target.h) and platforms, by name.
#ifndef HEWN_LIB_TARGET_TARGETS_H
#define HEWN_LIB_TARGET_TARGETS_H

#include "lib/Target/Base/Target.h"

namespace hewn::target {

/// Initializes LLVM's code generators of all targets. May be called more than once.
void initialize();

/// Register the ops that only one family has (the nvptx dialect), the schedule models and kernel
/// generators of all targets, and the passes that lower these ops.
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

/// Return the accepted values of `--target` without platforms, and the target with a given name
/// (CPU or CPU@PLATFORM), or nullopt if the name is unknown.
std::vector<std::string> names();
std::optional<codegen::TargetSpec> find(llvm::StringRef name);

/// Returns the targets of a `--target` list, in the order in which the loader tries them. A device
/// must be the only target. An error names the invalid target or platform.
llvm::Expected<std::vector<codegen::TargetSpec>> findAll(llvm::StringRef list);

/// Returns the baseline of the architecture of the target `machine`: the instruction sets that all
/// of its CPUs have. The loader's code, which selects a variant of the model for the CPU, is
/// compiled for the baseline. For a device, returns the baseline of the host.
codegen::TargetSpec baseTarget(const codegen::TargetSpec &machine);

/// Returns the name by which tuning files identify a target: LLVM's CPU and a hash of the features.
/// "host" and the name of the host have the same identity.
std::string identity(const codegen::TargetSpec &machine);

/// Returns true if code for `machine` runs in this process: it has the same architecture and
/// platform. The CPU may lack instruction sets of the target.
bool isForThisMachine(const codegen::TargetSpec &machine);

/// Returns the folder of the runtime archive for `machine`, relative to that of the host's runtime:
/// "aarch64-linux-gnu", or "" for the host.
std::string runtimeFolder(const codegen::TargetSpec &machine);

/// Returns what the family of `machine` needs on its platform.
const SupportedPlatform &supportOf(const codegen::TargetSpec &machine);

/// Returns all platforms that a family supports.
std::vector<const codegen::Platform *> platforms();
/// Returns a Markdown page with tables of all targets and platforms.
std::string page();

/// Returns the linkers of all object formats.
std::vector<const codegen::LinkerTool *> linkers();
/// Returns the extension of libraries for this machine, such as ".so", and returns true if a file
/// name has this extension.
llvm::StringRef libraryExtension();
bool isLibrary(llvm::StringRef path);

/// Returns the values of --emit that only devices have, such as "ptx".
std::vector<llvm::StringRef> deviceStages();

/// Returns the description of a target for passes (plan.target). GPU targets multiply float32 as
/// accurately as `precision` requires.
plan::TargetAttr attribute(mlir::MLIRContext *context, const codegen::TargetSpec &machine, Precision precision);

/// Returns the rank-k update (BLAS syrk) function that uses the longest vectors of the host. Its
/// result is the same on all hosts.
RankUpdate *rankUpdate();

} // namespace hewn::target

#endif
