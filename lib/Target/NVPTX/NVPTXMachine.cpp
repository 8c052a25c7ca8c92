// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXMachine.h"
#include "lib/Target/NVPTX/NVPTXDevice.h"

#include "llvm/Support/TargetSelect.h"
#include <mutex>

using namespace mlir;
using llvm::StringRef;

namespace hewn::nvptx {

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

namespace {

/// Threads of a warp: the guide.
constexpr int64_t kWarp = 32;

/// A machine, and the oldest PTX that has it: newer text needs a newer driver, and LLVM ends the process over an older one.
struct Named {
  const char *name;
  const char *features;
  int64_t processors;
  /// Of a block, and of all blocks of a processor.
  int64_t sharedBytes, processorSharedBytes;
  /// Products of tf32 of a processor, and bytes from memory of all, in a cycle; pairs of products of 16 bits by groups of warps.
  int64_t rate, memoryBytesPerCycle, warpgroupProductsPerCycle;
  /// Cycles of a microsecond; of a launch in a recorded graph, and of a meeting of all blocks.
  int64_t megahertz, launchCycles, gridBarrierCycles;
  /// Threads that a processor has room for.
  int64_t threads;
  /// What products of matrices take longer in a joint kernel.
  int64_t jointProductCycles;
};

// Shared memory and threads: NVIDIA's "CUDA C++ Programming Guide", table of technical specifications by compute capability. Processors,
// clocks, memory and tensor cores: data sheets of the A100 (SXM 40 GB: 156 TFLOPS of tf32, 1555 GB/s), RTX 3090 Ti, RTX 4090, H100 (SXM: 494
// TFLOPS, 3350 GB/s) and B200 (8 TB/s), as products, or bytes, a cycle; what warps reach alone of the last two is taken to be six tenths,
// and groups of warps reach seven of the H100's (4096 square matrices of bfloat16, an H200).
// Launches take 1.75 us and meetings 1 us of any clock: estimates, but for sm_90a and, by its clock, sm_100a. On an H200 with its 1767 MHz an
// empty kernel takes 970 to 1390 cycles of a recorded graph and a meeting 1640 (tools/measure/gpu_rates.py); kernels that do little take
// 1.7 to 2.5 us, which is what joining spares. Products of matrices in joint kernels: mobilenet_v3_large took 271 us with them, 211 us
// without any, efficientnet_b0 455 and 325 us; llama_135m_decode, whose products have one row, 1316 us joined and 2176 us apart.
// Matrix instructions: 673 products of tf32 there; the B200 is taken to have as many.
constexpr Named machines[] = {
    {"sm_80", "+ptx70", 108, 163 << 10, 164 << 10, 512, 1100, 0, 1410, 2500, 1400, 2048, 0},
    {"sm_86", "+ptx71", 84, 99 << 10, 100 << 10, 128, 520, 0, 1700, 3000, 1700, 1536, 0},
    {"sm_89", "+ptx78", 128, 99 << 10, 100 << 10, 128, 400, 0, 2500, 4400, 2500, 1536, 0},
    {"sm_90a", "+ptx84", 132, 227 << 10, 228 << 10, 670, 1900, 1000, 1750, 3000, 1640, 2048, 3000},
    {"sm_100a", "+ptx86", 148, 227 << 10, 228 << 10, 670, 4200, 0, 1900, 3300, 1780, 2048, 3000},
};

/// What all of them have: the same table of the guide. A kernel takes 4 KB of arguments from the oldest driver on, eight bytes each;
/// some stay for symbols.
plan::GridLimitsAttr limitsOf(MLIRContext *context, const Named &row) {
  return plan::GridLimitsAttr::get(context, /*registers=*/65536, row.threads, /*maxThreadRegisters=*/255,
                                   /*registerGranularity=*/8, /*maxBlockThreads=*/1024, /*reservedBlockBytes=*/1024,
                                   /*staticSharedBytes=*/48 << 10, /*maxArguments=*/440);
}

/// From the guide: 128 products of float32 of threads from 8.6 on (8.0 has 64: counted as 128 as well, by which its schedules were
/// fitted), four schedulers that begin an instruction of a warp each, 32 banks of shared memory of 4 bytes, sectors of 32 bytes. From the
/// A100's white paper: 5120 bytes a cycle from the cache that 108 processors share. Latencies are estimates: on an H200 kernels take up to
/// twice as long as they say, and yet rates that fit these kernels better chose worse tiles
/// (docs/decisions/machine-models.md).
plan::GridCostsAttr costsOf(MLIRContext *context, const Named &row) {
  return plan::GridCostsAttr::get(context, row.rate, row.warpgroupProductsPerCycle, /*threadProductsPerCycle=*/128,
                                  /*instructionsPerCycle=*/128, row.memoryBytesPerCycle, /*l2BytesPerCycle=*/48,
                                  /*sharedBytesPerCycle=*/128, /*sectorBytes=*/32, row.megahertz, row.launchCycles,
                                  row.gridBarrierCycles, /*blockOverheadCycles=*/1200, /*sliceOverheadCycles=*/150,
                                  /*termOverheadCycles=*/50,
                                  /*fetchLatencyCycles=*/600,
                                  /*tileOverheadCycles=*/600, /*splitOverheadCycles=*/2500,
                                  /*memoryLatencyCycles=*/800, /*threadBytesInFlight=*/32,
                                  /*latencyHidingThreads=*/256, row.jointProductCycles);
}

const Named *find(StringRef name) {
  for (const Named &machine : machines)
    if (name == machine.name)
      return &machine;
  return nullptr;
}

} // namespace

std::vector<std::string> targetNames() {
  std::vector<std::string> names;
  for (const Named &machine : machines)
    names.push_back(machine.name);
  return names;
}

std::optional<codegen::MachineSpec> findMachine(StringRef name) {
  const Named *found = find(name);
  if (!found)
    return std::nullopt;
  codegen::MachineSpec machine;
  machine.name = found->name;
  machine.triple = "nvptx64-nvidia-cuda";
  machine.cpu = found->name;
  machine.features = found->features;
  machine.device = &device();
  return machine;
}

/// Products of factors of eleven significant bits that make one of float32: a number is the sum of two, and the product of the lesser
/// ones is nothing beside the others.
static int64_t factorProducts(Precision precision) { return precision == Precision::Highest ? 3 : 1; }

plan::TargetAttr targetAttr(MLIRContext *context, const codegen::MachineSpec &machine, Precision precision) {
  const Named *found = find(machine.name);
  const Named &row = found ? *found : machines[0];
  auto grid = plan::GridAttr::get(context, row.processors, kWarp, row.sharedBytes, row.processorSharedBytes,
                                  factorProducts(precision), limitsOf(context, row), costsOf(context, row));
  return plan::TargetAttr::get(context, machine.vectorBytes, /*vectorRegisters=*/16, /*l1Bytes=*/128 << 10,
                               /*l1Ways=*/0, /*l2Bytes=*/40 << 20, /*l3Bytes=*/0, plan::VectorCostsAttr(),
                               /*dots=*/ArrayAttr(), /*matrices=*/ArrayAttr(), grid, /*doubleRateHalfVectors=*/false,
                               /*scaleIntrinsic=*/StringAttr(), /*hasHalfConversions=*/true,
                               /*permuteIntrinsic=*/StringAttr(),
                               /*permuteBytesIntrinsic=*/StringAttr(),
                               /*hasFmaByLane=*/false, /*hasFma=*/true);
}

} // namespace hewn::nvptx
