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
  constexpr int64_t fewRegisters = 40, usualThreads = 256;
  auto number = [&](StringRef name, int64_t otherwise) {
    auto attr = kernel ? kernel->getAttrOfType<IntegerAttr>(name) : IntegerAttr();
    return attr ? attr.getInt() : otherwise;
  };
  return {number(kThreadsAttr, usualThreads), number(kRegistersAttr, fewRegisters), number(kBlockBytesAttr, 0)};
}

int64_t blocksAtOnce(const KernelNeeds &needs, GridAttr grid) {
  // Registers are given to threads by eights; some shared memory of each block is not its own.
  constexpr int64_t registerStep = 8, blockBytes = 1024;
  int64_t threads = std::max<int64_t>(needs.threads, 1);
  int64_t registers = int64_t(llvm::alignTo(std::max<int64_t>(needs.registers, 1), registerStep));
  int64_t shared = grid.getBlocksBytes() > 0 ? grid.getBlocksBytes() : grid.getSharedBytes();
  return std::min({grid.getThreads() / threads, grid.getRegisters() / (registers * threads),
                   shared / (needs.sharedBytes + blockBytes)});
}

double BlocksWork::cycles(GridAttr grid, int64_t together, bool shared) const {
  // Threads of a processor whose products hide each other's latency; bytes that a thread has under way, where the
  // block's shared memory does not take more at once, and cycles until they come.
  constexpr double fullThreads = 256, bytesUnderWay = 32, memoryLatency = 800;
  auto processors = double(grid.getProcessors()), count = std::max(blocks, 1.0), here = double(together);
  // The last blocks leave processors without work.
  double busiest = std::ceil(count / processors), atOnce = std::min(here, busiest);
  if (shared)
    busiest = atOnce * std::ceil(count / (here * processors));
  double fill = std::min(1.0, atOnce * double(threads) / fullThreads);
  double products = multiply * busiest * processors / count / fill;
  double ofBlock = std::max(double(threads) * bytesUnderWay, double(sharedBytes));
  double underWay = std::min(count, here * processors) * ofBlock;
  double rate = std::min(double(grid.getMemoryRate()), underWay / memoryLatency);
  return std::max(products, bytes / std::max(rate, 1.0));
}

} // namespace hewn::plan
