// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/RISCV/RISCVTarget.h"
#include "lib/Target/Base/Platforms.h"

#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using llvm::StringRef;

namespace hewn::riscv {

namespace {

constexpr llvm::StringLiteral kName = "rv64gc";

codegen::TargetSpec makeMachine(StringRef name) {
  codegen::TargetSpec machine;
  machine.name = name.str();
  machine.cpu = "generic-rv64";
  machine.features = "+m,+a,+f,+d,+c";
  // A vector is four scalars, so that the kernel generators keep several accumulators.
  machine.vectorBytes = 16;
  machine.hasHalfConversions = machine.hasBfloatConversions = false;
  return machine;
}

/// Returns the costs of scalar code. No RISC-V CPU was available for measurements: the values are
/// those of 128-bit vectors on x86 (X86Rows.cpp), except that a vector FMA is four instructions on
/// one or two pipes, so that loads and latencies weigh less.
plan::VectorCostsAttr costsOf(MLIRContext *context) {
  return plan::VectorCostsAttr::get(context, /*l2LoadCost=*/110, /*l2MissCost=*/250, /*loadCost=*/100,
                                    /*broadcastCost=*/25, /*fmaLatencyCost=*/100, /*minAccumulators=*/2,
                                    /*attentionRows=*/2, /*fmasPerCycle=*/1, /*memoryBytesPerCycle=*/4,
                                    /*cacheLineBytes=*/64, /*prefetchDistanceBytes=*/1024,
                                    /*forkJoinInstructions=*/8000, /*launchOverheadBytes=*/20000,
                                    /*l3ByteCost=*/40, /*laneLoadCost=*/50, /*widenCost=*/400);
}

constexpr target::SupportedPlatform kPlatforms[] = {{&target::kLinux, "GLIBC_2.27", "libc6-dev-riscv64-cross"}};

constexpr target::Alias kAliases[] = {
    {"riscv", kName}, {"riscv64", kName}, {"rv64", kName}, {"riscv64gc", kName}, {"rv64gcv", kName}};

class RISCV : public target::Target {
public:
  StringRef architecture() const override { return "riscv64"; }
  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeRISCVTargetInfo();
      LLVMInitializeRISCVTarget();
      LLVMInitializeRISCVTargetMC();
      LLVMInitializeRISCVAsmPrinter();
      LLVMInitializeRISCVAsmParser();
    });
  }
  std::vector<std::string> names() const override { return {kName.str()}; }
  std::optional<codegen::TargetSpec> find(StringRef name) const override {
    return name == kName ? std::optional(makeMachine(name)) : std::nullopt;
  }
  std::optional<codegen::TargetSpec> host() const override {
    return llvm::Triple(llvm::sys::getProcessTriple()).isRISCV64() ? std::optional(makeMachine("host")) : std::nullopt;
  }
  std::optional<codegen::TargetSpec> base() const override { return makeMachine(kName); }
  ArrayRef<target::Alias> aliases() const override { return kAliases; }
  ArrayRef<target::SupportedPlatform> platforms() const override { return kPlatforms; }
  plan::TargetAttr describe(MLIRContext *context, const codegen::TargetSpec &machine, Precision) const override {
    constexpr int64_t KB = 1 << 10, MB = 1 << 20;
    // Cache sizes of SiFive's U74 (manual 21G3, section 1.4): 32 KiB with 4 ways, and 2 MiB of L2
    // for four cores. The 32 floating-point registers hold eight vectors of four elements.
    return plan::CpuAttr::get(context, machine.vectorBytes, /*vectorRegisters=*/8, /*l1Bytes=*/32 * KB,
                              /*l1Ways=*/4, /*l2Bytes=*/MB / 2, /*l3Bytes=*/0, costsOf(context),
                              /*dots=*/ArrayAttr(), /*matrices=*/ArrayAttr(), /*doubleRateHalfVectors=*/false,
                              /*scaleIntrinsic=*/StringAttr(), machine.hasHalfConversions,
                              /*permuteIntrinsic=*/StringAttr(),
                              /*permuteBytesIntrinsic=*/StringAttr(), /*hasFmaByLane=*/true, /*hasFma=*/true);
  }
};

} // namespace

const target::Target &family() {
  static const RISCV one;
  return one;
}

} // namespace hewn::riscv
