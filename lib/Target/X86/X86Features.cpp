// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/X86/X86Features.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <set>

using llvm::StringRef;

namespace hewn::x86 {

llvm::ArrayRef<InstructionSet> instructionSets() {
  static const std::vector<InstructionSet> sets = {
      {"", HEWN_CPU_X86_64_V2, 0, {"cx16", "crc32", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"}},
      {"", HEWN_CPU_X86_64_V3, kV2, {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
      {"", HEWN_CPU_X86_64_V4, kV3, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
      {"avxvnni", HEWN_CPU_AVX_VNNI, kV3, {"avxvnni"}},
      {"vnni", HEWN_CPU_AVX512_VNNI, kV4, {"avx512vnni"}},
      {"bf16", HEWN_CPU_AVX512_BF16, kV4, {"avx512bf16"}},
      {"fp16", HEWN_CPU_AVX512_FP16, kV4, {"avx512fp16"}},
      {"vbmi",
       HEWN_CPU_AVX512_VBMI,
       kV4,
       {"avx512bitalg", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vpopcntdq"}},
      {"gfni", HEWN_CPU_GFNI, kV3, {"gfni"}},
      {"amx", HEWN_CPU_AMX_INT8, kV4, {"amx-tile", "amx-int8"}},
      {"amx", HEWN_CPU_AMX_BF16, kV4, {"amx-tile", "amx-bf16"}},
  };
  return sets;
}

uint64_t bitsOf(const llvm::StringMap<bool> &features) {
  uint64_t bits = 0;
  for (const InstructionSet &set : instructionSets())
    if ((set.needs & ~bits) == 0 && llvm::all_of(set.features, [&](StringRef f) { return features.lookup(f); }))
      bits |= set.bit;
  return bits;
}

std::string featureList(StringRef cpu, uint64_t bits) {
  std::set<StringRef> added;
  for (const InstructionSet &set : instructionSets())
    if (bits & set.bit)
      added.insert(set.features.begin(), set.features.end());
  llvm::SmallVector<StringRef, 64> always, implied;
  llvm::X86::getFeaturesForCPU("x86-64", always);
  always.push_back("sse2");
  llvm::X86::getFeaturesForCPU(cpu, implied);
  std::vector<std::string> list;
  for (StringRef feature : implied)
    if (!added.count(feature) && !llvm::is_contained(always, feature))
      list.push_back("-" + feature.str());
  // The pluses last: taking a feature away takes those along that are built on it.
  llvm::sort(list);
  for (StringRef feature : added)
    list.push_back("+" + feature.str());
  return llvm::join(list, ",");
}

} // namespace hewn::x86
