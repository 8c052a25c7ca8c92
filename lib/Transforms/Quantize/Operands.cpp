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
  // true also for constants that are folded only later
  return graph::isMadeOfConstants(op->getOperand(1)) ||
         (roles && plan::contractShape(op, *roles).rows.constant().value_or(0) >= enoughRows);
}

bool comesQuantized(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && graph::isViewKind(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<graph::QuantizedOpInterface>(op);
}

bool isKnownInteger(Value integers, int64_t value, const WeightStore &weights) {
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

bool isScalar(Value value) { return !value || graph::numElements(graph::getDims(value)).is(1); }

std::optional<Dims> placedAs(graph::ContractOpInterface op, const Dims &dims, unsigned from, unsigned to) {
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  Dims placed(maps[to].getNumResults(), DimExpr(1));
  std::optional<unsigned> last;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    if (dim.is(1))
      continue;
    auto position = dyn_cast<AffineDimExpr>(maps[from].getResult(unsigned(d)));
    std::optional<unsigned> place =
        position ? graph::resultWith(maps[to], position.getPosition()) : std::optional<unsigned>();
    if (!place || (last && *place < *last))
      return std::nullopt;
    placed[*place] = dim;
    last = place;
  }
  return placed;
}

std::optional<Dims> placedAs(graph::ContractOpInterface op, Value parameter, unsigned from, unsigned to) {
  return isScalar(parameter) ? Dims() : placedAs(op, graph::getDims(parameter), from, to);
}

/// Reshapes a scale or zero point to `rank` dims, or to a scalar if it has one element.
static Value aligned(graph::Composer &c, Value parameter, int64_t rank) {
  if (isScalar(parameter))
    return parameter ? c.reshape(parameter, {}) : parameter;
  return c.reshape(parameter, graph::alignedDims(parameter, rank));
}

/// Reshapes a scale or zero point when its data is reshaped from `from` to `to`. The parameter has
/// size 1 in dims along which it does not vary. If the reshape merges such a dim with a dim along
/// which the parameter varies, the parameter is expanded first.
static Value reshapedParameter(graph::Composer &c, Value parameter, const Dims &from, const Dims &to) {
  Dims repeated = graph::getDims(parameter), result(to.size(), DimExpr(1));
  for (const graph::ReshapeRun &run : graph::reshapeRuns(from, to)) {
    if (llvm::all_of(run.operandDims, [&](unsigned d) { return repeated[d].is(1); }))
      continue;
    for (unsigned d : run.operandDims)
      repeated[d] = from[d];
    for (unsigned d : run.resultDims)
      result[d] = to[d];
  }
  return c.reshape(c.expand(parameter, repeated), result);
}

std::optional<Quantized> quantizedOf(graph::Composer &c, Value value, const WeightStore &weights) {
  Operation *op = value.getDefiningOp();
  if (auto quantized = dyn_cast_or_null<graph::QuantizedOpInterface>(op)) {
    Value data = op->getOperand(0);
    int64_t rank = graph::getRank(data);
    auto type = dyn_cast<IntegerType>(graph::getElementType(data));
    if (!type || type.getWidth() != 8 || graph::codebookOf(quantized) || graph::getDims(data) != graph::getDims(value))
      return std::nullopt;
    return Quantized{data, aligned(c, quantized.getQuantizedScale(), rank),
                     aligned(c, quantized.getQuantizedZero(), rank)};
  }
  auto view = dyn_cast_or_null<graph::IndexingOpInterface>(op);
  if (!view || !(graph::isViewKind(op) || view.getIsBroadcast()))
    return std::nullopt;
  std::optional<Quantized> inner = quantizedOf(c, op->getOperand(0), weights);
  if (!inner)
    return std::nullopt;
  if (view.getIsBroadcast()) {
    int64_t rank = graph::getRank(value);
    return Quantized{c.expand(inner->data, graph::getDims(value)), aligned(c, inner->scale, rank),
                     aligned(c, inner->zero, rank)};
  }
  if (view.getViewKind() == graph::ViewKind::Reshape) {
    Dims from = graph::getDims(inner->data), to = graph::getDims(value);
    auto reshaped = [&](Value parameter) {
      return isScalar(parameter) ? parameter : reshapedParameter(c, parameter, from, to);
    };
    // Drop a zero point whose elements are all 0, so that it need not be reshaped with its data.
    if (inner->zero && isKnownInteger(inner->zero, 0, weights))
      inner->zero = {};
    return Quantized{c.reshape(inner->data, to), reshaped(inner->scale), reshaped(inner->zero)};
  }
  auto moved = [&](Value parameter) {
    return isScalar(parameter) ? parameter : c.transpose(parameter, view.getViewOrder());
  };
  return Quantized{c.transpose(inner->data, view.getViewOrder()), moved(inner->scale), moved(inner->zero)};
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

Eligibility looksUpFew(graph::IndexingOpInterface lookUp) {
  graph::Dims table = graph::getDims(lookUp->getOperand(0));
  int64_t elements = graph::numElements(table).constant().value_or(0);
  if (elements <= graph::kSmallWeights)
    return Eligibility::no("its table is small");
  if (table[size_t(*lookUp.getLookedUpDim())].is(1))
    return Eligibility::no("its table has one row");
  if (graph::numElements(graph::getDims(lookUp->getResult(0))).constant().value_or(0) > elements)
    return Eligibility::no("it gathers more elements than its table has");
  return Eligibility::yes();
}

void castOperands(graph::ContractOpInterface op, Type type) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  rewriteOperands(op, graph::getElementType(op->getResult(0)),
                  [&](unsigned, Value value) { return c.cast(value, type); });
}

} // namespace hewn
