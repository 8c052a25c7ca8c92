// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/WebAssembly/WebAssemblyTarget.h"
#include "hewn/services.h"
#include "lib/Target/Base/Platforms.h"
#include "lib/Target/Base/Processors.h"

#include "llvm/Support/TargetSelect.h"
#include <mutex>

using namespace mlir;
using llvm::StringRef;

namespace hewn::wasm {

namespace {

constexpr llvm::StringLiteral kName = "wasm32";
/// LLVM's CPU: the features that all current engines have (bulk memory, sign extension, saturating
/// conversions and others).
constexpr StringRef kCpu = "generic";

llvm::ArrayRef<target::InstructionSet> instructionSets() {
  static const std::vector<target::InstructionSet> sets = {
      {"relaxed", HEWN_CPU_WASM_RELAXED_SIMD, 0, {"relaxed-simd"}},
  };
  return sets;
}

codegen::TargetSpec makeMachine(StringRef name, uint64_t bits) {
  codegen::TargetSpec machine;
  machine.name = name.str();
  machine.cpu = kCpu.str();
  // SIMD128 has been in all browsers since Safari 16.4 (2023).
  machine.features = "+simd128";
  if (bits)
    machine.features += "," + target::featureList(instructionSets(), bits, {});
  machine.vectorBytes = 16;
  // An engine may compute relaxed_madd with one or two roundings, so it is no FMA.
  machine.fusedProducts = false;
  machine.hasHalfConversions = machine.hasBfloatConversions = false;
  machine.cpuFeatures = bits;
  return machine;
}

/// Returns the costs of vector code, those of 128-bit vectors on x86 (X86Rows.cpp): engines on x86
/// and AArch64 translate most vector instructions to one of the CPU.
plan::VectorCostsAttr costsOf(MLIRContext *context) {
  return plan::VectorCostsAttr::get(context, /*l2LoadCost=*/220, /*l2MissCost=*/250, /*loadCost=*/15,
                                    /*broadcastCost=*/10, /*fmaLatencyCost=*/400, /*minAccumulators=*/7,
                                    /*attentionRows=*/4, /*fmasPerCycle=*/2, /*memoryBytesPerCycle=*/8,
                                    /*cacheLineBytes=*/64, /*prefetchDistanceBytes=*/1024,
                                    /*forkJoinInstructions=*/8000, /*launchOverheadBytes=*/20000,
                                    /*l3ByteCost=*/40, /*laneLoadCost=*/200, /*widenCost=*/100);
}

/// Returns the dot-product instructions: i32x4.dot_i16x8_s and, with relaxed SIMD,
/// i16x8.relaxed_dot_i8x16_i7x16_s, whose second operand has 7 bits. Engines on x86 translate them
/// to VPMADDWD and VPMADDUBSW, which issue at the rate of multiplications (X86Rows.cpp).
ArrayAttr dotsOf(MLIRContext *context, uint64_t bits) {
  Builder b(context);
  constexpr int64_t rate = 100;
  SmallVector<Attribute> dots = {plan::DotProductAttr::get(
      context, b.getI16Type(), b.getI16Type(), b.getI32Type(), b.getStringAttr("llvm.wasm.dot"),
      /*accumulates=*/false, /*rightFirst=*/false, rate, /*leftBits=*/0)};
  if (bits & HEWN_CPU_WASM_RELAXED_SIMD)
    dots.push_back(plan::DotProductAttr::get(
        context, b.getIntegerType(8, /*isSigned=*/false), b.getI8Type(), b.getI16Type(),
        b.getStringAttr("llvm.wasm.relaxed.dot.i8x16.i7x16.signed"), /*accumulates=*/false, /*rightFirst=*/true, rate,
        /*leftBits=*/7));
  return b.getArrayAttr(dots);
}

// The runtime for these platforms needs no C library.
constexpr target::SupportedPlatform kPlatforms[] = {{&target::kWeb, "", ""}, {&target::kWasi, "", ""}};

constexpr target::Alias kAliases[] = {
    {"wasm", kName}, {"webassembly", kName}, {"wasm64", kName}, {"web", kName}, {"wasi", "wasm32@wasi"}};

class WebAssembly : public target::Target {
public:
  StringRef architecture() const override { return "wasm32"; }
  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeWebAssemblyTargetInfo();
      LLVMInitializeWebAssemblyTarget();
      LLVMInitializeWebAssemblyTargetMC();
      LLVMInitializeWebAssemblyAsmPrinter();
      LLVMInitializeWebAssemblyAsmParser();
    });
  }
  std::vector<std::string> names() const override { return {kName.str(), (kName + "+relaxed").str()}; }
  std::optional<codegen::TargetSpec> find(StringRef name) const override {
    std::optional<target::Processor> found =
        target::parseProcessor(name, target::Processor{kName, kCpu, 0}, instructionSets());
    return found ? std::optional(makeMachine(name, found->bits)) : std::nullopt;
  }
  std::optional<codegen::TargetSpec> base() const override { return makeMachine(kName, 0); }
  ArrayRef<target::Alias> aliases() const override { return kAliases; }
  ArrayRef<target::SupportedPlatform> platforms() const override { return kPlatforms; }
  plan::TargetAttr describe(MLIRContext *context, const codegen::TargetSpec &machine, Precision) const override {
    constexpr int64_t KB = 1 << 10, MB = 1 << 20;
    // The cache sizes are those of x86-64-v2: the smallest of desktops and phones in use. The
    // engine needs some of the 16 vector registers of x86 for constants.
    return plan::CpuAttr::get(context, machine.vectorBytes, /*vectorRegisters=*/16, /*l1Bytes=*/32 * KB,
                              /*l1Ways=*/8, /*l2Bytes=*/256 * KB, /*l3Bytes=*/4 * MB, costsOf(context),
                              dotsOf(context, machine.cpuFeatures), /*matrices=*/ArrayAttr(),
                              /*doubleRateHalfVectors=*/false, /*scaleIntrinsic=*/StringAttr(),
                              machine.hasHalfConversions, /*permuteIntrinsic=*/StringAttr(),
                              /*permuteBytesIntrinsic=*/StringAttr::get(context, "llvm.wasm.swizzle"),
                              /*hasFmaByLane=*/false, /*hasFma=*/false);
  }
};

} // namespace

const target::Target &family() {
  static const WebAssembly one;
  return one;
}

} // namespace hewn::wasm
