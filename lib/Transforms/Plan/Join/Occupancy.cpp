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

KernelNeeds needsOf(func::FuncOp kernel) {
  // Of threads that compute elements: `test/Target` has the assembler's figures.
  constexpr int64_t few = 40, usualThreads = 256;
  GridLaunchAttr info = gridLaunchOf(kernel);
  if (!info)
    return {usualThreads, few, 0};
  return {info.getThreads(), info.getRegisters() > 0 ? info.getRegisters() : few, info.getBlockBytes()};
}

int64_t blocksAtOnce(const KernelNeeds &needs, GridAttr grid) {
  GridLimitsAttr limits = grid.getLimits();
  int64_t threads = std::max<int64_t>(needs.threads, 1);
  int64_t registers = int64_t(llvm::alignTo(std::max<int64_t>(needs.registers, 1), limits.getRegisterGranularity()));
  int64_t shared = grid.getProcessorSharedBytes() > 0 ? grid.getProcessorSharedBytes() : grid.getSharedBytes();
  return std::min({limits.getThreads() / threads, limits.getRegisters() / (registers * threads),
                   shared / (needs.sharedBytes + limits.getReservedBlockBytes())});
}

double BlocksWork::cycles(GridAttr grid, int64_t together, bool shared) const {
  GridCostsAttr costs = grid.getCosts();
  auto processors = double(grid.getProcessors()), count = std::max(blocks, 1.0), here = double(together);
  // The last blocks leave processors without work.
  double busiest = std::ceil(count / processors), atOnce = std::min(here, busiest);
  if (shared)
    busiest = atOnce * std::ceil(count / (here * processors));
  double fill = std::min(1.0, atOnce * double(threads) / double(costs.getLatencyHidingThreads()));
  double products = multiply * busiest * processors / count / fill;
  // A block's shared memory may take more at once than its threads have on their way.
  double ofBlock = std::max(double(threads) * double(costs.getThreadBytesInFlight()), double(sharedBytes));
  double underWay = std::min(count, here * processors) * ofBlock;
  double rate = std::min(double(costs.getMemoryBytesPerCycle()), underWay / double(costs.getMemoryLatencyCycles()));
  return std::max(products, bytes / std::max(rate, 1.0));
}

} // namespace hewn::plan
