// SPDX-License-Identifier: Apache-2.0
//
// Lowers a plan.kernel to loops by the kernel generator of its schedule (see Passes.td).
#include "dialects/Simt/Simt.h"
#include "lib/Codegen/Contract/AttentionEngine.h"
#include "lib/Codegen/Contract/ContractEngine.h"
#include "lib/Codegen/Contract/WinogradEngine.h"
#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hewn::codegen {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "lib/Codegen/Passes.h.inc"

/// Verifies that only constants are Winograd-transformed, since this happens at compile time, and
/// that only Winograd kernels read them.
static LogicalResult verifyWindows(plan::KernelOp kernel) {
  FunctionType type = kernel.getFunctionType();
  if (llvm::any_of(type.getResults(), graph::winogradTile))
    return kernel.emitOpError(
        "would apply the Winograd weight transform at run time, but only constants are transformed");
  if (llvm::any_of(type.getInputs(), graph::winogradTile) && !isa<plan::WinogradAttr>(kernel.getScheduleAttr()))
    return kernel.emitOpError("has Winograd-transformed weights, but is not a Winograd convolution");
  return success();
}

/// Verifies that the kernel has a complete schedule, and one for a GPU exactly if the target is a
/// GPU.
static LogicalResult verifySchedule(KernelContext &k, Attribute schedule) {
  bool ofGpu = bool(plan::gpuOf(k.kernel));
  if (ofGpu && failed(verifyForGpu(k.kernel)))
    return failure();
  if (!schedule)
    return k.kernel.emitOpError("@") << k.kernel.getName() << " has no schedule: run hewn-assign-schedules first";
  if (failed(verifyWindows(k.kernel)))
    return failure();
  if (plan::isOfGpu(schedule) != ofGpu)
    return refuse(k, schedule) << ", which is for another kind of target";
  if (isa<plan::GpuTileAttr>(schedule))
    return refuse(k, schedule) << ", which is incomplete: run hewn-assign-schedules first";
  return ofGpu ? verifyThreads(k, schedule) : success();
}

static LogicalResult emitBySchedule(KernelContext &k, OpBuilder &b, Attribute schedule) {
  std::optional<Buffer> memory = takeScratch(k);
  return llvm::TypeSwitch<Attribute, LogicalResult>(schedule)
      .Case([&](plan::AttentionAttr attention) { return emitAttention(k, b, attention, memory); })
      .Case([&](plan::WinogradAttr winograd) { return emitWinograd(k, b, winograd, memory); })
      .Case([&](plan::ContractAttr contract) { return emitContraction(k, b, contract, memory); })
      .Case([&](plan::LoopsAttr loops) { return emitLoops(k, b, loops); })
      .Case([&](plan::GpuAttentionAttr attention) { return emitGpuAttention(k, b, attention, memory); })
      .Case([&](plan::GpuContractAttr contract) { return emitGpuContraction(k, b, contract); })
      .Case([&](plan::GpuRowsAttr rows) { return emitGpuRows(k, b, rows); })
      .Case([&](plan::GpuCumulateAttr cumulate) { return emitGpuCumulate(k, b, cumulate); })
      .Case([&](plan::GpuTransposeAttr transpose) { return emitGpuTranspose(k, b, transpose); })
      .Case([&](plan::GpuMapAttr map) { return emitGpuMap(k, b, map); });
}

namespace {
struct LowerKernelsPass : impl::LowerKernelsPassBase<LowerKernelsPass> {
  void runOnOperation() override {
    if (!getOperation().isLowered() && failed(lower()))
      signalPassFailure();
  }

  LogicalResult lower() {
    const auto &analysis = getAnalysis<KernelAnalysis>();
    plan::KernelSource source(getOperation());
    OpBuilder b(source.get());
    KernelContext k = beginKernelFunction(source.get(), analysis, b);
    Attribute schedule = k.kernel.getScheduleAttr();
    if (failed(verifySchedule(k, schedule)) || failed(emitBySchedule(k, b, schedule)) ||
        (plan::isOfGpu(schedule) && failed(finishGrid(k, b, schedule))))
      return failure();
    source.replaceByCode();
    return success();
  }
};
} // namespace

} // namespace hewn::codegen
