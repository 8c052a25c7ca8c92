// SPDX-License-Identifier: Apache-2.0
//
// Processors by name, as sets of instructions.
//
// Code uses those of its machine's sets and no others: what else a processor has could not be told from one that lacks it when the
// code is loaded.
#ifndef HEWN_LIB_TARGET_PROCESSORS_PROCESSORS_H
#define HEWN_LIB_TARGET_PROCESSORS_PROCESSORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hewn::target {

/// What the runtime asks the processor for as one.
struct InstructionSet {
  /// Behind a "+" in a machine's name, all sets of that name; empty: only the name of a whole machine brings it.
  llvm::StringRef name;
  /// One of services.h's HEWN_CPU_*, and those without which it is of no use.
  uint64_t bit, needs;
  /// As LLVM calls them.
  std::vector<llvm::StringRef> features;
};

/// A name that users may write, the processor of LLVM's whose scheduling model it means, and its instructions.
struct Processor {
  llvm::StringRef name, cpu;
  uint64_t bits;
};

/// The sets that are whole among these features, and whose needs are met.
uint64_t bitsOf(llvm::ArrayRef<InstructionSet> sets, const llvm::StringMap<bool> &features);

/// The processor of a name with sets behind it; nullopt for a name that means none.
std::optional<Processor> parseProcessor(llvm::StringRef name, llvm::ArrayRef<Processor> processors,
                                        llvm::ArrayRef<InstructionSet> sets);

/// LLVM's list of the features of these sets: each with a plus, and what the name of a processor would bring beside them (`implied`,
/// without what all machines of the kind have) with a minus.
std::string featureList(llvm::ArrayRef<InstructionSet> sets, uint64_t bits, llvm::ArrayRef<llvm::StringRef> implied);

} // namespace hewn::target

#endif
