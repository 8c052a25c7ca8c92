// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXTarget.h"
#include "lib/Target/Base/Platforms.h"
#include "lib/Target/NVPTX/NVPTXDevice.h"
#include "lib/Target/NVPTX/Passes.h"

#include "llvm/Support/TargetSelect.h"
#include <mutex>

using namespace mlir;
using llvm::StringRef;

namespace hewn::nvptx {

namespace {

/// Number of threads in a warp (CUDA C++ Programming Guide).
constexpr int64_t kWarp = 32;

/// Bytes of the longest load of a thread (PTX ISA, ld.v4.b32).
constexpr int64_t kVectorBytes = 16;

/// Bytes of the L2 cache of an A100 (its white paper), assumed for all targets.
constexpr int64_t kL2Bytes = 40 << 20;

/// A row of the table of GPU targets. `features` contains the oldest PTX version that supports the
/// target: newer PTX requires a newer driver, and LLVM aborts if the version is too old for the
/// target.
struct Named {
  const char *name;
  const char *features;
  int64_t processors;
  /// Limits of the target's shared memory in bytes: of one block, and of all resident blocks of a
  /// multiprocessor.
  int64_t sharedBytes, processorSharedBytes;
  /// Rates of the GPU per cycle: TF32 multiply-adds of a multiprocessor, bytes that the GPU reads
  /// from its memory, and pairs of 16-bit multiply-adds of a multiprocessor by warpgroup MMA.
  int64_t rate, memoryBytesPerCycle, warpgroupProductsPerCycle;
  /// Number of GPU cycles in a microsecond, in a kernel launch of a CUDA graph, and in a barrier of
  /// all blocks.
  int64_t megahertz, launchCycles, gridBarrierCycles;
  /// Maximum number of resident threads per multiprocessor of the GPU target.
  int64_t threads;
  /// Number of cycles that a GEMM takes longer as a phase of a persistent kernel than in a launch
  /// of its own.
  int64_t persistentMmaCycles;
};

// Sources:
//
// - Shared memory and threads: NVIDIA's "CUDA C++ Programming Guide", table of technical
//   specifications by compute capability.
// - Multiprocessors, clocks, memory and tensor cores: data sheets of the A100 (SXM 40 GB: 156
//   TFLOPS of TF32, 1555 GB/s), RTX 3090 Ti, RTX 4090, H100 (SXM: 494 TFLOPS, 3350 GB/s) and B200
//   (8 TB/s), converted to multiply-adds or bytes per cycle. Warp MMA is assumed to reach six
//   tenths of the peak of the H100 and the B200. Warpgroup MMA reaches seven tenths of the H100's
//   (bfloat16 matrices of 4096 x 4096, an H200).
// - TF32 by warp MMA: 673 multiply-adds per cycle, measured on an H200; assumed for the B200 as
//   well.
// - Launches and grid-wide barriers: 1.75 us and 1 us at any clock. These are estimates except for
//   sm_90a and, scaled by its clock, sm_100a. Measured on an H200 at 1767 MHz
//   (tools/measure/gpu_rates.py): an empty kernel in a CUDA graph takes 970 to 1390 cycles, and a
//   barrier takes 1640. Small kernels take 1.7 to 2.5 us, which a persistent kernel saves.
// - GEMMs in persistent kernels: mobilenet_v3_large took 271 us with GEMMs in them and 211 us
//   without any, efficientnet_b0 455 us and 325 us; llama_135m_decode, whose GEMMs have one row,
//   1316 us with persistent kernels and 2176 us without.
constexpr Named machines[] = {
    {"sm_80", "+ptx70", 108, 163 << 10, 164 << 10, 512, 1100, 0, 1410, 2500, 1400, 2048, 0},
    {"sm_86", "+ptx71", 84, 99 << 10, 100 << 10, 128, 520, 0, 1700, 3000, 1700, 1536, 0},
    {"sm_89", "+ptx78", 128, 99 << 10, 100 << 10, 128, 400, 0, 2500, 4400, 2500, 1536, 0},
    {"sm_90a", "+ptx84", 132, 227 << 10, 228 << 10, 670, 1900, 1000, 1750, 3000, 1640, 2048, 3000},
    {"sm_100a", "+ptx86", 148, 227 << 10, 228 << 10, 670, 4200, 0, 1900, 3300, 1780, 2048, 3000},
};

/// Limits that all targets share, from the table of technical specifications in the "CUDA C++
/// Programming Guide". With the oldest supported driver, a kernel has 4 KB of arguments, that is
/// 512 arguments of eight bytes. `maxArguments` is lower because values of symbolic dims are
/// arguments, too.
plan::GpuLimitsAttr limitsOf(MLIRContext *context, const Named &row) {
  return plan::GpuLimitsAttr::get(context, /*registers=*/65536, row.threads, /*maxThreadRegisters=*/255,
                                  /*registerGranularity=*/8, /*maxBlockThreads=*/1024, /*reservedBlockBytes=*/1024,
                                  /*staticSharedBytes=*/48 << 10, /*maxArguments=*/440);
}

/// Costs that all targets share. From the "CUDA C++ Programming Guide": 128 float32 FMAs per cycle
/// and multiprocessor from compute capability 8.6 on (8.0 has 64, but its schedules were fitted
/// with 128); four schedulers that each issue an instruction of a warp; shared memory with 32 banks
/// of 4 bytes; sectors of 32 bytes. From the A100's white paper: the L2 cache delivers 5120 bytes
/// per cycle to all 108 multiprocessors. Latencies are estimates: kernels on an H200 take up to
/// twice as long as predicted, but values that fit these kernels better chose slower tiles
/// (docs/decisions/targets/target-descriptions.md).
plan::GpuCostsAttr costsOf(MLIRContext *context, const Named &row) {
  return plan::GpuCostsAttr::get(context, row.rate, row.warpgroupProductsPerCycle, /*threadProductsPerCycle=*/128,
                                 /*instructionsPerCycle=*/128, row.memoryBytesPerCycle, /*l2BytesPerCycle=*/48,
                                 /*sharedBytesPerCycle=*/128, /*sectorBytes=*/32, row.megahertz, row.launchCycles,
                                 row.gridBarrierCycles, /*blockOverheadCycles=*/1200, /*sliceOverheadCycles=*/150,
                                 /*termOverheadCycles=*/50,
                                 /*fetchLatencyCycles=*/600,
                                 /*tileOverheadCycles=*/600, /*splitOverheadCycles=*/2500,
                                 /*memoryLatencyCycles=*/800, /*threadBytesInFlight=*/32,
                                 /*latencyHidingThreads=*/256, row.persistentMmaCycles);
}

const Named *rowOf(StringRef name) {
  const Named *found = llvm::find_if(machines, [&](const Named &machine) { return name == machine.name; });
  return found == std::end(machines) ? nullptr : found;
}

/// Returns the number of TF32 MMAs that a float32 MMA consists of. For 3xTF32 each operand is the
/// sum of two TF32 components with 11 significant bits; the low component of one operand times that
/// of the other is negligible.
int64_t factorProducts(Precision precision) { return precision == Precision::Highest ? 3 : 1; }

constexpr target::SupportedPlatform kPlatforms[] = {{&target::kLinux, "", ""}};

constexpr llvm::StringLiteral kUnknownGpu = "sm_80 or another sm_ of the GPU";
constexpr target::Alias kAliases[] = {
    {"cuda", kUnknownGpu}, {"gpu", kUnknownGpu}, {"nvidia", kUnknownGpu}, {"nvptx", kUnknownGpu}};

class NVPTX : public target::Target {
public:
  StringRef architecture() const override { return "nvptx64"; }
  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeNVPTXTargetInfo();
      LLVMInitializeNVPTXTarget();
      LLVMInitializeNVPTXTargetMC();
      LLVMInitializeNVPTXAsmPrinter();
    });
  }
  const codegen::Device *device() const override { return &nvptx::device(); }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const Named &machine : machines)
      names.push_back(machine.name);
    return names;
  }
  std::optional<codegen::TargetSpec> find(StringRef name) const override {
    const Named *found = rowOf(name);
    if (!found)
      return std::nullopt;
    codegen::TargetSpec machine;
    machine.name = found->name;
    machine.triple = "nvptx64-nvidia-cuda";
    machine.cpu = found->name;
    machine.features = found->features;
    return machine;
  }
  ArrayRef<target::Alias> aliases() const override { return kAliases; }
  ArrayRef<target::SupportedPlatform> platforms() const override { return kPlatforms; }
  plan::TargetAttr describe(MLIRContext *context, const codegen::TargetSpec &machine,
                            Precision precision) const override {
    const Named &row = *rowOf(machine.cpu);
    return plan::GpuAttr::get(context, kVectorBytes, kL2Bytes, row.processors, kWarp, row.sharedBytes,
                              row.processorSharedBytes, factorProducts(precision), limitsOf(context, row),
                              costsOf(context, row));
  }
  void registerDialects(DialectRegistry &registry) const override { nvptx::registerDialects(registry); }
  void registerPasses() const override { registerHewnNVPTXPasses(); }
};

} // namespace

const target::Target &family() {
  static const NVPTX one;
  return one;
}

} // namespace hewn::nvptx
