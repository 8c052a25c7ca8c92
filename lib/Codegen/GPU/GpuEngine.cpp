// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/GPU/GpuBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hewn::codegen {

LogicalResult verifyForGpu(plan::KernelOp kernel) {
  for (auto contraction : kernel.getBody().getOps<graph::ContractOpInterface>())
    if (graph::termsOf(contraction) > 1)
      return kernel.emitOpError("a contraction of split-bf16 components has no GPU kernel");
  return success();
}

/// Returns the number of threads of a block for the schedule.
static int64_t threadsOf(Attribute schedule, int64_t warp) {
  return llvm::TypeSwitch<Attribute, int64_t>(schedule)
      .Case<plan::GpuRowsAttr, plan::GpuCumulateAttr, plan::GpuTransposeAttr, plan::GpuMapAttr>(
          [](auto loops) { return loops.getThreads(); })
      .Case([&](plan::GpuAttentionAttr attention) { return attention.getWarpsM() * attention.getWarpsN() * warp; })
      .Case([&](plan::GpuContractAttr contract) {
        int64_t others = contract.getFetches() ? plan::kGroupWarps : 0;
        if (contract.getForm() == plan::GpuForm::Matrix)
          return (contract.getWarpsM() * contract.getWarpsN() + others) * warp;
        return contract.getForm() == plan::GpuForm::Tiles ? plan::kTileSide * plan::kTileSide : plan::kFewThreads;
      });
}

LogicalResult verifyThreads(KernelContext &k, Attribute schedule) {
  plan::GpuAttr gpu = plan::gpuOf(k.kernel);
  int64_t warp = gpu.getWarpSize(), most = gpu.getLimits().getMaxBlockThreads(), threads = threadsOf(schedule, warp);
  if (threads % warp != 0 || threads > most)
    return refuse(k, schedule) << ", but blocks of " << threads
                               << " threads are invalid: the number must be a multiple of the warp size " << warp
                               << " and at most " << most;
  return success();
}

LogicalResult finishGrid(KernelContext &k, OpBuilder &b, Attribute schedule) {
  plan::GpuAttr gpu = plan::gpuOf(k.kernel);
  int64_t bytes = gatherShared(k), most = std::max(gpu.getSharedBytes(), gpu.getLimits().getStaticSharedBytes());
  if (bytes > most)
    return refuse(k, schedule) << ", but needs " << bytes << " bytes of shared memory per block; the limit is " << most;
  if (auto contract = dyn_cast<plan::GpuContractAttr>(schedule))
    emitKept(k, b, contract);
  return success();
}

} // namespace hewn::codegen
