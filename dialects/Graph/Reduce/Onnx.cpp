// SPDX-License-Identifier: Apache-2.0
//
// How ONNX's reductions become ours.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/Axes.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

namespace {
/// The dims that are reduced: known, or (where `unknown` is not empty) as expressions over symbols that are read from the
/// tensor of axes when the model runs.
struct ReducedDims {
  SmallVector<int64_t> known;
  Dims unknown;
};
} // namespace

/// The axes of a reduction: an attribute before opset 13/18, an input since; absent or empty means all (or none, where
/// asked).
static std::optional<ReducedDims> reducedDims(OnnxNode &node, int64_t rank) {
  bool absent = false;
  std::optional<Dims> axes = axesOrRead(node, "axes", 1, rank, absent);
  if (!axes && !absent)
    return std::nullopt;
  ReducedDims reduced;
  if (!areConstant(axes.value_or(Dims()))) {
    reduced.unknown = *axes;
    return reduced;
  }
  if ((!axes || axes->empty()) && !node.getInt("noop_with_empty_axes", 0))
    reduced.known = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (const DimExpr &axis : axes.value_or(Dims()))
    reduced.known.push_back(*axis.constant());
  llvm::sort(reduced.known);
  return reduced;
}

/// Reduces over dims that are known only when the model runs, and keeps them as 1: for each dim, the reduced value and
/// the value itself stand one after another, and the one that is wanted is cut out.
static Value reduceUnknown(OnnxNode &node, StringRef name, Value x, ArrayRef<DimExpr> marked) {
  Composer c(node);
  for (int64_t d = 0, rank = marked.size(); x && d < rank; ++d) {
    Value reduced = c.reduceNamed(name, x, d, true);
    if (!reduced)
      return {};
    // By names of their own: written out, the kernel of each dim would compute the extents of all dims before it.
    DimExpr extent = getDims(x)[d], stays = node.named(DimExpr(1) - marked[d], /*isSize=*/false);
    DimExpr left = node.named(DimExpr(1) + stays * (extent - DimExpr(1)), /*isSize=*/false);
    x = c.slice(c.concat({reduced, x}, d), d, stays, left);
  }
  return x;
}

namespace {
/// A reduction as ONNX names it: what is done to the elements, which of ours
/// reduces them, what is done to the result.
struct Reduction {
  enum class Before { Nothing, Abs, Square, Exp } before = Before::Nothing;
  StringRef name;
  StringRef after = {};
};
} // namespace

/// The op of the node's record, or what a node is composed of that has none.
static Reduction reductionOf(OnnxNode &node) {
  using Before = Reduction::Before;
  constexpr StringRef sum = ReduceSumOp::getOperationName(), log = LogOp::getOperationName();
  static const llvm::StringMap<Reduction> composed = {{"ReduceL1", {Before::Abs, sum}},
                                                      {"ReduceL2", {Before::Square, sum, SqrtOp::getOperationName()}},
                                                      {"ReduceSumSquare", {Before::Square, sum}},
                                                      {"ReduceLogSum", {Before::Nothing, sum, log}},
                                                      {"ReduceLogSumExp", {Before::Exp, sum, log}}};
  StringRef own = node.recordedOp();
  return own.empty() ? composed.at(node.opType()) : Reduction{Before::Nothing, own};
}

/// The type in which a composed reduction runs: squares of f16 overflow, and
/// integers have no root or logarithm.
static Type workType(OpBuilder &b, Type element, const Reduction &reduction) {
  bool plain = reduction.before == Reduction::Before::Nothing && reduction.after.empty();
  if (plain || element.isF64())
    return element;
  if (isa<FloatType>(element))
    return b.getF32Type();
  return reduction.after.empty() ? element : Type(b.getF64Type());
}

