// SPDX-License-Identifier: Apache-2.0
//
// The AArch64 instruction sets beyond ARMv8.0, whose baseline includes floating point and ASIMD.
#ifndef HEWN_LIB_TARGET_AARCH64_AARCH64FEATURES_H
#define HEWN_LIB_TARGET_AARCH64_AARCH64FEATURES_H

#include "hewn/services.h"
#include "lib/Target/Base/Processors.h"

namespace hewn::aarch64 {

llvm::ArrayRef<target::InstructionSet> instructionSets();

/// Returns LLVM's feature string for the instruction sets `bits` on `cpu`. It disables features of
/// `cpu` that have no bit, such as SVE.
std::string featureList(llvm::StringRef cpu, uint64_t bits);

} // namespace hewn::aarch64

#endif
