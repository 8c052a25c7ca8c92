// SPDX-License-Identifier: Apache-2.0
//
// Schedules of contraction kernels: chosen by hewn-assign-schedules, verified before code is
// generated.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CONTRACTSCHEDULE_H
#define HEWN_LIB_CODEGEN_CONTRACT_CONTRACTSCHEDULE_H

#include "lib/Codegen/Contract/ContractForm.h"

namespace hewn::codegen {

/// Returns the cost model's schedule for the kernel, or null (with a remark) if the generator does
/// not support it.
plan::ContractAttr chooseContraction(KernelContext &k);

/// Returns the schedules that a search may try. The cost model's schedule is first, then other
/// schedules for the same unit by estimated cost.
llvm::SmallVector<plan::ContractAttr> contractCandidates(KernelContext &k);

/// Returns the dims of the scratch memory for a contraction with packed low-bit weights: [slots,
/// floats per slot]. Task i uses slot i. A slot holds the int8 slices of some rows, or one panel of
/// dequantized weights that several row tiles share. Returns no dims if the schedule needs no
/// scratch memory.
graph::Dims contractScratch(const KernelContext &k, const ContractForm &form, plan::ContractAttr schedule);

/// Verifies that code can be generated for the schedule with the kernel's scratch memory `memory`.
/// If not, emits an error on the kernel that names the mismatch.
llvm::LogicalResult verifyContraction(KernelContext &k, const ContractForm &form, plan::ContractAttr schedule,
                                      const std::optional<Buffer> &memory);

/// Verifies the schedule of a kernel to which scratch memory has not been added yet.
llvm::LogicalResult verifyContraction(KernelContext &k, plan::ContractAttr schedule);

/// Verifies that `lanes` is the target's number of lanes, or half of it if `mayHalve`. Emits an
/// error on the kernel if not.
llvm::LogicalResult verifyLanes(KernelContext &k, int64_t lanes, bool mayHalve);
/// Verifies that a tile of `n` columns consists of one or several panels of `block` columns, or
/// that `n` divides `block`. Emits an error on the kernel if not.
llvm::LogicalResult verifyPanels(KernelContext &k, int64_t n, int64_t block);

} // namespace hewn::codegen

#endif
