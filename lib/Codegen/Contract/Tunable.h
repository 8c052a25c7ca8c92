// SPDX-License-Identifier: Apache-2.0
//
// The interface between kernels and the schedule search (`hewn tune`): a kernel's key, which holds
// all properties that its schedule depends on, and the candidate schedules.
//
// Layouts are fixed before schedules are chosen (panels of packed weights, Winograd-transformed
// weights). They are part of the types in the key and cannot be changed by a schedule. Loop kernels
// have no tunable parameters. GPU kernels are not searched.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_TUNABLE_H
#define HEWN_LIB_CODEGEN_CONTRACT_TUNABLE_H

#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// Returns the key of a kernel, such as "contract rows=196 columns=512 sum=256 ...": sizes, types,
/// operand strides and the number of other ops by category. It contains no names, so that equal
/// kernels of different models have the same key. Dynamic sizes are "?". Returns an empty string if
/// the kernel is not tunable.
std::string tuningKey(KernelContext &k);

/// Returns the schedules that a search may try: the cost model's schedule first, then others by
/// estimated cost. Returns an empty list if the kernel has no key.
llvm::SmallVector<mlir::Attribute> tuningCandidates(KernelContext &k);

/// Returns the dims of the scratch memory that a schedule of a contraction, a Winograd convolution
/// or fused attention needs. Returns no dims if the schedule needs none, or if it does not apply to
/// the kernel (the kernel generator then emits the error).
graph::Dims contractionScratch(KernelContext &k, mlir::Attribute schedule);

/// Verifies that code can be generated for the schedule `given`, with which a user replaces the
/// cost model's choice `chosen`, and that its memory and code size are at most a few times those of
/// `chosen`. Emits an error on the kernel if not.
llvm::LogicalResult verifyInstead(KernelContext &k, mlir::Attribute chosen, mlir::Attribute given);

} // namespace hewn::codegen

#endif
