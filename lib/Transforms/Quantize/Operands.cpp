// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Operands.h"
#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Schedule/Schedule.h"

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
  auto border = op->getOperand(0).getDefiningOp<graph::PaddingOpInterface>();
  std::optional<SmallVector<int64_t>> low = border ? border.getZeroPadding() : std::nullopt;
  std::optional<graph::ContractRoles> roles = low ? graph::contractRoles(op) : std::nullopt;
  std::optional<unsigned> depth = roles ? graph::plainSummedDim(op, *roles) : std::nullopt;
  std::optional<unsigned> along = depth ? graph::resultWith(op.getIndexingMaps()[0], *depth) : std::nullopt;
  if (!along || graph::getDims(border->getResult(0))[*along] != graph::getDims(border->getOperand(0))[*along])
    return std::nullopt;
  return Border{border, *low};
}

bool isSummedInPairs(graph::ContractOpInterface op) {
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  std::optional<unsigned> summed = roles && !roles->columnInLeft ? graph::plainSummedDim(op, *roles) : std::nullopt;
  if (!summed)
    return false;
  Dims extents = op.getIterationDims(graph::getDims);
  if (extents[*summed].constant().value_or(1) % 2 != 0)
    return false;
  bool constant = isa_and_nonnull<graph::ConstantOp>(op->getOperand(1).getDefiningOp());
  return !constant || llvm::all_of(roles->batch, [&](unsigned d) { return extents[d].is(1); });
}

bool paysPairs(graph::ContractOpInterface op) {
  constexpr int64_t enoughRows = 64;
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  return isa_and_nonnull<graph::ConstantOp>(op->getOperand(1).getDefiningOp()) ||
         (roles && plan::contractShape(op, *roles).rows.constant().value_or(0) >= enoughRows);
}

bool comesQuantized(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && graph::isViewKind(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<graph::QuantizedOpInterface>(op);
}

bool isKnownInteger(Value integers, int64_t value, const WeightTable &weights) {
  Value whole = integers;
  for (Operation *view = whole.getDefiningOp(); view && graph::isViewKind(view); view = whole.getDefiningOp())
    whole = view->getOperand(0);
  if (auto constant = whole.getDefiningOp<graph::ConstantOp>())
    if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue())) {
      ArrayRef<char> bytes = weights.bytes(weight);
      int64_t mask = (int64_t(1) << graph::getElementType(whole).getIntOrFloatBitWidth()) - 1;
      return !bytes.empty() && llvm::all_of(bytes, [&](char byte) { return byte == char(value & mask); });
    }
  std::optional<Dims> known = graph::Contents(weights).integers(integers);
  return known && llvm::all_of(*known, [&](const DimExpr &e) { return e.is(value); });
}

graph::ContractOpInterface rewriteOperands(graph::ContractOpInterface op, Type sum,
                                           llvm::function_ref<Value(unsigned, Value)> rewrite) {
  OpBuilder b(op);
  Value left = op->getOperand(0);
  std::optional<Border> border = left.hasOneUse() ? borderOf(op) : std::nullopt;
  left = border ? border->around(b, rewrite(0, border->inside())) : rewrite(0, left);
  Value right = rewrite(1, op->getOperand(1));
  if (!left || !right)
    return {};
  Operation *made = b.clone(*op);
  made->setOperands({left, right});
  made->setAttr("to", TypeAttr::get(sum));
  if (failed(graph::inferResults(made))) {
    made->erase();
    return {};
  }
  op->getResult(0).replaceAllUsesWith(made->getResult(0));
  op->erase();
  if (border)
    border->op->erase();
  return cast<graph::ContractOpInterface>(made);
}

Verdict looksUpFew(graph::MoveOpInterface lookUp) {
  graph::Dims table = graph::getDims(lookUp->getOperand(0));
  int64_t elements = graph::numElements(table).constant().value_or(0);
  if (elements <= graph::kSmallWeights)
    return Verdict::no("its table is small");
  if (table[size_t(*lookUp.getLookedUpDim())].is(1))
    return Verdict::no("its table has one row, which is all that is read");
  if (graph::numElements(graph::getDims(lookUp->getResult(0))).constant().value_or(0) > elements)
    return Verdict::no("its table is read more than once in a run");
  return Verdict::yes();
}

void castOperands(graph::ContractOpInterface op, Type type) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  rewriteOperands(op, graph::getElementType(op->getResult(0)),
                  [&](unsigned, Value value) { return c.cast(value, type); });
}

} // namespace hewn
