// SPDX-License-Identifier: Apache-2.0
//
// Kernels as a search over schedules knows them: by what the decision depends on, and by what else could have been decided.
//
// Choices that layouts have made before (panels of packed weights, whether windows are transformed for minimal filtering) are a part of
// the types here, and nothing that a schedule could change. Kernels of loops have no figures in their schedules, and those of a grid are not
// searched.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_TUNABLE_H
#define HEWN_LIB_CODEGEN_CONTRACT_TUNABLE_H

#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// "contract rows=196 columns=512 sum=256 ...": sizes, types, how operands lie, and how many ops of which kind follow; no names, so that equal
/// kernels of any model have one key. Sizes known only when run are "?". Empty: there is one way to do it.
std::string tuningKey(KernelFunction &k);

/// The schedules that a search may try for such a kernel: the model's first, then what it expects most of. None where it has no key.
llvm::SmallVector<mlir::Attribute> tuningCandidates(KernelFunction &k);

/// Dims of the scratch memory that the schedule of a contraction, of windows or of a chain needs; empty: none, or the kernel is none that it
/// fits, which its engine says.
graph::Dims contractionScratch(KernelFunction &k, mlir::Attribute schedule);

/// Whether code can be made by a schedule that somebody has given instead of `chosen`, with the memory that it needs, and with no more
/// memory and code than a few times what that has; an error on the kernel otherwise.
llvm::LogicalResult verifyInstead(KernelFunction &k, mlir::Attribute chosen, mlir::Attribute given);

} // namespace hewn::codegen

#endif
