// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Operands.h"
#include "dialects/Graph/Builders/Compose.h"

using namespace mlir;

namespace hewn {

void castOperands(graph::ContractOpInterface op, Type type) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  Value left = op->getOperand(0);
  auto border = left.getDefiningOp<graph::MoveOpInterface>();
  if (border && border.getZeroBorder() && left.hasOneUse()) {
    Value inner = c.cast(border->getOperand(0), type);
    Operation *moved = b.clone(*border);
    moved->setOperand(0, inner);
    moved->getResult(0).setType(RankedTensorType::get(cast<RankedTensorType>(left.getType()).getShape(), type));
    op->setOperand(0, moved->getResult(0));
    border->erase();
  } else {
    op->setOperand(0, c.cast(left, type));
  }
  op->setOperand(1, c.cast(op->getOperand(1), type));
}

} // namespace hewn
