// SPDX-License-Identifier: Apache-2.0
//
// The x86 instruction sets.
#ifndef HEWN_LIB_TARGET_X86_X86FEATURES_H
#define HEWN_LIB_TARGET_X86_X86FEATURES_H

#include "hewn/services.h"
#include "lib/Target/Base/Processors.h"

namespace hewn::x86 {

llvm::ArrayRef<target::InstructionSet> instructionSets();

inline constexpr uint64_t kV2 = HEWN_CPU_X86_64_V2, kV3 = kV2 | HEWN_CPU_X86_64_V3, kV4 = kV3 | HEWN_CPU_X86_64_V4;

/// Returns LLVM's feature string for the instruction sets `bits` on `cpu`. It disables features of
/// `cpu` that have no bit, such as AMD's SSE4A.
std::string featureList(llvm::StringRef cpu, uint64_t bits);

} // namespace hewn::x86

#endif
