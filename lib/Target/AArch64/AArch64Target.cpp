// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/AArch64/AArch64Target.h"
#include "lib/Target/AArch64/AArch64Features.h"
#include "lib/Target/Base/Platforms.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using llvm::StringRef;

namespace hewn::aarch64 {

namespace {

constexpr uint64_t kV82 = HEWN_CPU_AARCH64_FP16 | HEWN_CPU_AARCH64_DOTPROD;
constexpr uint64_t kV86 = kV82 | HEWN_CPU_AARCH64_I8MM | HEWN_CPU_AARCH64_BF16;

/// A row of the table of AArch64 CPUs, which are values of --target: name, LLVM's CPU for the
/// scheduling model, and instruction sets (HEWN_CPU_*). `l1`, `l2`: sizes of the caches of a core
/// in bytes. `l1Ways`: associativity of the L1 cache, or 0 if unknown. `l3`: bytes of the shared
/// cache that one core can use. `products`: vector FMAs per cycle.
struct Row {
  StringRef name, cpu;
  uint64_t bits;
  int64_t l1, l1Ways, l2, l3, products;
};

constexpr int64_t KB = 1 << 10, MB = 1 << 20;

// Sources of the instruction sets: ARM's technical reference manuals; M1 has ARMv8.5 without I8MM
// and BF16 (LLVM's AArch64Processors.td). Sources of the FMAs per cycle: the number of pipes that
// execute FMLA in LLVM's scheduling models, which follow ARM's software optimization guides.
constexpr Row rows[] = {
    // Cortex-A72 technical reference manual, "Level 1 memory system": the L1 cache has 32 KiB and 2
    // ways, L2 has 512 KiB or more. The CPU has two FMLA pipes, each half as wide as a vector.
    {"aarch64", "generic", 0, 32 * KB, 2, 512 * KB, 0, 1},
    // Cortex-A76 technical reference manual, A6.1: the L1 cache has 64 KiB and 4 ways; A7.1: L2 has
    // 128 KiB or more.
    {"cortex-a76", "cortex-a76", kV82, 64 * KB, 4, 128 * KB, 0, 2},
    // Neoverse N1 (en.wikichip.org/wiki/arm_holdings/microarchitectures/neoverse_n1): the L1 cache
    // has 64 KiB and 4 ways, L2 has 512 KiB or 1 MiB. Servers have a shared cache of 16 MiB.
    {"neoverse-n1", "neoverse-n1", kV82, 64 * KB, 4, 512 * KB, 16 * MB, 2},
    // Neoverse V1 and V2 (chipsandcheese.com/2023/09/11/hot-chips-2023-arms-neoverse-v2): Graviton
    // 3 and Grace have 1 MiB of L2 per core and a shared cache of 32 MiB or more. The L1 cache is
    // that of the N1.
    {"neoverse-v1", "neoverse-v1", kV86, 64 * KB, 4, 1 * MB, 32 * MB, 4},
    {"neoverse-v2", "neoverse-v2", kV86, 64 * KB, 4, 1 * MB, 32 * MB, 4},
    // M1's performance cores: L1 128 KiB; L2 12 MiB for four cores; four pipes
    // (anandtech.com/show/16226/apple-silicon-m1-a14-deep-dive).
    {"apple-m1", "apple-m1", kV82, 128 * KB, 0, 3 * MB, 0, 4},
};

const Row &rowOf(StringRef cpu) {
  const Row *found = llvm::find_if(rows, [&](const Row &row) { return row.cpu == cpu; });
  return found == std::end(rows) ? rows[0] : *found;
}

/// Returns the costs of vector code on an AArch64 CPU. No AArch64 CPU was available for
/// measurements: values without a source are those of x86, for which the cost models were fitted.
plan::VectorCostsAttr costsOf(MLIRContext *context, const Row &row) {
  // Costs of L2 loads and of FMA latency. L2 delivers 32 bytes per cycle (Cortex-A76 technical
  // reference manual, A6.1), so a vector of 16 bytes takes half a cycle; a tenth is added. The
  // latency of FMLA is 4 cycles in LLVM's scheduling models.
  constexpr int64_t whole = 100, latency = 4;
  return plan::VectorCostsAttr::get(context, /*l2LoadCost=*/row.products * whole * 11 / 20, /*l2MissCost=*/250,
                                    /*loadCost=*/15,
                                    /*broadcastCost=*/10, /*fmaLatencyCost=*/latency * row.products * whole,
                                    /*minAccumulators=*/std::max<int64_t>(latency * row.products, 8),
                                    /*attentionRows=*/6, row.products, /*memoryBytesPerCycle=*/8,
                                    /*cacheLineBytes=*/64, /*prefetchDistanceBytes=*/1024,
                                    /*forkJoinInstructions=*/8000, /*launchOverheadBytes=*/20000,
                                    /*l3ByteCost=*/40, /*laneLoadCost=*/200,
                                    /*widenCost=*/whole); // one instruction at the rate of FMLA; not measured
}

codegen::TargetSpec makeMachine(StringRef name, StringRef cpu, uint64_t bits) {
  codegen::TargetSpec machine;
  machine.name = name.str();
  machine.cpu = cpu.str();
  machine.features = featureList(cpu, bits);
  machine.vectorBytes = 16;
  machine.hasBfloatConversions = bits & HEWN_CPU_AARCH64_BF16;
  machine.cpuFeatures = bits;
  return machine;
}

/// Returns the instruction sets of an AArch64 host, with the scheduling model of a CPU that has
/// them.
codegen::TargetSpec hostTarget() {
  uint64_t bits = target::bitsOf(instructionSets(), llvm::sys::getHostCPUFeatures());
  bool isV86 = (bits & kV86) == kV86, isV82 = (bits & kV82) == kV82;
  return makeMachine("host", isV86 ? "neoverse-v1" : isV82 ? "neoverse-n1" : "generic", bits);
}

/// Issue rate of the dot-product instructions: LLVM's scheduling models of Neoverse N1, N2 and V1
/// (llvm-mca) issue BFDOT, USDOT and SDOT at the rate of FMLA.
constexpr int64_t kDotIssueRate = 100;

/// Returns the dot-product instructions of an AArch64 target.
ArrayAttr dotsOf(MLIRContext *context, const codegen::TargetSpec &machine) {
  Builder b(context);
  SmallVector<Attribute> dots;
  // Only the last operand of SDOT and BFDOT can be a lane of a vector, so the contraction's left
  // operand is passed last. USDOT takes its unsigned operand first; LLVM selects SUDOT where the
  // unsigned operand is a lane.
  auto add = [&](Type left, Type right, Type sum, StringRef intrinsic, bool rightFirst) {
    dots.push_back(plan::DotProductAttr::get(context, left, right, sum, b.getStringAttr(intrinsic),
                                             /*accumulates=*/true, rightFirst, kDotIssueRate, /*leftBits=*/0));
  };
  Type i8 = b.getI8Type(), ui8 = b.getIntegerType(8, /*isSigned=*/false), i32 = b.getI32Type();
  if (machine.cpuFeatures & HEWN_CPU_AARCH64_BF16)
    add(b.getBF16Type(), b.getBF16Type(), b.getF32Type(), "llvm.aarch64.neon.bfdot", /*rightFirst=*/true);
  if (machine.cpuFeatures & HEWN_CPU_AARCH64_I8MM)
    add(ui8, i8, i32, "llvm.aarch64.neon.usdot", /*rightFirst=*/false);
  if (machine.cpuFeatures & HEWN_CPU_AARCH64_DOTPROD)
    add(i8, i8, i32, "llvm.aarch64.neon.sdot", /*rightFirst=*/true);
  return b.getArrayAttr(dots);
}

constexpr target::SupportedPlatform kPlatforms[] = {{&target::kLinux, "GLIBC_2.17", "libc6-dev-arm64-cross"}};

constexpr target::Alias kAliases[] = {
    {"arm64", "aarch64"}, {"armv8", "aarch64"}, {"armv8-a", "aarch64"}, {"arm", "aarch64"}, {"neon", "aarch64"}};

class AArch64 : public target::Target {
public:
  StringRef architecture() const override { return "aarch64"; }
  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeAArch64TargetInfo();
      LLVMInitializeAArch64Target();
      LLVMInitializeAArch64TargetMC();
      LLVMInitializeAArch64AsmPrinter();
      LLVMInitializeAArch64AsmParser();
    });
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const Row &row : rows)
      names.push_back(row.name.str());
    return names;
  }
  std::optional<codegen::TargetSpec> find(StringRef name) const override {
    auto processors =
        llvm::map_to_vector(rows, [](const Row &row) { return target::Processor{row.name, row.cpu, row.bits}; });
    std::optional<target::Processor> found = target::parseProcessor(name, processors, instructionSets());
    return found ? std::optional(makeMachine(name, found->cpu, found->bits)) : std::nullopt;
  }
  std::optional<codegen::TargetSpec> host() const override {
    return llvm::Triple(llvm::sys::getProcessTriple()).isAArch64() ? std::optional(hostTarget()) : std::nullopt;
  }
  std::optional<codegen::TargetSpec> base() const override { return makeMachine("aarch64", "generic", 0); }
  ArrayRef<target::Alias> aliases() const override { return kAliases; }
  ArrayRef<target::SupportedPlatform> platforms() const override { return kPlatforms; }
  plan::TargetAttr describe(MLIRContext *context, const codegen::TargetSpec &machine, Precision) const override {
    const Row &row = rowOf(machine.cpu);
    return plan::CpuAttr::get(context, machine.vectorBytes, /*vectorRegisters=*/32, row.l1, row.l1Ways, row.l2, row.l3,
                              costsOf(context, row), dotsOf(context, machine), /*matrices=*/ArrayAttr(),
                              /*doubleRateHalfVectors=*/false, /*scaleIntrinsic=*/StringAttr(),
                              machine.hasHalfConversions, /*permuteIntrinsic=*/StringAttr(),
                              /*permuteBytesIntrinsic=*/StringAttr(), /*hasFmaByLane=*/true, /*hasFma=*/true);
  }
};

} // namespace

const target::Target &family() {
  static const AArch64 one;
  return one;
}

} // namespace hewn::aarch64
