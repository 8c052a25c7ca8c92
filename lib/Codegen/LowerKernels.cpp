// SPDX-License-Identifier: Apache-2.0
//
// Turns each plan.kernel into a function of loops.
//
//     plan.kernel @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {       func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>,
//     %y: memref<?xf32>) {
//       %y = graph.relu %x                                       →     scf.for ... { vector.load, arith, vector.store }
//       graph.yield %y }                                             }
//
// A kernel of two contractions with rows between them goes to the chain engine, one around a contraction that the contraction
// engine can tile to that, all others to the loop engine. No op is refused: what none has a good form for is a nest that
// evaluates each element where it is needed. Where the machine runs a grid of threads, the grid's engine takes all.
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

using namespace mlir;

namespace hewn::codegen {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "lib/Codegen/Passes.h.inc"

static bool hasTerms(plan::KernelOp kernel) {
  return llvm::any_of(kernel.getBody().front(), [](Operation &op) {
    auto contraction = dyn_cast<graph::ContractOpInterface>(op);
    return contraction && graph::termsOf(contraction) > 1;
  });
}

LogicalResult lowerKernel(plan::KernelOp kernel) {
  OpBuilder b(kernel);
  KernelFunction k = beginKernelFunction(kernel, b);
  LogicalResult lowered = success();
  if (llvm::any_of(kernel.getFunctionType().getResults(), graph::winogradTile))
    lowered =
        kernel.emitOpError("would transform windows by Winograd's method when run, which is done to constants alone");
  else if (plan::gridOf(kernel) && hasTerms(kernel))
    lowered = kernel.emitOpError("sums products of terms, for which there is no code on a grid of threads");
  else if (plan::gridOf(kernel))
    emitGrid(k, b);
  else if (std::optional<graph::Chain> chain = chainIn(kernel))
    lowered = emitChain(k, b, *chain);
  else if (std::optional<WinogradForm> filtering = winogradForm(k))
    emitWinograd(k, b, *filtering);
  else if (std::optional<ContractForm> contraction = contractForm(k))
    lowered = emitContraction(k, b, *contraction);
  else if (llvm::any_of(kernel.getFunctionType().getInputs(), graph::winogradTile))
    lowered = kernel.emitOpError("has windows transformed by Winograd's method, but is not such a contraction");
  else
    emitLoops(k, b);
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
