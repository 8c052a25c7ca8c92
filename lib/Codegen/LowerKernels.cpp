// SPDX-License-Identifier: Apache-2.0
//
// Lowers a plan.kernel to loops by the kernel generator of its schedule (see Passes.td).
#include "dialects/Graph/Contract/Winograd.h"
#include "dialects/Simt/Simt.h"
#include "lib/Codegen/Kernel/KernelGenerator.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

/// Verifies that the kernel has a complete schedule of the target's generator.
static LogicalResult verifySchedule(KernelContext &k, const KernelGenerator &generator, Attribute schedule) {
  if (failed(generator.verify(k.kernel)))
    return failure();
  if (!schedule)
    return k.kernel.emitOpError("@") << k.kernel.getName() << " has no schedule: run hewn-assign-schedules first";
  if (failed(verifyWindows(k.kernel)))
    return failure();
  if (!generator.owns(schedule))
    return refuse(k, schedule) << ", which is for another kind of target";
  if (!generator.isComplete(schedule))
    return refuse(k, schedule) << ", which is incomplete: run hewn-assign-schedules first";
  return success();
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
    const KernelGenerator &generator = KernelGenerator::of(k.kernel);
    if (failed(verifySchedule(k, generator, schedule)))
      return failure();
    std::optional<Buffer> memory = takeScratch(k);
    if (failed(generator.emit(k, b, schedule, memory)))
      return failure();
    source.replaceByCode();
    return success();
  }
};
} // namespace

} // namespace hewn::codegen
