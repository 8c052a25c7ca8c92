// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Copies/Memories.h"
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace hewn::plan {

Memory memoryOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<graph::LoopOp>(parent)) // the trip's number and the condition come first
      return argument.getArgNumber() < 2 ? Memory::Host : Memory::Device;
    return isa<graph::ScanOp>(parent) ? Memory::Device : Memory::Both;
  }
  Operation *op = value.getDefiningOp();
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getTo() == "host" ? Memory::Host : Memory::Device;
  if (graph::isViewKind(op))
    return memoryOf(op->getOperand(0));
  if (isa<graph::ConstantOp>(op))
    return Memory::Both;
  return isa<LaunchOp, graph::IfOp, graph::LoopOp, graph::ScanOp>(op) ? Memory::Device : Memory::Host;
}

Memory memoryWanted(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (isa<LaunchOp, graph::ScanOp>(op))
    return Memory::Device;
  if (isa<graph::PartOpInterface, graph::ReadSymbolOp, graph::IfOp>(op))
    return Memory::Host;
  if (isa<graph::LoopOp>(op)) // the number of trips and the condition come first
    return operand.getOperandNumber() < 2 ? Memory::Host : Memory::Device;
  if (isa<graph::YieldOp>(op))
    return isa<graph::LoopOp>(op->getParentOp()) && operand.getOperandNumber() == 0 ? Memory::Host : Memory::Device;
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
