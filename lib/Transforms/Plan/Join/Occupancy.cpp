// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Join/Occupancy.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace hewn::plan {

KernelNeeds KernelNeeds::with(const KernelNeeds &other) const {
  return {std::max(threads, other.threads), std::max(registers, other.registers),
          std::max(sharedBytes, other.sharedBytes)};
}

KernelNeeds needsOf(func::FuncOp entry) {
  // Assumed resources of elementwise kernels, which declare none. `test/Target` has the register
  // counts that the assembler reports for them.
  constexpr int64_t few = 40, usualThreads = 256;
  GpuLaunchAttr info = gpuLaunchOf(entry);
  if (!info)
    return {usualThreads, few, 0};
  return {info.getThreads(), info.getRegisters() > 0 ? info.getRegisters() : few, info.getBlockBytes()};
}

int64_t blocksAtOnce(const KernelNeeds &needs, GpuAttr gpu) {
  GpuLimitsAttr limits = gpu.getLimits();
  int64_t threads = std::max<int64_t>(needs.threads, 1);
  int64_t registers = int64_t(llvm::alignTo(std::max<int64_t>(needs.registers, 1), limits.getRegisterGranularity()));
  int64_t shared = gpu.getProcessorSharedBytes() > 0 ? gpu.getProcessorSharedBytes() : gpu.getSharedBytes();
  return std::min({limits.getThreads() / threads, limits.getRegisters() / (registers * threads),
                   shared / (needs.sharedBytes + limits.getReservedBlockBytes())});
}

double BlocksWork::cycles(GpuAttr gpu, int64_t together, bool shared) const {
  GpuCostsAttr costs = gpu.getCosts();
  auto processors = double(gpu.getProcessors()), count = std::max(blocks, 1.0), here = double(together);
  // The kernel takes as long as its busiest multiprocessor; other ones are idle in the last wave.
  double busiest = std::ceil(count / processors), atOnce = std::min(here, busiest);
  if (shared)
    busiest = atOnce * std::ceil(count / (here * processors));
  double fill = std::min(1.0, atOnce * double(threads) / double(costs.getLatencyHidingThreads()));
  double products = multiply * busiest * processors / count / fill;
  // Bytes that a thread block can have in flight. Asynchronous copies to shared memory may exceed
  // what the threads load to registers.
  double ofBlock = std::max(double(threads) * double(costs.getThreadBytesInFlight()), double(sharedBytes));
  double underWay = std::min(count, here * processors) * ofBlock;
  double rate = std::min(double(costs.getMemoryBytesPerCycle()), underWay / double(costs.getMemoryLatencyCycles()));
  return std::max(products, bytes / std::max(rate, 1.0));
}

} // namespace hewn::plan
