// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/AArch64/AArch64Machine.h"
#include "lib/Target/AArch64/AArch64Features.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using llvm::StringRef;

namespace hewn::aarch64 {

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
  });
}

namespace {

constexpr uint64_t kV82 = HEWN_CPU_AARCH64_FP16 | HEWN_CPU_AARCH64_DOTPROD;
constexpr uint64_t kV86 = kV82 | HEWN_CPU_AARCH64_I8MM | HEWN_CPU_AARCH64_BF16;

/// A name that users may write, the processor of LLVM's whose scheduling model it means, and its instructions; caches that a core has at
/// least, in bytes, of those that others share its part (ways 0: not known); vectors of products in a cycle.
struct Row {
  StringRef name, cpu;
  uint64_t bits;
  int64_t l1, l1Ways, l2, l3, products;
};

constexpr int64_t KB = 1 << 10, MB = 1 << 20;

// Sets as ARM's technical reference manuals list them; M1 runs ARMv8.5 without I8MM and BF16 (LLVM's AArch64Processors.td). Products: pipes
// of FMLA in LLVM's scheduling models, which follow ARM's software optimization guides.
constexpr Row rows[] = {
    // Cortex-A72 technical reference manual, "Level 1 memory system": 32 KiB in 2 ways; L2 from 512 KiB. Two pipes, half of them wide.
    {"aarch64", "generic", 0, 32 * KB, 2, 512 * KB, 0, 1},
    // Cortex-A76 technical reference manual, A6.1: L1 64 KiB in 4 ways; A7.1: L2 from 128 KiB.
    {"cortex-a76", "cortex-a76", kV82, 64 * KB, 4, 128 * KB, 0, 2},
    // en.wikichip.org/wiki/arm_holdings/microarchitectures/neoverse_n1: L1 64 KiB in 4 ways, L2 512 KiB or 1 MiB. Servers have 16 MiB for all.
    {"neoverse-n1", "neoverse-n1", kV82, 64 * KB, 4, 512 * KB, 16 * MB, 2},
    // chipsandcheese.com/2023/09/11/hot-chips-2023-arms-neoverse-v2: Graviton 3 and Grace have 1 MiB a core, and 32 MiB or more for all. L1 as
    // the N1's.
    {"neoverse-v1", "neoverse-v1", kV86, 64 * KB, 4, 1 * MB, 32 * MB, 4},
    {"neoverse-v2", "neoverse-v2", kV86, 64 * KB, 4, 1 * MB, 32 * MB, 4},
    // M1's large cores: L1 128 KiB; L2 12 MiB for four of them; four pipes (anandtech.com/show/16226/apple-silicon-m1-a14-deep-dive).
    {"apple-m1", "apple-m1", kV82, 128 * KB, 0, 3 * MB, 0, 4},
};

const Row &rowOf(StringRef cpu) {
  const Row *found = llvm::find_if(rows, [&](const Row &row) { return row.cpu == cpu; });
  return found == std::end(rows) ? rows[0] : *found;
}

/// No such machine was there to be measured. What is not said here is as on x86, where the models were fitted.
plan::VectorCostsAttr costsOf(MLIRContext *context, const Row &row) {
  // A vector of a panel is 16 bytes, of which the second cache gives 32 a cycle (Cortex-A76 technical reference manual, A6.1), and a tenth;
  // FMLA's latency is 4 cycles in LLVM's models.
  constexpr int64_t whole = 100, latency = 4;
  return plan::VectorCostsAttr::get(context, /*l2LoadCost=*/row.products * whole * 11 / 20, /*l2MissCost=*/250,
                                    /*loadCost=*/15,
                                    /*broadcastCost=*/10, /*fmaLatencyCost=*/latency * row.products * whole,
                                    /*minAccumulators=*/std::max<int64_t>(latency * row.products, 8), /*chainRows=*/6,
                                    row.products, /*memoryBytesPerCycle=*/8,
                                    /*cacheLineBytes=*/64, /*prefetchDistanceBytes=*/1024,
                                    /*forkJoinInstructions=*/8000, /*launchOverheadBytes=*/20000,
                                    /*l3ByteCost=*/40, /*laneLoadCost=*/200,
                                    /*widenCost=*/whole); // an instruction as long as FMLA; nowhere measured
}

codegen::MachineSpec makeMachine(StringRef name, StringRef cpu, uint64_t bits) {
  codegen::MachineSpec machine;
  machine.name = name.str();
  machine.triple = "aarch64-unknown-linux-gnu";
  machine.runtimeFolder = "aarch64-linux-gnu";
  machine.runtimeNeeds = "libc6-dev-arm64-cross";
  machine.cpu = cpu.str();
  machine.features = featureList(cpu, bits);
  machine.vectorBytes = 16;
  machine.hasBfloatConversions = bits & HEWN_CPU_AARCH64_BF16;
  machine.cpuFeatures = bits;
  return machine;
}

/// By its features, and with the scheduling model of a machine that has them.
codegen::MachineSpec hostMachine() {
  uint64_t bits = target::bitsOf(instructionSets(), llvm::sys::getHostCPUFeatures());
  bool isV86 = (bits & kV86) == kV86, isV82 = (bits & kV82) == kV82;
  return makeMachine("host", isV86 ? "neoverse-v1" : isV82 ? "neoverse-n1" : "generic", bits);
}

/// The instructions that sum products of neighbours.
ArrayAttr dotsOf(MLIRContext *context, const codegen::MachineSpec &machine) {
  Builder b(context);
  SmallVector<Attribute> dots;
  // The factors of one lane come last. USDOT has SUDOT beside it, whose last ones have no sign; LLVM takes that where it fits.
  auto add = [&](Type left, Type right, Type sum, StringRef intrinsic, bool rightFirst) {
    dots.push_back(
        plan::DotAttr::get(context, left, right, sum, b.getStringAttr(intrinsic), /*accumulates=*/true, rightFirst));
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

} // namespace

std::vector<std::string> targetNames() {
  std::vector<std::string> names;
  for (const Row &row : rows)
    names.push_back(row.name.str());
  return names;
}

std::optional<codegen::MachineSpec> findMachine(StringRef name) {
  if (name == "host" && llvm::Triple(llvm::sys::getProcessTriple()).isAArch64())
    return hostMachine();
  auto processors =
      llvm::map_to_vector(rows, [](const Row &row) { return target::Processor{row.name, row.cpu, row.bits}; });
  std::optional<target::Processor> found = target::parseProcessor(name, processors, instructionSets());
  return found ? std::optional(makeMachine(name, found->cpu, found->bits)) : std::nullopt;
}

codegen::MachineSpec baseMachine() { return makeMachine("aarch64", "generic", 0); }

plan::TargetAttr targetAttr(MLIRContext *context, const codegen::MachineSpec &machine) {
  const Row &row = rowOf(machine.cpu);
  return plan::TargetAttr::get(
      context, machine.vectorBytes, /*vectorRegisters=*/32, row.l1, row.l1Ways, row.l2, row.l3, costsOf(context, row),
      dotsOf(context, machine), /*matrices=*/ArrayAttr(), plan::GridAttr(),
      /*doubleRateHalfVectors=*/false, /*scaleIntrinsic=*/StringAttr(), machine.hasHalfConversions,
      /*permuteIntrinsic=*/StringAttr(), /*permuteBytesIntrinsic=*/StringAttr(),
      /*hasFmaByLane=*/true, /*hasFma=*/true);
}

} // namespace hewn::aarch64
