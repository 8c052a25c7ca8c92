// SPDX-License-Identifier: Apache-2.0
//
// Generates kernels that are functions of one thread.
#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/KernelGenerator.h"
#include "lib/Schedule/GpuAttentionSchedule.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hewn::codegen {

namespace {

class GpuKernelGenerator : public KernelGenerator {
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

const KernelGenerator &gpuKernelGenerator() {
  static const GpuKernelGenerator generator;
  return generator;
}

} // namespace hewn::codegen
