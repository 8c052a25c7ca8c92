// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX's reductions.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

namespace {
/// The dims over which an ONNX reduction reduces. `marked` is 1 for these dims and 0 for the
/// others. If the axes are known when compiling, `known` lists them; otherwise, `marked` has
/// symbols that are read from the axes tensor at run time.
struct ReducedDims {
  std::optional<SmallVector<int64_t>> known;
  Dims marked;
  int64_t count = 0; // number of reduced dims; only valid if the result does not keep them
};
} // namespace

/// Marks the dims over which an ONNX reduction reduces if its list of axes has a dynamic length. If
/// the result does not keep the reduced dims, it has `rank - count` dims.
static std::optional<ReducedDims> markOpenAxes(OnnxNode &node, int64_t rank, bool noop, int64_t count, bool keep) {
  Composer c(node);
  Value matches = matchAxes(node, node.input(1), rank);
  Value marks = c.reduce<ReduceSumOp>(c.cast(matches, node.b.getI64Type()), {0}, false);
  if (marks && !noop) {
    DimExpr isEmpty = DimExpr(1) - DimExpr::min(getDims(matches)[0], DimExpr(1));
    marks = c.op<MaximumOp>({marks, c.number(isEmpty)});
  }
  std::optional<Dims> marked = marks ? node.contentsOrRead(marks) : std::nullopt;
  if (!marked)
    return std::nullopt;
  if (!keep)
    require(node.b, node.loc, Relation::Equal, DimExpr::sum(*marked), DimExpr(count));
  return ReducedDims{std::nullopt, *marked, count};
}

/// Reads the axes of an ONNX reduction, which are an attribute in old opsets and an input in newer
/// ones. If there are no axes, the node reduces over all dims, or over none if noop_with_empty_axes
/// is set. If the number of axes is dynamic and the result does not keep the reduced dims, its
/// declared shape or a case of the program determines its rank.
static std::optional<ReducedDims> reducedDims(OnnxNode &node, int64_t rank, bool keep) {
  bool absent = false, noop = node.getInt("noop_with_empty_axes", 0);
  std::optional<int64_t> length;
  if (Value list = node.hasAttr("axes") ? Value() : node.input(1); hasOpenLength(list)) {
    std::optional<int64_t> declared = keep ? rank : node.declaredRank(0);
    if (declared && *declared > rank) {
      (void)node.refuse("declares a result of rank " + Twine(*declared) + " for an input of rank " + Twine(rank));
      return std::nullopt;
    }
    if (declared && rank > 0)
      return markOpenAxes(node, rank, noop, rank - *declared, keep);
    length = decideLength(node, list, 0, rank);
    if (!length)
      return std::nullopt;
  }
  std::optional<Dims> axes = axesOrRead(node, "axes", 1, rank, absent, length);
  if (!axes && !absent)
    return std::nullopt;
  ReducedDims reduced;
  if (!areConstant(axes.value_or(Dims()))) {
    reduced.marked = marks(*axes, rank);
    reduced.count = axes->size();
    return reduced;
  }
  reduced.known.emplace();
  if ((!axes || axes->empty()) && !noop)
    reduced.known = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (const DimExpr &axis : axes.value_or(Dims()))
    reduced.known->push_back(*axis.constant());
  llvm::sort(*reduced.known);
  reduced.count = reduced.known->size();
  reduced.marked.assign(rank, DimExpr(0));
  for (int64_t dim : *reduced.known)
    reduced.marked[dim] = DimExpr(1);
  return reduced;
}

/// Reduces over dims that are only known at run time, and keeps them as 1. For each dim of x, emits
/// the value reduced over this dim, concatenates it with the unreduced value, and slices out the
/// one that is needed.
static Value reduceUnknown(OnnxNode &node, StringRef name, Value x, ArrayRef<DimExpr> marked) {
  Composer c(node);
  for (int64_t d = 0, rank = marked.size(); x && d < rank; ++d) {
    Value reduced = c.reduceNamed(name, x, d, true);
    if (!reduced)
      return {};
    // The start and the size of the slice become new symbols. Otherwise, the kernel for each dim
    // would compute the sizes of all dims before it again.
    DimExpr extent = getDims(x)[d], stays = node.named(DimExpr(1) - marked[d], /*isSize=*/false);
    DimExpr left = node.named(DimExpr(1) + stays * (extent - DimExpr(1)), /*isSize=*/false);
    x = c.slice(c.concat({reduced, x}, d), d, stays, left);
  }
  return x;
}

namespace {
/// How an ONNX reduction is decomposed: an elementwise op on the elements (`before`), a reduction
/// (`name`), and an elementwise op on its result (`after`).
struct Reduction {
  enum class Before { Nothing, Abs, Square, Exp } before = Before::Nothing;
  StringRef name;
  StringRef after = {};
};
} // namespace

/// Returns the decomposition of an ONNX reduction node. If a graph op is recorded for the node
/// type, the decomposition is this op alone.
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

/// Returns the type in which a decomposed reduction is computed. Float types below 32 bits become
/// f32, because squares overflow f16, and integers become floats for roots and logarithms.
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
  bool keep = node.getInt("keepdims", 1) != 0;
  std::optional<ReducedDims> dims = reducedDims(node, rank, keep);
  if (!dims)
    return failure();
  Composer c(node);
  const Reduction reduction = reductionOf(node);
  Type type = getElementType(x);
  Dims before = getDims(x);
  bool simple = dims->known && reduction.before != Reduction::Before::Exp;
  auto reduce = [&](StringRef name, Value value, bool keepDims) {
    if (!dims->known)
      return reduceUnknown(node, name, value, dims->marked);
    return dims->known->empty() ? value : c.reduceNamed(name, value, *dims->known, keepDims);
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
    // ReduceLogSumExp is computed as m + log(sum(e^(x - m))), which equals log(sum(e^x)) for any m.
    // With the maximum of x as m, nothing overflows. If the maximum is infinite, m is 0.
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
  if (!simple && !keep)
    x = c.reshape(x, shortened(node, unmarked(before, dims->marked, rank - dims->count)));
  return node.finish(c.cast(x, type));
}

LogicalResult buildArgReduce(OnnxNode &node) {
  Value x = node.input(0);
  if (!x)
    return node.refuse("needs an input");
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), getRank(x));
  if (!axis)
    return failure();
  // ArgMax and ArgMin need at least one element: an empty dim has no maximum
  require(node.b, node.loc, Relation::AtMost, DimExpr(1), getDims(x)[*axis]);
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
    return node.refuse("p must be positive");
  Type type = getElementType(x), work = type.isF64() ? type : Type(node.b.getF32Type());
  x = c.op<AbsOp>(c.cast(x, work));
  auto power = [&](Value value, double exponent) {
    return exponent == 1 ? value : c.op<PowOp>({value, c.scalarLike(value, exponent)});
  };
  x = power(c.reduce<ReduceSumOp>(power(x, p), dims, true), 1 / p);
  return node.finish(c.cast(x, type));
}

} // namespace hewn::graph
