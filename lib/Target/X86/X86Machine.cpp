// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/X86/X86Machine.h"
#include "lib/Target/X86/X86Features.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

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

/// A name that users may write, the processor of LLVM's whose scheduling model it means, and its instructions.
struct Named {
  StringRef name, cpu;
  uint64_t bits;
};

constexpr uint64_t kIceLake = kV4 | HEWN_CPU_AVX512_VNNI | HEWN_CPU_AVX512_VBMI | HEWN_CPU_GFNI;
constexpr uint64_t kAmx = HEWN_CPU_AMX_INT8 | HEWN_CPU_AMX_BF16;

constexpr Named machines[] = {
    {"x86-64-v2", "x86-64-v2", kV2},
    {"x86-64-v3", "x86-64-v3", kV3},
    {"x86-64-v4", "x86-64-v4", kV4},
    {"haswell", "haswell", kV3},
    {"skylake-avx512", "skylake-avx512", kV4},
    {"icelake-server", "icelake-server", kIceLake},
    {"znver3", "znver3", kV3},
    {"znver4", "znver4", kIceLake | HEWN_CPU_AVX512_BF16},
    {"sapphirerapids", "sapphirerapids",
     kIceLake | HEWN_CPU_AVX_VNNI | HEWN_CPU_AVX512_BF16 | HEWN_CPU_AVX512_FP16 | kAmx},
};

/// What "portable" stands for: the machines for which kernels differ.
constexpr StringRef portable[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+vnni+bf16",
                                  "x86-64-v4+vnni+bf16+amx"};

codegen::MachineSpec makeMachine(StringRef name, StringRef cpu, uint64_t bits) {
  codegen::MachineSpec machine;
  machine.name = name.str();
  machine.triple = "x86_64-unknown-linux-gnu";
  machine.cpu = cpu.str();
  machine.features = featureList(cpu, bits);
  machine.vectorBytes = bits & HEWN_CPU_X86_64_V4 ? 64 : bits & HEWN_CPU_X86_64_V3 ? 32 : 16;
  machine.fusedProducts = bits & HEWN_CPU_X86_64_V3;
  machine.convertsHalf = bits & HEWN_CPU_X86_64_V3; // F16C
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
  for (const Named &machine : machines)
    names.push_back(machine.name.str());
  return names;
}

std::optional<codegen::MachineSpec> findMachine(StringRef name) {
  if (name == "host")
    return hostMachine();
  auto [base, rest] = name.split('+');
  const auto *found = llvm::find_if(machines, [&, base = base](const Named &m) { return m.name == base; });
  if (found == std::end(machines) || name.ends_with("+"))
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

codegen::MachineSpec baseMachine() { return makeMachine("x86-64", "x86-64", 0); }

static bool hasFeature(const codegen::MachineSpec &machine, StringRef name) {
  llvm::SmallVector<StringRef, 128> list;
  StringRef(machine.features).split(list, ',');
  return llvm::is_contained(list, ("+" + name).str());
}

/// The instructions that sum products of neighbours and are faster than products of the sums' type, best first.
static ArrayAttr dotsOf(MLIRContext *context, const codegen::MachineSpec &machine) {
  Builder b(context);
  SmallVector<Attribute> dots;
  auto add = [&](Type left, Type right, Type sum, StringRef intrinsic, bool accumulates = true) {
    dots.push_back(plan::DotAttr::get(context, left, right, sum, b.getStringAttr(intrinsic), accumulates));
  };
  Type i16 = b.getI16Type(), i32 = b.getI32Type();
  bool wide = machine.vectorBytes == 64, middle = machine.vectorBytes == 32;
  if (wide && hasFeature(machine, "avx512bf16"))
    add(b.getBF16Type(), b.getBF16Type(), b.getF32Type(), "llvm.x86.avx512bf16.dpbf16ps.512");
  Type ui8 = b.getIntegerType(8, /*isSigned=*/false);
  if (wide && hasFeature(machine, "avx512vnni"))
    add(ui8, b.getI8Type(), i32, "llvm.x86.avx512.vpdpbusd.512");
  else if (middle && hasFeature(machine, "avxvnni"))
    add(ui8, b.getI8Type(), i32, "llvm.x86.avx512.vpdpbusd.256");
  add(i16, i16, i32,
      wide     ? "llvm.x86.avx512.pmaddw.d.512"
      : middle ? "llvm.x86.avx2.pmadd.wd"
               : "llvm.x86.sse2.pmadd.wd",
      /*accumulates=*/false);
  return b.getArrayAttr(dots);
}

/// AMX: eight registers of 16 rows of 64 bytes.
static ArrayAttr matricesOf(MLIRContext *context, const codegen::MachineSpec &machine) {
  Builder b(context);
  SmallVector<Attribute> matrices;
  // Of one core of a Sapphire Rapids, roughly: 260 billion operations a second of float32, 3100 of bfloat16, 7000 of bytes. No test
  // measures them.
  auto add = [&](Type left, Type right, Type sum, StringRef product, int64_t rate) {
    auto name = [&](StringRef which) { return b.getStringAttr("llvm.x86." + which + ".internal"); };
    matrices.push_back(plan::MatrixAttr::get(context, left, right, sum, /*rows=*/16, /*columns=*/16,
                                             /*depth=*/512 / left.getIntOrFloatBitWidth(),
                                             LLVM::LLVMX86AMXType::get(context), name("tilezero"), name("tileloadd64"),
                                             name("tilestored64"), name(product), rate));
  };
  if (hasFeature(machine, "amx-bf16"))
    add(b.getBF16Type(), b.getBF16Type(), b.getF32Type(), "tdpbf16ps", 12);
  if (hasFeature(machine, "amx-int8"))
    add(b.getIntegerType(8, /*isSigned=*/false), b.getI8Type(), b.getI32Type(), "tdpbusd", 27);
  return matrices.empty() ? ArrayAttr() : b.getArrayAttr(matrices);
}

static StringAttr permutationOf(MLIRContext *context, const codegen::MachineSpec &machine) {
  if (machine.vectorBytes == 64)
    return StringAttr::get(context, "llvm.x86.avx512.permvar.sf.512");
  return machine.vectorBytes == 32 ? StringAttr::get(context, "llvm.x86.avx2.permps") : StringAttr();
}

plan::TargetAttr targetAttr(MLIRContext *context, const codegen::MachineSpec &machine) {
  bool wide = machine.vectorBytes == 64;
  // Sizes that every machine of the class has at least: code for "host" must not depend on which of two alike made it.
  int64_t l1 = machine.cpu == "sapphirerapids" || machine.cpu == "icelake-server" ? 48 << 10 : 32 << 10;
  int64_t l1Ways = l1 == 48 << 10 ? 12 : 8;
  int64_t l2 = machine.cpu == "sapphirerapids" ? 2 << 20 : wide ? 1 << 20 : 256 << 10;
  return plan::TargetAttr::get(context, machine.vectorBytes, /*vectorRegisters=*/wide ? 32 : 16, l1, l1Ways, l2,
                               /*l3Bytes=*/8 << 20, dotsOf(context, machine), matricesOf(context, machine),
                               plan::GridAttr(), /*fastHalves=*/wide && machine.cpu == "znver4",
                               /*scalesVectors=*/wide, permutationOf(context, machine));
}

} // namespace hewn::x86