LogicalResult buildReduce(OnnxNode &node) {
  Value x = node.input(0);
  if (!x)
    return node.refuse("needs an input");
  int64_t rank = getRank(x);
  std::optional<ReducedDims> dims = reducedDims(node, rank);
  if (!dims)
    return failure();
  Composer c(node);
  const Reduction reduction = reductionOf(node);
  Type type = getElementType(x);
  Dims before = getDims(x), marked = marks(dims->unknown, rank);
  for (int64_t dim : dims->known)
    marked[dim] = DimExpr(1);
  bool keep = node.getInt("keepdims", 1) != 0,
       simple = dims->unknown.empty() && reduction.before != Reduction::Before::Exp;
  auto reduce = [&](StringRef name, Value value, bool keepDims) {
    if (!dims->unknown.empty())
      return reduceUnknown(node, name, value, marked);
    return dims->known.empty() ? value : c.reduceNamed(name, value, dims->known, keepDims);
  };
  x = c.cast(x, workType(node.b, type, reduction));
  Value largest;
  switch (reduction.before) {
  case Reduction::Before::Nothing:
    break;
  case Reduction::Before::Abs:
    x = c.op<AbsOp>(x);
    break;
  case Reduction::Before::Square:
    x = c.op<MulOp>({x, x});
    break;
  case Reduction::Before::Exp: {
    // log(sum(e^x)) = m + log(sum(e^(x - m))) for any m; the largest element keeps e^ in range. Where that is infinite,
    // 0 does.
    largest = reduce(ReduceMaxOp::getOperationName(), x, true);
    Value finite = c.op<LessOp>({c.op<AbsOp>(largest), c.scalarLike(x, HUGE_VAL)});
    largest = c.op<WhereOp>({finite, largest, c.scalarLike(x, 0)});
    x = c.op<ExpOp>(c.op<SubOp>({x, largest}));
    break;
  }
  }
  x = reduce(reduction.name, x, keep || !simple);
  if (!reduction.after.empty())
    x = c.opNamed(reduction.after, x);
  if (largest)
    x = c.op<AddOp>({x, largest});
  if (!simple && !keep) {
    int64_t gone = dims->unknown.size() + dims->known.size();
    x = c.reshape(x, shortened(node, unmarked(before, marked, rank - gone)));
  }
  return node.finish(c.cast(x, type));
}

LogicalResult buildArgReduce(OnnxNode &node) {
  Value x = node.input(0);
  if (!x)
    return node.refuse("needs an input");
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(x));
  if (!axis)
    return failure();
  require(node.b, node.loc, Relation::AtMost, DimExpr(1), getDims(x)[*axis]); // of no elements none is the largest
  return node.finish(makeNamed(node.b, node.loc, node.recordedOp(), x,
                               {node.attr("dims", ArrayRef<int64_t>{*axis}),
                                node.attr("keepdims", node.b.getBoolAttr(node.getInt("keepdims", 1))),
                                node.attr("lastIndex", node.b.getBoolAttr(node.getInt("select_last_index", 0)))}));
}

LogicalResult buildGlobalPool(OnnxNode &node) {
  Value x = node.input(0);
  if (!x || getRank(x) < 3)
    return node.refuse("needs an input of rank 3 or more");
  Composer c(node);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(2, getRank(x)));
  for (int64_t d : dims)
    require(node.b, node.loc, Relation::AtMost, DimExpr(1), getDims(x)[d]);
  if (node.opType() == "GlobalAveragePool")
    return node.finish(c.reduce<ReduceMeanOp>(x, dims, true));
  if (node.opType() == "GlobalMaxPool")
    return node.finish(c.reduce<ReduceMaxOp>(x, dims, true));
  double p = node.opset() < 2 ? node.getFloat("p", 2) : double(node.getInt("p", 2));
  if (p <= 0)
    return node.refuse("a norm of p 0 or less");
  Type type = getElementType(x), work = type.isF64() ? type : Type(node.b.getF32Type());
  x = c.op<AbsOp>(c.cast(x, work));
  auto power = [&](Value value, double exponent) {
    return exponent == 1 ? value : c.op<PowOp>({value, c.scalarLike(value, exponent)});
  };
  x = power(c.reduce<ReduceSumOp>(power(x, p), dims, true), 1 / p);
  return node.finish(c.cast(x, type));
}

} // namespace hewn::graph
