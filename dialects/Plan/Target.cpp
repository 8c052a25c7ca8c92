// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/Target.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hewn::plan {

TargetAttr targetOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<TargetAttr>(kTargetAttr) : TargetAttr();
}

GridAttr gridOf(Operation *op) {
  TargetAttr target = targetOf(op);
  return target ? target.getGrid() : GridAttr();
}

/// The instruction of `list` for these types; null: none.
template <typename Instruction> static Instruction findByTypes(ArrayAttr list, Type left, Type right, Type sum) {
  if (list)
    for (auto found : list.getAsRange<Instruction>())
      if (found.getLeft() == left && found.getRight() == right && found.getSum() == sum)
        return found;
  return {};
}

DotAttr findDot(Operation *op, Type left, Type right, Type sum) {
  TargetAttr target = targetOf(op);
  return target ? findByTypes<DotAttr>(target.getDots(), left, right, sum) : DotAttr();
}

MatrixAttr findMatrix(Operation *op, Type left, Type right, Type sum) {
  TargetAttr target = targetOf(op);
  return target ? findByTypes<MatrixAttr>(target.getMatrices(), left, right, sum) : MatrixAttr();
}

int64_t vectorLanes(Operation *op) {
  TargetAttr target = targetOf(op);
  return target ? std::max<int64_t>(4, target.getVectorBytes() / 4) : 8;
}

} // namespace hewn::plan
