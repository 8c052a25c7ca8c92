// SPDX-License-Identifier: Apache-2.0
//
// CPUs by name, as groups of instruction sets.
//
// The code of a target uses only the instruction sets of the target. The loader checks that the CPU
// has these sets; it could not detect that another feature is missing.
#ifndef HEWN_LIB_TARGET_BASE_PROCESSORS_H
#define HEWN_LIB_TARGET_BASE_PROCESSORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hewn::target {

/// An instruction set: a group of CPU features that the runtime checks with one bit.
struct InstructionSet {
  /// Name of the set for "+NAME" in a target's name; several sets may share it. A set with an empty
  /// name cannot be selected by name, only by a CPU that has it.
  llvm::StringRef name;
  /// Bit of the instruction set (HEWN_CPU_* of services.h), and the bits of the sets that it
  /// requires.
  uint64_t bit, needs;
  /// LLVM's names of the features in the instruction set.
  std::vector<llvm::StringRef> features;
};

/// A CPU: its name, LLVM's CPU for the scheduling model, and its instruction sets.
struct Processor {
  llvm::StringRef name, cpu;
  uint64_t bits;
};

/// Returns the bits of the instruction sets whose features are all in `features` and whose required
/// sets are present, too.
uint64_t bitsOf(llvm::ArrayRef<InstructionSet> sets, const llvm::StringMap<bool> &features);

/// Returns the CPU with the given name; "+SET" and "-SET" after the name add and remove instruction
/// sets. Returns nullopt for an unknown name or set, for an added set whose required sets are
/// missing, and for a removed set that the CPU lacks or that another of its sets requires.
std::optional<Processor> parseProcessor(llvm::StringRef name, llvm::ArrayRef<Processor> processors,
                                        llvm::ArrayRef<InstructionSet> sets);

/// Returns LLVM's feature string for some instruction sets: the features of the sets with a plus,
/// and a minus for each feature that LLVM's CPU name implies but no set contains. `implied` are the
/// implied features without those of the architecture's baseline.
std::string featureList(llvm::ArrayRef<InstructionSet> sets, uint64_t bits, llvm::ArrayRef<llvm::StringRef> implied);

} // namespace hewn::target

#endif
