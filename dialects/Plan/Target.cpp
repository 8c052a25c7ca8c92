// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/Target.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hewn::plan {

TargetAttr targetOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<TargetAttr>(kTargetAttr) : TargetAttr();
}

GpuAttr gpuOf(Operation *op) { return dyn_cast_or_null<GpuAttr>(targetOf(op)); }

/// Returns the instruction in `list` (dot products or matrix units) for these operand element
/// types, or null if there is none.
template <typename Instruction> static Instruction findByTypes(ArrayAttr list, Type left, Type right, Type sum) {
  if (list)
    for (auto found : list.getAsRange<Instruction>())
      if (found.getLeft() == left && found.getRight() == right && found.getSum() == sum)
        return found;
  return {};
}

DotProductAttr findDot(Operation *op, Type left, Type right, Type sum) {
  TargetAttr target = targetOf(op);
  return target ? findByTypes<DotProductAttr>(target.getDots(), left, right, sum) : DotProductAttr();
}

MatrixUnitAttr findMatrix(Operation *op, Type left, Type right, Type sum) {
  TargetAttr target = targetOf(op);
  return target ? findByTypes<MatrixUnitAttr>(target.getMatrices(), left, right, sum) : MatrixUnitAttr();
}

int64_t vectorLanes(Operation *op) {
  TargetAttr target = targetOf(op);
  return target ? std::max<int64_t>(4, target.getVectorBytes() / 4) : 8;
}

} // namespace hewn::plan
