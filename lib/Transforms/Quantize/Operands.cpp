// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Operands.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {

Value Border::around(OpBuilder &b, Value value, Value fill) {
  Dims before, after, whole = graph::getDims(op->getResult(0)), whence = graph::getDims(inside());
  for (auto [i, width] : llvm::enumerate(low)) {
    before.push_back(DimExpr(width));
    after.push_back(whole[i] - whence[i] - DimExpr(width));
  }
  return graph::Composer(b, op->getLoc()).pad(value, before, after, "constant", fill);
}

std::optional<Border> borderOf(graph::ContractOpInterface op) {
  auto border = op->getOperand(0).getDefiningOp<graph::MoveOpInterface>();
  std::optional<SmallVector<int64_t>> low = border ? border.getZeroBorder() : std::nullopt;
  std::optional<graph::ContractRoles> roles = low ? graph::contractRoles(op) : std::nullopt;
  std::optional<unsigned> depth = roles ? graph::plainSummedDim(op, *roles) : std::nullopt;
  std::optional<unsigned> along = depth ? graph::resultWith(op.getIndexingMaps()[0], *depth) : std::nullopt;
  if (!along || graph::getDims(border->getResult(0))[*along] != graph::getDims(border->getOperand(0))[*along])
    return std::nullopt;
  return Border{border, *low};
}

void rewriteOperands(graph::ContractOpInterface op, Type sum, llvm::function_ref<Value(unsigned, Value)> rewrite) {
  OpBuilder b(op);
  Value left = op->getOperand(0);
  std::optional<Border> border = left.hasOneUse() ? borderOf(op) : std::nullopt;
  left = border ? border->around(b, rewrite(0, border->inside())) : rewrite(0, left);
  Value right = rewrite(1, op->getOperand(1));
  if (!left || !right)
    return;
  Operation *made = b.clone(*op);
  made->setOperands({left, right});
  made->setAttr("to", TypeAttr::get(sum));
  if (failed(graph::inferResults(made)))
    return made->erase();
  op->getResult(0).replaceAllUsesWith(made->getResult(0));
  op->erase();
  if (border)
    border->op->erase();
}

void castOperands(graph::ContractOpInterface op, Type type) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  rewriteOperands(op, graph::getElementType(op->getResult(0)),
                  [&](unsigned, Value value) { return c.cast(value, type); });
}

} // namespace hewn
