// SPDX-License-Identifier: Apache-2.0
//
// The sets of instructions that machines are made of.
#ifndef HEWN_LIB_TARGET_X86_X86FEATURES_H
#define HEWN_LIB_TARGET_X86_X86FEATURES_H

#include "hewn/services.h"
#include "lib/Target/Processors/Processors.h"

namespace hewn::x86 {

llvm::ArrayRef<target::InstructionSet> instructionSets();

inline constexpr uint64_t kV2 = HEWN_CPU_X86_64_V2, kV3 = kV2 | HEWN_CPU_X86_64_V3, kV4 = kV3 | HEWN_CPU_X86_64_V4;

/// LLVM's list of the features of these sets, where `cpu` is the processor: without AMD's SSE4A, say, which no bit tells of.
std::string featureList(llvm::StringRef cpu, uint64_t bits);

} // namespace hewn::x86

#endif
