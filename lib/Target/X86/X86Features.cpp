// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/X86/X86Features.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/TargetParser/X86TargetParser.h"

using llvm::StringRef;

namespace hewn::x86 {

llvm::ArrayRef<target::InstructionSet> instructionSets() {
  static const std::vector<target::InstructionSet> sets = {
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

std::string featureList(StringRef cpu, uint64_t bits) {
  llvm::SmallVector<StringRef, 64> always, implied;
  llvm::X86::getFeaturesForCPU("x86-64", always);
  always.push_back("sse2");
  llvm::X86::getFeaturesForCPU(cpu, implied);
  llvm::erase_if(implied, [&](StringRef feature) { return llvm::is_contained(always, feature); });
  return target::featureList(instructionSets(), bits, implied);
}

} // namespace hewn::x86
