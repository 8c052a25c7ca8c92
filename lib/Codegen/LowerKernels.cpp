// SPDX-License-Identifier: Apache-2.0
//
// Turns each plan.kernel into a function of loops.
//
//     plan.kernel @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {       func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>,
//     %y: memref<?xf32>) {
//       %y = graph.relu %x                                       →     scf.for ... { vector.load, arith, vector.store }
//       graph.yield %y }                                             }
//
// By the schedule that the kernel has (DecideKernels.cpp): each kind of schedule has an engine. No op is refused: what none has a good
// form for is a nest that evaluates each element where it is needed.
#include "dialects/Grid/Grid.h"
#include "lib/Codegen/Contract/ChainEngine.h"
#include "lib/Codegen/Contract/ContractEngine.h"
#include "lib/Codegen/Contract/WinogradEngine.h"
#include "lib/Codegen/Grid/GridEngine.h"
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

/// Windows are transformed when compiling, and read by the engine for them alone.
static LogicalResult verifyWindows(plan::KernelOp kernel) {
  FunctionType type = kernel.getFunctionType();
  if (llvm::any_of(type.getResults(), graph::winogradTile))
    return kernel.emitOpError(
        "would transform windows by Winograd's method when run, which is done to constants alone");
  if (llvm::any_of(type.getInputs(), graph::winogradTile) && !isa<plan::WinogradAttr>(kernel.getScheduleAttr()))
    return kernel.emitOpError("has windows transformed by Winograd's method, but is not such a contraction");
  return success();
}

/// Whether it is a schedule of this kind of machine, and one that an engine takes.
static LogicalResult verifySchedule(KernelFunction &k, Attribute schedule) {
  bool ofGrid = bool(plan::gridOf(k.kernel));
  if (ofGrid && failed(verifyForGrid(k.kernel)))
    return failure();
  if (!schedule)
    return k.kernel.emitOpError("@") << k.kernel.getName() << " has no schedule: hewn-decide-kernels makes one";
  if (failed(verifyWindows(k.kernel)))
    return failure();
  if (plan::isOfGrid(schedule) != ofGrid)
    return refuse(k, schedule) << ", which is another kind of machine's";
  if (isa<plan::GridTileAttr>(schedule))
    return refuse(k, schedule) << ", which is not decided: hewn-decide-kernels makes a schedule of it";
  return ofGrid ? verifyThreads(k, schedule) : success();
}

static LogicalResult emitBySchedule(KernelFunction &k, OpBuilder &b, Attribute schedule) {
  std::optional<Buffer> memory = takeScratch(k);
  return llvm::TypeSwitch<Attribute, LogicalResult>(schedule)
      .Case([&](plan::ChainAttr chain) { return emitChain(k, b, chain, memory); })
      .Case([&](plan::WinogradAttr winograd) { return emitWinograd(k, b, winograd, memory); })
      .Case([&](plan::ContractAttr contract) { return emitContraction(k, b, contract, memory); })
      .Case([&](plan::LoopsAttr loops) { return emitLoops(k, b, loops); })
      .Case([&](plan::GridChainAttr chain) { return emitGridChain(k, b, chain, memory); })
      .Case([&](plan::GridContractAttr contract) { return emitGridContraction(k, b, contract); })
      .Case([&](plan::GridRowsAttr rows) { return emitGridRows(k, b, rows); })
      .Case([&](plan::GridCumulateAttr cumulate) { return emitGridCumulate(k, b, cumulate); })
      .Case([&](plan::GridTransposeAttr transpose) { return emitGridTranspose(k, b, transpose); })
      .Case([&](plan::GridMapAttr map) { return emitGridMap(k, b, map); });
}

static LogicalResult lowerKernel(plan::KernelOp kernel) {
  OpBuilder b(kernel);
  KernelFunction k = beginKernelFunction(kernel, b);
  Attribute schedule = kernel.getScheduleAttr();
  LogicalResult lowered = verifySchedule(k, schedule);
  if (succeeded(lowered))
    lowered = emitBySchedule(k, b, schedule);
  if (succeeded(lowered) && plan::isOfGrid(schedule))
    lowered = finishGrid(k, b, schedule);
  kernel.erase();
  return lowered;
}

namespace {
struct LowerKernelsPass : impl::LowerKernelsPassBase<LowerKernelsPass> {
  void runOnOperation() override {
    for (plan::KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<plan::KernelOp>()))
      if (failed(lowerKernel(kernel)))
        return signalPassFailure();
  }
};
} // namespace

} // namespace hewn::codegen
