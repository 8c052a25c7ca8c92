// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/Schedule.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hewn::plan {

TargetAttr targetOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<TargetAttr>(kTargetAttr) : TargetAttr();
}

int64_t vectorLanes(Operation *op) {
  TargetAttr target = targetOf(op);
  return target ? std::max<int64_t>(4, target.getVectorBytes() / 4) : 8;
}

ScheduleAttr chooseSchedule(Operation *op, const graph::DimExpr &rows, const graph::DimExpr &columns) {
  TargetAttr target = targetOf(op);
  int64_t lanes = vectorLanes(op), registers = target ? target.getVectorRegisters() : 16;
  // Six rows by four vectors are 24 accumulators, four loads and a broadcast: what 32 registers hold. With 16, two
  // vectors.
  int64_t vectors = registers >= 32 ? 4 : 2, m = 6;
  if (std::optional<int64_t> n = columns.constant())
    vectors = std::max<int64_t>(1, std::min(vectors, (*n + lanes - 1) / lanes));
  // Narrow panels leave registers for more rows, so that a load of the right operand serves more of them.
  if (vectors < 3 && registers >= 32)
    m = 12;
  if (std::optional<int64_t> count = rows.constant())
    m = std::max<int64_t>(1, std::min(m, *count));
  return ScheduleAttr::get(op->getContext(), m, vectors * lanes, 0);
}

} // namespace hewn::plan
