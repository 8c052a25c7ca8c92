// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/X86/X86Machine.h"
#include "hewn/services.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
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

using Features = llvm::StringMap<bool>;

/// A name that users may write, and the processor of LLVM's whose features it means.
struct Named {
  const char *name;
  const char *cpu;
};

constexpr Named machines[] = {
    {"x86-64-v2", "x86-64-v2"},
    {"x86-64-v3", "x86-64-v3"},
    {"x86-64-v4", "x86-64-v4"},
    {"haswell", "haswell"},
    {"skylake-avx512", "skylake-avx512"},
    {"icelake-server", "icelake-server"},
    {"znver3", "znver3"},
    {"znver4", "znver4"},
    {"sapphirerapids", "sapphirerapids"},
};

bool hasAll(const Features &features, llvm::ArrayRef<StringRef> names) {
  return llvm::all_of(names, [&](StringRef name) { return features.lookup(name); });
}

/// The bits of services.h that stand for these features.
uint64_t runtimeBits(const Features &features) {
  struct Row {
    uint64_t bit;
    std::vector<StringRef> features;
  };
  const std::vector<StringRef> v2 = {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16"};
  const std::vector<StringRef> v3 = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"};
  const std::vector<StringRef> v4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
  const Row rows[] = {{HEWN_CPU_AVX_VNNI, {"avxvnni"}},       {HEWN_CPU_AVX512_VNNI, {"avx512vnni"}},
                      {HEWN_CPU_AVX512_BF16, {"avx512bf16"}}, {HEWN_CPU_AVX512_FP16, {"avx512fp16"}},
                      {HEWN_CPU_AMX_INT8, {"amx-int8"}},      {HEWN_CPU_AMX_BF16, {"amx-bf16"}}};
  uint64_t bits = 0;
  if (hasAll(features, v2)) {
    bits |= HEWN_CPU_X86_64_V2;
    if (hasAll(features, v3)) {
      bits |= HEWN_CPU_X86_64_V3;
      if (hasAll(features, v4))
        bits |= HEWN_CPU_X86_64_V4;
    }
  }
  for (const Row &row : rows)
    if (hasAll(features, row.features))
      bits |= row.bit;
  return bits;
}

codegen::MachineSpec makeMachine(StringRef name, StringRef cpu, const Features &features) {
  codegen::MachineSpec machine;
  machine.name = name.str();
  machine.triple = "x86_64-unknown-linux-gnu";
  machine.cpu = cpu.str();
  // The map has no order that could be relied on.
  std::vector<std::string> list;
  for (const auto &feature : features)
    list.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(list);
  machine.features = llvm::join(list, ",");
  machine.vectorBytes = features.lookup("avx512f") ? 64 : features.lookup("avx2") ? 32 : 16;
  machine.cpuFeatures = runtimeBits(features);
  return machine;
}

Features featuresOf(StringRef cpu) {
  Features features;
  llvm::SmallVector<StringRef, 64> names;
  llvm::X86::getFeaturesForCPU(cpu, names);
  for (StringRef name : names)
    features[name] = true;
  return features;
}

codegen::MachineSpec hostMachine() {
  Features features = llvm::sys::getHostCPUFeatures();
  const char *cpu = "x86-64";
  if (hasAll(features, {"amx-tile", "avx512bf16"}))
    cpu = "sapphirerapids";
  else if (hasAll(features, {"avx512bf16", "clzero"}))
    cpu = "znver4";
  else if (hasAll(features, {"avx512vnni", "avx512vbmi2"}))
    cpu = "icelake-server";
  else if (hasAll(features, {"avx512f", "avx512vl"}))
    cpu = "skylake-avx512";
  else if (hasAll(features, {"avx2", "fma", "clzero"}))
    cpu = "znver3";
  else if (hasAll(features, {"avx2", "fma"}))
    cpu = "haswell";
  else if (hasAll(features, {"sse4.2"}))
    cpu = "x86-64-v2";
  return makeMachine("host", cpu, features);
}

} // namespace

std::vector<std::string> targetNames() {
  std::vector<std::string> names = {"host"};
  for (const Named &machine : machines)
    names.push_back(machine.name);
  return names;
}

std::optional<codegen::MachineSpec> findMachine(StringRef name) {
  if (name == "host")
    return hostMachine();
  for (const Named &machine : machines)
    if (name == machine.name)
      return makeMachine(name, machine.cpu, featuresOf(machine.cpu));
  return std::nullopt;
}

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
  auto add = [&](Type left, Type right, Type sum, StringRef product) {
    auto name = [&](StringRef which) { return b.getStringAttr("llvm.x86." + which + ".internal"); };
    matrices.push_back(plan::MatrixAttr::get(context, left, right, sum, /*rows=*/16, /*columns=*/16,
                                             /*depth=*/512 / left.getIntOrFloatBitWidth(),
                                             LLVM::LLVMX86AMXType::get(context), name("tilezero"), name("tileloadd64"),
                                             name("tilestored64"), name(product)));
  };
  if (hasFeature(machine, "amx-bf16"))
    add(b.getBF16Type(), b.getBF16Type(), b.getF32Type(), "tdpbf16ps");
  if (hasFeature(machine, "amx-int8"))
    add(b.getIntegerType(8, /*isSigned=*/false), b.getI8Type(), b.getI32Type(), "tdpbusd");
  return matrices.empty() ? ArrayAttr() : b.getArrayAttr(matrices);
}

plan::TargetAttr targetAttr(MLIRContext *context, const codegen::MachineSpec &machine) {
  bool wide = machine.vectorBytes == 64;
  // Sizes that every machine of the class has at least: code for "host" must not depend on which of two alike made it.
  int64_t l1 = machine.cpu == "sapphirerapids" || machine.cpu == "icelake-server" ? 48 << 10 : 32 << 10;
  int64_t l1Ways = l1 == 48 << 10 ? 12 : 8;
  int64_t l2 = machine.cpu == "sapphirerapids" ? 2 << 20 : wide ? 1 << 20 : 256 << 10;
  return plan::TargetAttr::get(context, machine.vectorBytes, /*vectorRegisters=*/wide ? 32 : 16, l1, l1Ways, l2,
                               /*l3Bytes=*/8 << 20, dotsOf(context, machine), matricesOf(context, machine));
}

} // namespace hewn::x86
