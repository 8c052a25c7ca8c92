// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Move/Axes.h"
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"

using namespace mlir;

namespace hewn::graph {

bool areConstant(ArrayRef<DimExpr> values) {
  return llvm::all_of(values, [](const DimExpr &value) { return value.constant().has_value(); });
}

std::optional<Dims> axesOrRead(OnnxNode &node, StringRef name, unsigned i, int64_t rank, bool &absent) {
  std::optional<Dims> axes = intsOrRead(node, name, i, absent);
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
      (void)node.refuse("axis " + axis.str() + " stands twice");
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

} // namespace hewn::graph
