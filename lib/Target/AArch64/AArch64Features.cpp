// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/AArch64/AArch64Features.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/AArch64TargetParser.h"

using llvm::StringRef;

namespace hewn::aarch64 {

llvm::ArrayRef<target::InstructionSet> instructionSets() {
  static const std::vector<target::InstructionSet> sets = {
      {"fp16", HEWN_CPU_AARCH64_FP16, 0, {"fullfp16"}},
      {"dotprod", HEWN_CPU_AARCH64_DOTPROD, 0, {"dotprod"}},
      {"i8mm", HEWN_CPU_AARCH64_I8MM, HEWN_CPU_AARCH64_DOTPROD, {"i8mm"}},
      {"bf16", HEWN_CPU_AARCH64_BF16, 0, {"bf16"}},
  };
  return sets;
}

/// Returns LLVM's names of the AArch64 features in the array `extensions`, without their plus
/// signs.
static std::vector<StringRef> featuresOf(const llvm::AArch64::ExtensionBitset &extensions) {
  std::vector<StringRef> features;
  llvm::AArch64::getExtensionFeatures(extensions, features);
  for (StringRef &feature : features)
    feature.consume_front("+");
  return features;
}

std::string featureList(StringRef cpu, uint64_t bits) {
  std::vector<StringRef> always = featuresOf(llvm::AArch64::ARMV8A.DefaultExts), implied;
  if (std::optional<llvm::AArch64::CpuInfo> known = llvm::AArch64::parseCpu(cpu))
    implied = featuresOf(known->getImpliedExtensions());
  llvm::erase_if(implied, [&](StringRef feature) { return llvm::is_contained(always, feature); });
  return target::featureList(instructionSets(), bits, implied);
}

} // namespace hewn::aarch64
