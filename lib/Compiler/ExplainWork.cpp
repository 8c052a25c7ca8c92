// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` says of the work of kernels: the least that any code for them has to do.
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Compiler/Explain.h"
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

std::optional<Work> workOf(plan::KernelOp kernel) {
  Work work;
  Block &body = kernel.getBody().front();
  auto add = [](int64_t &sum, const graph::DimExpr &amount) {
    sum += amount.constant().value_or(0);
    return amount.constant().has_value();
  };
  for (Operation &op : body)
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(op))
      if (!add(work.flop, graph::numElements(contraction.getIterationDims(graph::getDims)) * graph::DimExpr(2)))
        return std::nullopt;
  for (Value argument : body.getArguments())
    if (!add(work.bytes, plan::bufferBytes(argument)))
      return std::nullopt;
  for (Value result : body.getTerminator()->getOperands())
    if (!result.getDefiningOp<graph::ScratchOp>() && !add(work.bytes, plan::bufferBytes(result)))
      return std::nullopt;
  return work;
}

} // namespace hewn
