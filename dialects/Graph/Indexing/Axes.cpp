// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

bool areConstant(ArrayRef<DimExpr> values) {
  return llvm::all_of(values, [](const DimExpr &value) { return value.constant().has_value(); });
}

std::optional<Dims> intsOrRead(OnnxNode &node, StringRef name, unsigned i, bool &absent,
                               std::optional<int64_t> length) {
  bool isInput = !node.hasAttr(name) && hasOpenLength(node.input(i));
  if (!isInput || !length)
    return intsOrRead(node, name, i, absent);
  absent = false;
  return node.contentsOrRead(node.input(i), length);
}

std::optional<Dims> axesOrRead(OnnxNode &node, StringRef name, unsigned i, int64_t rank, bool &absent,
                               std::optional<int64_t> length) {
  std::optional<Dims> axes = intsOrRead(node, name, i, absent, length);
  if (!axes)
    return std::nullopt;
  if (int64_t(axes->size()) > rank) {
    (void)node.refuse("has " + Twine(axes->size()) + " axes for rank " + Twine(rank));
    return std::nullopt;
  }
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    if (axis.constant()) {
      std::optional<int64_t> known = node.axis(*axis.constant(), rank);
      if (!known)
        return std::nullopt;
      axis = DimExpr(*known);
    } else {
      require(node.b, node.loc, Relation::AtMost, DimExpr(-rank), axis);
      require(node.b, node.loc, Relation::AtMost, axis, DimExpr(rank - 1));
      axis = axis.mod(DimExpr(rank));
    }
    if (llvm::is_contained(ArrayRef(*axes).take_front(i), axis)) {
      (void)node.refuse("axis " + axis.str() + " is repeated");
      return std::nullopt;
    }
    for (const DimExpr &other : ArrayRef(*axes).take_front(i))
      require(node.b, node.loc, Relation::AtMost, DimExpr(1), DimExpr::max(axis - other, other - axis));
  }
  return axes;
}

DimExpr equals(const DimExpr &a, const DimExpr &b) {
  return DimExpr(1) - DimExpr::min(DimExpr::max(a - b, b - a), DimExpr(1));
}

DimExpr pick(ArrayRef<DimExpr> list, const DimExpr &index) {
  DimExpr sum(0);
  for (auto [i, value] : llvm::enumerate(list))
    sum = sum + value * equals(index, DimExpr(int64_t(i)));
  return sum;
}

Dims marks(ArrayRef<DimExpr> axes, int64_t rank) {
  Dims marked(rank, DimExpr(0));
  for (int64_t d = 0; d < rank; ++d)
    for (const DimExpr &axis : axes)
      marked[d] = marked[d] + equals(axis, DimExpr(d));
  return marked;
}

Dims unmarked(ArrayRef<DimExpr> dims, ArrayRef<DimExpr> marked, int64_t count) {
  Dims result(count, DimExpr(0));
  DimExpr before(0);
  for (auto [dim, mark] : llvm::zip(dims, marked)) {
    DimExpr stays = DimExpr(1) - mark;
    for (int64_t i = 0; i < count; ++i)
      result[i] = result[i] + dim * stays * equals(before, DimExpr(i));
    before = before + stays;
  }
  return result;
}

Dims shortened(OnnxNode &node, ArrayRef<DimExpr> numbers, bool areSizes) {
  Dims list;
  for (const DimExpr &number : numbers)
    list.push_back(node.shortened(number, areSizes));
  return list;
}

Dims aroundAxis(ArrayRef<DimExpr> dims, const DimExpr &axis) {
  Dims before, after;
  for (size_t d = 0; d < dims.size(); ++d) {
    before.push_back(numElements(dims.take_front(d)));
    after.push_back(numElements(dims.drop_front(d + 1)));
  }
  return {pick(before, axis), pick(dims, axis), pick(after, axis)};
}

//===------------------------------------------------------------------------------------------===//
// Lists of dynamic length
//===------------------------------------------------------------------------------------------===//

bool hasOpenLength(Value list) { return list && getRank(list) == 1 && !getDims(list)[0].constant(); }

std::optional<int64_t> knownLength(OnnxNode &node, ArrayRef<unsigned> lists) {
  for (unsigned i : lists)
    if (Value list = node.input(i); list && getRank(list) == 1 && !hasOpenLength(list))
      return getDims(list)[0].constant();
  return std::nullopt;
}

std::optional<int64_t> decideLength(OnnxNode &node, Value list, int64_t low, int64_t high) {
  if (!hasOpenLength(list))
    return list && getRank(list) == 1 ? getDims(list)[0].constant() : std::optional<int64_t>(1);
  for (int64_t length = low; length <= high; ++length) {
    Decision decision = node.decide(getDims(list)[0], length);
    if (decision == Decision::Yes)
      return length;
    if (decision == Decision::PerCase)
      return std::nullopt;
    if (decision == Decision::AtRuntime) {
      (void)node.refuse("the length of a list determines the rank of the result and is computed at run time; declare "
                        "the result's shape in the model");
      return std::nullopt;
    }
  }
  (void)node.refuse("the length of a list determines the rank of the result and must be between " + Twine(low) +
                    " and " + Twine(high));
  return std::nullopt;
}

std::optional<int64_t> lengthBySizes(OnnxNode &node, Value list) {
  if (std::optional<int64_t> declared = node.declaredRank(0); declared && hasOpenLength(list))
    return declared;
  return decideLength(node, list, 0, kMostDims);
}

Value matchAxes(OnnxNode &node, Value list, int64_t rank) {
  Composer c(node);
  Value axes = c.cast(list, node.b.getI64Type());
  if (!axes || failed(checkIndices(node, axes, DimExpr(rank))))
    return {};
  Value count = c.scalarLike(axes, double(rank));
  axes = c.op<WhereOp>({c.op<LessOp>({axes, c.scalarLike(axes, 0)}), c.op<AddOp>({axes, count}), axes});
  Value matches = c.op<EqualOp>({c.reshape(axes, {getDims(list)[0], DimExpr(1)}), c.range(DimExpr(rank))});
  Value most =
      c.reduce<ReduceMaxOp>(c.reduce<ReduceSumOp>(c.cast(matches, node.b.getI64Type()), {0}, false), {0}, false);
  if (!most)
    return {};
  RequireOp::create(node.b, node.loc, c.op<LessOp>({most, c.scalarLike(most, 2)}));
  return matches;
}

Value spreadOverDims(OnnxNode &node, Value matches, Value values, int64_t otherwise) {
  Composer c(node);
  values = c.cast(values, node.b.getI64Type());
  if (!matches || !values)
    return {};
  Value zero = c.scalarLike(values, 0), column = c.reshape(values, {getDims(matches)[0], DimExpr(1)});
  Value spread = c.reduce<ReduceSumOp>(c.op<WhereOp>({matches, column, zero}), {0}, false);
  if (otherwise == 0)
    return spread;
  Value isListed = c.reduce<ReduceSumOp>(c.cast(matches, node.b.getI64Type()), {0}, false);
  return c.op<WhereOp>({c.op<EqualOp>({isListed, zero}), c.scalarLike(spread, double(otherwise)), spread});
}

} // namespace hewn::graph
