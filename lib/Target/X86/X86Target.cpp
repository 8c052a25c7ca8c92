// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/X86/X86Target.h"
#include "lib/Target/X86/X86Features.h"
#include "lib/Target/X86/X86Rows.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using llvm::StringRef;

namespace hewn::x86 {

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

namespace {

/// Names of the targets that "portable" consists of: one for each group of x86 CPUs for which
/// kernels differ.
constexpr StringRef portable[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+vnni+bf16",
                                  "x86-64-v4+vnni+bf16+amx"};

codegen::TargetSpec makeMachine(StringRef name, StringRef cpu, uint64_t bits) {
  codegen::TargetSpec machine;
  machine.name = name.str();
  machine.triple = "x86_64-unknown-linux-gnu";
  machine.runtimeFolder = "x86_64-linux-gnu";
  machine.runtimeNeeds = "libc6-dev-amd64-cross";
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

} // namespace

std::vector<std::string> targetNames() {
  std::vector<std::string> names;
  for (const Row &row : rows())
    names.push_back(row.name.str());
  return names;
}

std::optional<codegen::TargetSpec> findTarget(StringRef name) {
  if (name == "host" && llvm::Triple(llvm::sys::getProcessTriple()).isX86())
    return hostTarget();
  auto processors =
      llvm::map_to_vector(rows(), [](const Row &row) { return target::Processor{row.name, row.cpu, row.bits}; });
  std::optional<target::Processor> found = target::parseProcessor(name, processors, instructionSets());
  return found ? std::optional(makeMachine(name, found->cpu, found->bits)) : std::nullopt;
}

llvm::ArrayRef<StringRef> portableNames() { return portable; }

codegen::TargetSpec baseTarget() { return makeMachine(baseRow().name, baseRow().cpu, baseRow().bits); }

plan::TargetAttr targetAttr(MLIRContext *context, const codegen::TargetSpec &machine) {
  return targetOf(context, rowOf(machine.cpu), machine.cpuFeatures);
}

} // namespace hewn::x86
