// SPDX-License-Identifier: Apache-2.0
//
// How the contraction engine computes a kernel: chosen once (hewn-decide-kernels), verified before code is made of it.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CONTRACTSCHEDULE_H
#define HEWN_LIB_CODEGEN_CONTRACT_CONTRACTSCHEDULE_H

#include "lib/Codegen/Contract/ContractForm.h"

namespace hewn::codegen {

/// The model's schedule for the kernel; null where the engine can't take it.
plan::ContractAttr chooseContraction(KernelFunction &k);

/// Those that a search over schedules may try: first that one, then others of the same unit, what the model expects most of first.
llvm::SmallVector<plan::ContractAttr> contractCandidates(KernelFunction &k);

/// Dims of the scratch memory that a contraction which decodes its weights needs: slots, floats of each. A task works in the slot of its
/// number. It keeps limbs of rows there, or a panel of decoded weights, which more rows than a tile's share. Empty: it needs none.
graph::Dims contractScratch(const KernelFunction &k, const ContractForm &form, plan::ContractAttr schedule);

/// Whether code can be made by the schedule; `memory` is the scratch memory that the kernel has. An error on the kernel, which names what
/// does not fit.
llvm::LogicalResult verifyContraction(KernelFunction &k, const ContractForm &form, plan::ContractAttr schedule,
                                      const std::optional<Buffer> &memory);

/// The same before the kernel has memory: it is to get what the schedule needs.
llvm::LogicalResult verifyContraction(KernelFunction &k, plan::ContractAttr schedule);

/// Whether vectors of so many lanes are the machine's, or halves of them where `mayHalve`. An error on the kernel otherwise.
llvm::LogicalResult verifyLanes(KernelFunction &k, int64_t lanes, bool mayHalve);
/// Whether tiles of `n` columns fit panels of `block`: they are one, several, or a part of one. An error on the kernel otherwise.
llvm::LogicalResult verifyPanels(KernelFunction &k, int64_t n, int64_t block);

} // namespace hewn::codegen

#endif
