// SPDX-License-Identifier: Apache-2.0
//
// Generates the kernels of NVIDIA GPUs.
#include "lib/Target/NVPTX/Kernels/Kernels.h"
#include "lib/Target/NVPTX/Schedule/MmaAttentionSchedule.h"
#include "lib/Target/NVPTX/Schedule/MmaSchedule.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hewn::codegen {

static LogicalResult verifyForGpu(plan::KernelOp kernel) {
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

static LogicalResult verifyThreads(KernelContext &k, Attribute schedule) {
  plan::GpuAttr gpu = plan::gpuOf(k.kernel);
  int64_t warp = gpu.getWarpSize(), most = gpu.getLimits().getMaxBlockThreads(), threads = threadsOf(schedule, warp);
  if (threads % warp != 0 || threads > most)
    return refuse(k, schedule) << ", but blocks of " << threads
                               << " threads are invalid: the number must be a multiple of the warp size " << warp
                               << " and at most " << most;
  return success();
}

LogicalResult emitGpuContraction(KernelContext &k, OpBuilder &b, plan::GpuContractAttr schedule) {
  OrReason<GpuTiles> tiles = gpuTiles(k);
  if (!tiles)
    return refuse(k, schedule) << ", but is not a contraction with an elementwise epilogue: " << tiles.why();
  if (tiles->parts != schedule.getSplits())
    return refuse(k, schedule) << ", but the kernel has " << tiles->parts << " split-K partials";
  switch (schedule.getForm()) {
  case plan::GpuForm::Matrix:
    return emitGpuMatrix(k, b, *tiles, schedule);
  case plan::GpuForm::Tiles:
    return emitGpuTiles(k, b, *tiles, schedule);
  case plan::GpuForm::FewRows:
  case plan::GpuForm::FewColumns:
    if (failed(verifySkinnyGemm(k, *tiles, schedule)))
      return failure();
    emitSkinnyGemm(k, b, *tiles, schedule);
    return success();
  }
  llvm_unreachable("no form");
}

namespace {

class NVPTXKernelGenerator : public KernelGenerator {
public:
  LogicalResult verify(plan::KernelOp kernel) const override { return verifyForGpu(kernel); }
  bool owns(Attribute schedule) const override { return plan::isOfGpu(schedule); }
  bool isComplete(Attribute schedule) const override { return !isa<plan::GpuTileAttr>(schedule); }

  FailureOr<Attribute> choose(KernelContext &k, Attribute partial) const override {
    OpBuilder b(k.kernel);
    KernelContext own = beginKernelFunction(k.kernel, *k.analysis, b);
    takeScratch(own);
    return chooseGpu(own, b, cast_or_null<plan::GpuTileAttr>(partial));
  }

  graph::Dims scratch(KernelContext &k, Attribute schedule) const override {
    auto attr = dyn_cast<plan::GpuAttentionAttr>(schedule);
    OrReason<graph::FusedAttention> attention = gpuAttention(k);
    return attr && attention ? plan::gpuAttentionScratch(*attention, attr) : graph::Dims();
  }

  LogicalResult emit(KernelContext &k, OpBuilder &b, Attribute schedule,
                     const std::optional<Buffer> &memory) const override {
    if (failed(verifyThreads(k, schedule)))
      return failure();
    LogicalResult emitted =
        llvm::TypeSwitch<Attribute, LogicalResult>(schedule)
            .Case([&](plan::GpuAttentionAttr attention) { return emitGpuAttention(k, b, attention, memory); })
            .Case([&](plan::GpuContractAttr contract) { return emitGpuContraction(k, b, contract); })
            .Case([&](plan::GpuRowsAttr rows) { return emitGpuRows(k, b, rows); })
            .Case([&](plan::GpuCumulateAttr cumulate) { return emitGpuCumulate(k, b, cumulate); })
            .Case([&](plan::GpuTransposeAttr transpose) { return emitGpuTranspose(k, b, transpose); })
            .Case([&](plan::GpuMapAttr map) { return emitGpuMap(k, b, map); });
    return failed(emitted) ? failure() : finishGrid(k, b, schedule);
  }
};

} // namespace

const KernelGenerator &nvptxKernelGenerator() {
  static const NVPTXKernelGenerator generator;
  return generator;
}

} // namespace hewn::codegen
