// SPDX-License-Identifier: Apache-2.0
//
// All machines that code can be made for, whatever their kind.
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

/// Makes LLVM's code generators available; any number of times.
void initialize();

/// The dialects that machines have beside the compiler's own, and the passes that lower them.
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

/// What `--target` may say, and the one machine that a name means; nullopt for any other name.
std::vector<std::string> names();
std::optional<codegen::MachineSpec> find(llvm::StringRef name);

/// The machines of `--target`, in the order in which a loader tries them. A device comes alone. An error names the name.
llvm::Expected<std::vector<codegen::MachineSpec>> findAll(llvm::StringRef list);

/// Of the machines of `machine`'s kind the one that all others have the instructions of: for what runs before one is chosen, and for the
/// program in front of a device.
codegen::MachineSpec baseMachine(const codegen::MachineSpec &machine);

/// The processor and what is used of it, as a tuning names a machine that code was measured for: the same for a name and for the host that it
/// is the name of.
std::string identity(const codegen::MachineSpec &machine);

/// What passes may know of the machine, whose own products of float32 are as exact as the precision asks.
plan::TargetAttr attribute(mlir::MLIRContext *context, const codegen::MachineSpec &machine, Precision precision);

/// BLAS's syrk by the longest vectors of the machine that this process runs on; the same sums on each.
RankUpdate *rankUpdate();

} // namespace hewn::target

#endif
