// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` says of the work of kernels: the least that any code for them has to do.
#include "dialects/Graph/GraphOps.h"
#include "dialects/Plan/Plan.h"
#include "lib/Compiler/Explain.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

using namespace mlir;

namespace hewn {

std::optional<int64_t> launchesARun(plan::LaunchOp launch) {
  int64_t count = 1;
  for (Operation *around = launch->getParentOp(); around; around = around->getParentOp()) {
    if (isa<graph::LoopOp, graph::IfOp>(around))
      return std::nullopt;
    auto scan = dyn_cast<graph::ScanOp>(around);
    if (!scan)
      continue;
    if (int64_t(scan.getInputs().size()) <= int64_t(scan.getNumStates()))
      return std::nullopt;
    std::optional<int64_t> trips = graph::getDims(scan.getInputs()[scan.getNumStates()]).front().constant();
    if (!trips)
      return std::nullopt;
    count *= *trips;
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
