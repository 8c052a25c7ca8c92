// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/GridEngine.h"
#include "lib/Codegen/Grid/Grid.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hewn::codegen {

LogicalResult verifyForGrid(plan::KernelOp kernel) {
  for (auto contraction : kernel.getBody().getOps<graph::ContractOpInterface>())
    if (graph::termsOf(contraction) > 1)
      return kernel.emitOpError("sums products of terms, for which there is no code on a grid of threads");
  return success();
}

/// Threads of a block.
static int64_t threadsOf(Attribute schedule, int64_t warp) {
  return llvm::TypeSwitch<Attribute, int64_t>(schedule)
      .Case<plan::GridRowsAttr, plan::GridCumulateAttr, plan::GridTransposeAttr, plan::GridMapAttr>(
          [](auto loops) { return loops.getThreads(); })
      .Case([&](plan::GridChainAttr chain) { return chain.getWarpsM() * chain.getWarpsN() * warp; })
      .Case([&](plan::GridContractAttr contract) {
        int64_t others = contract.getFetches() ? plan::kGroupWarps : 0;
        if (contract.getForm() == plan::GridForm::Matrix)
          return (contract.getWarpsM() * contract.getWarpsN() + others) * warp;
        return contract.getForm() == plan::GridForm::Tiles ? plan::kTileSide * plan::kTileSide : plan::kFewThreads;
      });
}

LogicalResult verifyThreads(KernelFunction &k, Attribute schedule) {
  plan::GridAttr grid = plan::gridOf(k.kernel);
  int64_t warp = grid.getWarpSize(), most = grid.getLimits().getMaxBlockThreads(), threads = threadsOf(schedule, warp);
  if (threads % warp != 0 || threads > most)
    return refuse(k, schedule) << ", and blocks of " << threads << " threads: they must be warps of " << warp
                               << ", and at most " << most;
  return success();
}

LogicalResult finishGrid(KernelFunction &k, OpBuilder &b, Attribute schedule) {
  plan::GridAttr grid = plan::gridOf(k.kernel);
  int64_t bytes = gatherShared(k), most = std::max(grid.getSharedBytes(), grid.getLimits().getStaticSharedBytes());
  if (bytes > most)
    return refuse(k, schedule) << ", and " << bytes << " bytes of shared memory, of which a block has " << most;
  if (auto contract = dyn_cast<plan::GridContractAttr>(schedule))
    emitKept(k, b, contract);
  return success();
}

} // namespace hewn::codegen
