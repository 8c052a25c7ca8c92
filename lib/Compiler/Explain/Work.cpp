// SPDX-License-Identifier: Apache-2.0
//
// Computes the minimal work of kernels: operations and memory traffic.
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Compiler/Explain/Explain.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

using namespace mlir;

namespace hewn {

std::optional<int64_t> launchesARun(plan::LaunchOp launch) {
  int64_t count = 1;
  for (Operation *around = launch->getParentOp(); around; around = around->getParentOp()) {
    auto control = dyn_cast<graph::ControlOpInterface>(around);
    if (!control)
      continue;
    std::optional<graph::DimExpr> steps = control.getNumSteps();
    if (!steps || !steps->constant())
      return std::nullopt;
    count *= *steps->constant();
  }
  return count;
}

/// Returns an upper bound of the number of bytes that a kernel reads of its argument. If only
/// indexing ops read the argument, the bound is the number of bytes that they copy.
static graph::DimExpr bytesRead(Value argument) {
  graph::DimExpr whole = plan::bufferBytes(argument), moved(0);
  for (Operation *user : argument.getUsers()) {
    if (!isa<graph::IndexingOpInterface>(user) || user->getNumResults() != 1)
      return whole;
    moved = moved + plan::bufferBytes(user->getResult(0));
  }
  return graph::DimExpr::min(whole, moved);
}

static Work workOf(plan::KernelOp kernel) {
  Work work;
  Block &body = kernel.getBody().front();
  for (Operation &op : body)
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(op))
      work.flop = work.flop + graph::numElements(contraction.getIterationDims(graph::getDims)) * graph::DimExpr(2);
  for (Value argument : body.getArguments())
    work.bytes = work.bytes + bytesRead(argument);
  for (Value result : body.getTerminator()->getOperands())
    if (!result.getDefiningOp<graph::ScratchOp>())
      work.bytes = work.bytes + plan::bufferBytes(result);
  return work;
}

std::optional<Work> workOf(plan::KernelOp kernel, llvm::ArrayRef<plan::LaunchOp> launches) {
  const Work own = workOf(kernel);
  std::optional<Work> work;
  for (plan::LaunchOp launch : launches) {
    auto at = [&](const graph::DimExpr &expr) { return plan::atLaunch(expr, kernel.getSymbolsAttr(), launch); };
    std::optional<graph::DimExpr> flop = own.flop.constant() ? own.flop : at(own.flop),
                                  bytes = own.bytes.constant() ? own.bytes : at(own.bytes);
    if (!flop || !bytes || (work && (work->flop != *flop || work->bytes != *bytes)))
      return std::nullopt;
    work = Work{*flop, *bytes};
  }
  return work;
}

} // namespace hewn
