// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Copies/Memories.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Collective/Collective.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace hewn::plan {

Memory memoryOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto control = dyn_cast<graph::ControlOpInterface>(argument.getOwner()->getParentOp());
    if (!control)
      return Memory::Both;
    return control.decides(argument) ? Memory::Host : Memory::Device;
  }
  Operation *op = value.getDefiningOp();
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getTo() == CopyTo::Host ? Memory::Host : Memory::Device;
  if (graph::isViewKind(op))
    return memoryOf(op->getOperand(0));
  if (isa<graph::ConstantOp>(op))
    return Memory::Both;
  return isa<LaunchOp, graph::ControlOpInterface>(op) || graph::transferOf(op) ? Memory::Device : Memory::Host;
}

Memory memoryWanted(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (isa<LaunchOp>(op) || graph::transferOf(op))
    return Memory::Device;
  if (isa<graph::RuntimeCallOpInterface, graph::ReadSymbolOp>(op))
    return Memory::Host;
  auto control = dyn_cast<graph::ControlOpInterface>(isa<graph::YieldOp>(op) ? op->getParentOp() : op);
  if (control)
    return control.decides(operand) ? Memory::Host : Memory::Device;
  return Memory::Both;
}

bool isReadFrom(Value argument, Memory memory) {
  return llvm::any_of(argument.getUses(), [&](OpOperand &use) {
    if (graph::isViewKind(use.getOwner()))
      return isReadFrom(use.getOwner()->getResult(0), memory);
    return memoryWanted(use) == memory || (memory == Memory::Host && isa<func::ReturnOp>(use.getOwner()));
  });
}

} // namespace hewn::plan
