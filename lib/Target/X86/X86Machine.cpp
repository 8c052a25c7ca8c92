// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/X86/X86Machine.h"
#include "lib/Target/X86/X86Features.h"
#include "lib/Target/X86/X86Rows.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
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

/// What "portable" stands for: the machines for which kernels differ.
constexpr StringRef portable[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+vnni+bf16",
                                  "x86-64-v4+vnni+bf16+amx"};

codegen::MachineSpec makeMachine(StringRef name, StringRef cpu, uint64_t bits) {
  codegen::MachineSpec machine;
  machine.name = name.str();
  machine.triple = "x86_64-unknown-linux-gnu";
  machine.cpu = cpu.str();
  machine.features = featureList(cpu, bits);
  const Vectors &vectors = vectorsOf(bits);
  machine.vectorBytes = vectors.bytes;
  machine.fusedProducts = vectors.fusedProducts;
  machine.convertsHalf = vectors.convertsHalf;
  machine.convertsBfloat = bits & HEWN_CPU_AVX512_BF16;
  machine.cpuFeatures = bits;
  return machine;
}

codegen::MachineSpec hostMachine() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto has = [&](std::initializer_list<StringRef> names) {
    return llvm::all_of(names, [&](StringRef name) { return features.lookup(name); });
  };
  StringRef cpu = "x86-64";
  if (has({"amx-tile", "avx512bf16"}))
    cpu = "sapphirerapids";
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
  return makeMachine("host", cpu, bitsOf(features));
}

/// Wider vectors first, then more sets: a machine that has all of another's, and more, comes before it.
bool comesBefore(const codegen::MachineSpec &a, const codegen::MachineSpec &b) {
  return std::pair(a.vectorBytes, llvm::popcount(a.cpuFeatures)) >
         std::pair(b.vectorBytes, llvm::popcount(b.cpuFeatures));
}

} // namespace

std::vector<std::string> targetNames() {
  std::vector<std::string> names = {"host", "portable"};
  for (const Row &row : rows())
    names.push_back(row.name.str());
  return names;
}

std::optional<codegen::MachineSpec> findMachine(StringRef name) {
  if (name == "host")
    return hostMachine();
  auto [base, rest] = name.split('+');
  const auto *found = llvm::find_if(rows(), [&, base = base](const Row &row) { return row.name == base; });
  if (found == rows().end() || name.ends_with("+"))
    return std::nullopt;
  uint64_t bits = found->bits;
  while (!rest.empty()) {
    StringRef one;
    std::tie(one, rest) = rest.split('+');
    uint64_t added = 0;
    for (const InstructionSet &set : instructionSets())
      if (set.name == one && !one.empty() && (set.needs & ~bits) == 0)
        added |= set.bit;
    if (!added)
      return std::nullopt;
    bits |= added;
  }
  return makeMachine(name, found->cpu, bits);
}

llvm::Expected<std::vector<codegen::MachineSpec>> findMachines(StringRef list) {
  llvm::SmallVector<StringRef> names;
  list.split(names, ',');
  std::vector<codegen::MachineSpec> found;
  for (StringRef name : names) {
    for (StringRef one : name == "portable" ? llvm::ArrayRef(portable) : llvm::ArrayRef(name)) {
      std::optional<codegen::MachineSpec> machine = findMachine(one);
      if (!machine)
        return llvm::createStringError("unknown target '" + one + "'; there are: " + llvm::join(targetNames(), ", ") +
                                       "; +vnni, +bf16 and others may follow a name, and commas part several");
      const auto same =
          llvm::find_if(found, [&](const codegen::MachineSpec &m) { return m.cpuFeatures == machine->cpuFeatures; });
      if (same != found.end())
        return llvm::createStringError("of the targets '" + same->name + "' and '" + machine->name +
                                       "' only one could ever run: they have the same instructions");
      found.insert(llvm::upper_bound(found, *machine, comesBefore), *machine);
    }
  }
  return found;
}

codegen::MachineSpec baseMachine() { return makeMachine(baseRow().name, baseRow().cpu, baseRow().bits); }

plan::TargetAttr targetAttr(MLIRContext *context, const codegen::MachineSpec &machine) {
  return targetOf(context, rowOf(machine.cpu), machine.cpuFeatures);
}

} // namespace hewn::x86
