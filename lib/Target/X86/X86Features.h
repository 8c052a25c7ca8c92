// SPDX-License-Identifier: Apache-2.0
//
// The sets of instructions that machines are made of.
//
// Code uses those of its machine's sets and no others: what else a processor has (AMD's SSE4A, say) could not be told from
// one that lacks it when the code is loaded.
#ifndef HEWN_LIB_TARGET_X86_X86FEATURES_H
#define HEWN_LIB_TARGET_X86_X86FEATURES_H

#include "hewn/services.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace hewn::x86 {

/// What the runtime asks the processor for as one.
struct InstructionSet {
  /// Behind a "+" in a machine's name, all sets of that name; empty: only the name of a whole machine brings it.
  llvm::StringRef name;
  /// One of services.h's HEWN_CPU_*, and those without which it is of no use.
  uint64_t bit, needs;
  /// As LLVM calls them.
  std::vector<llvm::StringRef> features;
};
llvm::ArrayRef<InstructionSet> instructionSets();

inline constexpr uint64_t kV2 = HEWN_CPU_X86_64_V2, kV3 = kV2 | HEWN_CPU_X86_64_V3, kV4 = kV3 | HEWN_CPU_X86_64_V4;

/// The sets that are whole among these features, and whose needs are met.
uint64_t bitsOf(const llvm::StringMap<bool> &features);

/// LLVM's list of the features of these sets: each with a plus, and what the name of `cpu` would bring beside them with a
/// minus.
std::string featureList(llvm::StringRef cpu, uint64_t bits);

} // namespace hewn::x86

#endif
