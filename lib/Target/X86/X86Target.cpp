// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/X86/X86Target.h"
#include "lib/Target/Base/Platforms.h"
#include "lib/Target/X86/X86Features.h"
#include "lib/Target/X86/X86RankUpdate.h"
#include "lib/Target/X86/X86Rows.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using llvm::StringLiteral;
using llvm::StringRef;

namespace hewn::x86 {

namespace {

/// Names of the targets that "portable" consists of: one for each group of x86 CPUs for which
/// kernels differ.
constexpr StringRef kPortable[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+vnni+bf16",
                                   "x86-64-v4+vnni+bf16+amx"};

codegen::TargetSpec makeMachine(StringRef name, StringRef cpu, uint64_t bits) {
  codegen::TargetSpec machine;
  machine.name = name.str();
  machine.cpu = cpu.str();
  machine.features = featureList(cpu, bits);
  const Vectors &vectors = vectorsOf(bits);
  machine.vectorBytes = vectors.bytes;
  machine.fusedProducts = vectors.fusedProducts;
  machine.hasHalfConversions = vectors.hasHalfConversions;
  machine.hasBfloatConversions = bits & HEWN_CPU_AVX512_BF16;
  machine.cpuFeatures = bits;
  return machine;
}

codegen::TargetSpec hostTarget() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto has = [&](std::initializer_list<StringRef> names) {
    return llvm::all_of(names, [&](StringRef name) { return features.lookup(name); });
  };
  StringRef cpu = "x86-64";
  // Distinguishes the vendors of CPUs with AVX-512 and AVX-VNNI. Hypervisors may hide AMX, so such
  // a CPU may be from Intel or AMD: only AMD's CPUs have CLZERO.
  if (has({"amx-tile", "avx512bf16"}) || (has({"avx512bf16", "avxvnni"}) && !has({"clzero"})))
    cpu = "sapphirerapids";
  else if (has({"avx512bf16", "clzero", "avx512vp2intersect"}))
    cpu = "znver5";
  else if (has({"avx512bf16", "clzero"}))
    cpu = "znver4";
  else if (has({"avx512vnni", "avx512vbmi2"}))
    cpu = "icelake-server";
  else if (has({"avx512f", "avx512vl"}))
    cpu = "skylake-avx512";
  else if (has({"avx2", "fma", "clzero"}))
    cpu = "znver3";
  else if (has({"avx2", "fma"}))
    cpu = "haswell";
  else if (has({"sse4.2"}))
    cpu = "x86-64-v2";
  return makeMachine("host", cpu, target::bitsOf(instructionSets(), features));
}

constexpr target::SupportedPlatform kPlatforms[] = {{&target::kLinux, "", "libc6-dev-amd64-cross"}};

constexpr StringLiteral kUnknownCpu = "portable, for all x86-64 processors";
constexpr target::Alias kAliases[] = {{"x86", kUnknownCpu},    {"x86_64", kUnknownCpu}, {"x86-64", kUnknownCpu},
                                      {"x64", kUnknownCpu},    {"amd64", kUnknownCpu},  {"avx2", "x86-64-v3"},
                                      {"avx512", "x86-64-v4"}, {"avx-512", "x86-64-v4"}};

class X86 : public target::Target {
public:
  StringRef architecture() const override { return "x86_64"; }
  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeX86TargetInfo();
      LLVMInitializeX86Target();
      LLVMInitializeX86TargetMC();
      LLVMInitializeX86AsmPrinter();
      LLVMInitializeX86AsmParser();
    });
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const Row &row : rows())
      names.push_back(row.name.str());
    return names;
  }
  std::optional<codegen::TargetSpec> find(StringRef name) const override {
    auto processors =
        llvm::map_to_vector(rows(), [](const Row &row) { return target::Processor{row.name, row.cpu, row.bits}; });
    std::optional<target::Processor> found = target::parseProcessor(name, processors, instructionSets());
    return found ? std::optional(makeMachine(name, found->cpu, found->bits)) : std::nullopt;
  }
  std::optional<codegen::TargetSpec> host() const override {
    return llvm::Triple(llvm::sys::getProcessTriple()).isX86() ? std::optional(hostTarget()) : std::nullopt;
  }
  std::optional<codegen::TargetSpec> base() const override {
    return makeMachine(baseRow().name, baseRow().cpu, baseRow().bits);
  }
  ArrayRef<StringRef> portable() const override { return kPortable; }
  ArrayRef<target::Alias> aliases() const override { return kAliases; }
  ArrayRef<target::SupportedPlatform> platforms() const override { return kPlatforms; }
  plan::TargetAttr describe(MLIRContext *context, const codegen::TargetSpec &machine, Precision) const override {
    return targetOf(context, rowOf(machine.cpu), machine.cpuFeatures);
  }
  RankUpdate *rankUpdate() const override { return x86::rankUpdate(); }
};

} // namespace

const target::Target &family() {
  static const X86 one;
  return one;
}

} // namespace hewn::x86
