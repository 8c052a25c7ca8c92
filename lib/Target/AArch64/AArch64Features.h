// SPDX-License-Identifier: Apache-2.0
//
// The sets of instructions beyond ARMv8.0, which has floating point and vectors (ASIMD).
#ifndef HEWN_LIB_TARGET_AARCH64_AARCH64FEATURES_H
#define HEWN_LIB_TARGET_AARCH64_AARCH64FEATURES_H

#include "hewn/services.h"
#include "lib/Target/Processors/Processors.h"

namespace hewn::aarch64 {

llvm::ArrayRef<target::InstructionSet> instructionSets();

/// LLVM's list of the features of these sets, where `cpu` is the processor: without SVE, say, which no bit tells of.
std::string featureList(llvm::StringRef cpu, uint64_t bits);

} // namespace hewn::aarch64

#endif
