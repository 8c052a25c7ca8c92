// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Control/ControlFlow.h"

using namespace mlir;

namespace hewn::graph {

ControlOpInterface branchesOf(Operation *op) {
  auto control = dyn_cast_or_null<ControlOpInterface>(op);
  return control && !control.isLoop() ? control : ControlOpInterface();
}

ControlOpInterface loopOf(Operation *op) {
  auto control = dyn_cast_or_null<ControlOpInterface>(op);
  return control && control.isLoop() ? control : ControlOpInterface();
}

ControlOpInterface countedLoopOf(Operation *op) {
  ControlOpInterface loop = loopOf(op);
  return loop && loop.getNumSteps() ? loop : ControlOpInterface();
}

Block &ControlOpInterface::getLoopBody() { return (*this)->getRegion(0).front(); }

bool ControlOpInterface::decides(const OpOperand &operand) {
  ControlValues values = getControlValues();
  return &operand == values.tripCount || &operand == values.condition || &operand == values.nextCondition;
}

bool ControlOpInterface::decides(BlockArgument argument) {
  ControlValues values = getControlValues();
  return argument == values.inductionVariable || argument == values.conditionArgument;
}

std::optional<unsigned> ControlOpInterface::findCarried(Value value) {
  for (auto [i, carried] : llvm::enumerate(getCarriedValues()))
    if (value == carried.argument || value == carried.result)
      return unsigned(i);
  return std::nullopt;
}

Value ControlOpInterface::findSequence(BlockArgument argument) {
  for (const SlicedValue &sliced : getSlicedValues())
    if (sliced.slice == argument)
      return sliced.sequence;
  return {};
}

} // namespace hewn::graph
