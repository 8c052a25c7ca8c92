// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Operands.h"
#include "dialects/Graph/Builders/Compose.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {

void rewriteOperands(graph::ContractOpInterface op, Type sum, llvm::function_ref<Value(unsigned, Value)> rewrite) {
  OpBuilder b(op);
  Value left = op->getOperand(0);
  auto border = left.getDefiningOp<graph::MoveOpInterface>();
  std::optional<SmallVector<int64_t>> low = border && left.hasOneUse() ? border.getZeroBorder() : std::nullopt;
  if (low) {
    Value inside = rewrite(0, border->getOperand(0));
    Dims before, after, whole = graph::getDims(left), whence = graph::getDims(border->getOperand(0));
    for (auto [i, width] : llvm::enumerate(*low)) {
      before.push_back(DimExpr(width));
      after.push_back(whole[i] - whence[i] - DimExpr(width));
    }
    left = graph::Composer(b, border->getLoc()).pad(inside, before, after);
  } else {
    left = rewrite(0, left);
  }
  Value right = rewrite(1, op->getOperand(1));
  Operation *made = b.clone(*op);
  made->setOperands({left, right});
  made->setAttr("to", TypeAttr::get(sum));
  op->getResult(0).replaceAllUsesWith(made->getResult(0));
  op->erase();
  if (low)
    border->erase();
}

void castOperands(graph::ContractOpInterface op, Type type) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  rewriteOperands(op, graph::getElementType(op->getResult(0)),
                  [&](unsigned, Value value) { return c.cast(value, type); });
}

} // namespace hewn
