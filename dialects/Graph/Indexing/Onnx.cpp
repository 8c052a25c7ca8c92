// SPDX-License-Identifier: Apache-2.0
//
// Import of the ops in Indexing.td. Shape operands of the nodes become dim expressions.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/Axes.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildTranspose(OnnxNode &node) {
  int64_t rank = getRank(node.input(0));
  SmallVector<int64_t> order =
      node.getInts("perm").value_or(llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank))));
  return node.finish(Composer(node).transpose(node.input(0), order));
}

/// Emits ops that replace 0 and -1 in the shape operand of a Reshape, if that operand is computed
/// at run time.
static std::optional<Dims> resolveShape(OnnxNode &node, const Dims &dims, int64_t length, bool copyZeros) {
  Composer c(node);
  Value shape = c.reshape(c.cast(node.input(1), node.b.getI64Type()), {DimExpr(length)});
  Value zero = c.scalarLike(shape, 0), one = c.scalarLike(shape, 1), minus = c.scalarLike(shape, -1);
  auto values = [&](ArrayRef<DimExpr> list) { return node.make<DimValueOp>({}, node.attr("values", list)); };
  if (copyZeros) {
    Dims copied(dims);
    copied.resize(length, DimExpr(0));
    shape = c.op<WhereOp>({c.op<EqualOp>({shape, zero}), values(copied), shape});
  }
  Value isOpen = c.op<EqualOp>({shape, minus});
  if (length > 1) {
    Value count = c.reduce<ReduceSumOp>(c.cast(isOpen, node.b.getI64Type()), 0, false);
    if (!count)
      return std::nullopt;
    RequireOp::create(node.b, node.loc, c.op<LessOp>({count, c.scalarLike(count, 2)}));
  }
  Value known = c.reduce<ReduceProdOp>(c.op<WhereOp>({isOpen, one, shape}), 0, true);
  Value rest = c.op<DivOp>({values(numElements(dims)), c.op<MaximumOp>({known, one})});
  shape = c.op<WhereOp>({isOpen, rest, shape});
  return shape ? node.contentsOrRead(shape) : std::nullopt;
}

/// Returns true if `a` is not 0 wherever `b` is not 0, because every factor of `a` is one of `b`.
static bool isNonZeroWith(const DimExpr &a, const DimExpr &b) {
  if (isNonNegative(a - DimExpr(1)))
    return true;
  return a.terms().size() == 1 && llvm::all_of(a.terms()[0].factors, [&](const DimExpr::AtomRef &factor) {
           return b.divideExactly(DimExpr::factor(factor)).has_value();
         });
}

/// Requires that no dynamic dim of a Reshape's shape is 0 where ONNX would take this 0 as "copy the
/// dim of the input" and the result, then of other dims, would be valid. Where the copy would make
/// the shape invalid, a 0 is a size, so that tensors without elements can be reshaped.
static void requireSizes(OnnxNode &node, ArrayRef<DimExpr> dims, ArrayRef<DimExpr> shape,
                         std::optional<size_t> inferred) {
  auto copiedAt = [&](size_t i) { return i < dims.size() ? dims[i] : DimExpr(0); };
  auto isPositive = [](const DimExpr &dim) { return DimExpr::min(dim, DimExpr(1)); };
  DimExpr copies(0), positive(1);
  for (auto [i, dim] : llvm::enumerate(shape)) {
    if (i == inferred)
      continue;
    DimExpr copied = copiedAt(i);
    positive = positive * (isNonNegative(dim - DimExpr(1)) ? DimExpr(1) : isPositive(dim + copied));
    auto isPositiveToo = [&](size_t j) {
      return j == i || isNonZeroWith(shape[j], copied) || isNonZeroWith(copiedAt(j), copied);
    };
    if (!isNonZeroWith(dim, copied) && (inferred || !llvm::all_of(llvm::seq(shape.size()), isPositiveToo)))
      copies = copies + (DimExpr(1) - isPositive(dim)) * isPositive(copied);
  }
  require(node.b, node.loc, Relation::NoCopy, copies * (inferred ? positive : DimExpr(1) - positive), DimExpr(0));
}

LogicalResult buildReshape(OnnxNode &node) {
  Value x = node.input(0);
  if (node.input(1) && getRank(node.input(1)) != 1)
    return node.refuse("needs a shape of rank 1");
  std::optional<int64_t> length = lengthBySizes(node, node.input(1));
  std::optional<Dims> wanted = length ? node.contentsOrRead(node.input(1), length) : std::nullopt;
  if (!wanted)
    return failure();
  Dims dims = getDims(x), shape = *wanted;
  bool copyZeros = !node.getInt("allowzero", 0);
  auto maySayMore = [](const DimExpr &dim) { return !dim.constant() && !isNonNegative(dim); };
  if (llvm::any_of(shape, maySayMore)) {
    std::optional<Dims> resolved = resolveShape(node, dims, shape.size(), copyZeros);
    return resolved ? node.finish(Composer(node).reshape(x, *resolved)) : failure();
  }
  std::optional<size_t> inferred;
  DimExpr known(1);
  for (auto [i, dim] : llvm::enumerate(shape)) {
    if (dim.is(0) && copyZeros) {
      if (i >= dims.size())
        return node.refuse("shape copies dim " + Twine(i) + " of an input of rank " + Twine(dims.size()));
      dim = dims[i];
    } else if (dim.is(-1)) {
      if (inferred)
        return node.refuse("shape has more than one -1");
      inferred = i;
      continue;
    } else if (dim.constant() && *dim.constant() < -1) {
      return node.refuse("shape has the negative dim " + dim.str());
    }
    known = known * dim;
  }
  if (copyZeros)
    requireSizes(node, dims, shape, inferred);
  if (inferred) {
    DimExpr total = numElements(dims);
    if (known.is(0) || (total.constant() && known.constant() && *total.constant() % *known.constant() != 0))
      return node.refuse(total.str() + " elements are not divisible by " + known.str());
    shape[*inferred] = total.floorDiv(known);
  }
  if (shape == dims)
    return node.finish(x);
  return node.finish(node.make<ReshapeOp>(x, node.attr("shape", ArrayRef<DimExpr>(shape))));
}

LogicalResult buildFlatten(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x);
  int64_t axis = node.getInt("axis", 1), rank = dims.size();
  // In Flatten, unlike in other nodes, the axis may be equal to the rank.
  if (axis < -rank || axis > rank)
    return node.refuse("axis " + Twine(axis) + " is outside of rank " + Twine(rank));
  ArrayRef<DimExpr> all(dims);
  size_t split = axis < 0 ? axis + rank : axis;
  return node.finish(
      Composer(node).reshape(x, {numElements(all.take_front(split)), numElements(all.drop_front(split))}));
}

/// Imports a Squeeze without axes, which removes all dims of size 1. If a dynamic dim is 1 at run
/// time, the run ends with an error status, because the result would have another rank.
static LogicalResult squeezeAll(OnnxNode &node, Value x) {
  Composer c(node);
  Dims kept;
  for (const DimExpr &dim : getDims(x)) {
    Decision isOne = node.decide(dim, 1);
    if (isOne == Decision::PerCase)
      return failure();
    if (isOne == Decision::AtRuntime)
      RequireOp::create(node.b, node.loc, c.op<NotOp>({c.op<EqualOp>({c.number(dim), c.number(DimExpr(1))})}));
    if (isOne != Decision::Yes)
      kept.push_back(dim);
  }
  return node.finish(c.reshape(x, kept));
}

LogicalResult buildSqueeze(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x);
  bool absent;
  std::optional<int64_t> length;
  if (Value list = node.hasAttr("axes") ? Value() : node.input(1); hasOpenLength(list)) {
    int64_t rank = dims.size();
    std::optional<int64_t> declared = node.declaredRank(0);
    if (declared && *declared > rank)
      return node.refuse("declares a result of rank " + Twine(*declared) + " for an input of rank " + Twine(rank));
    length = declared ? rank - *declared : decideLength(node, list, 0, rank);
    if (!length)
      return failure();
  }
  std::optional<Dims> axes = axesOrRead(node, "axes", 1, dims.size(), absent, length);
  if (!axes && !absent)
    return failure();
  if (absent)
    return squeezeAll(node, x);
  Dims gone = marks(*axes, dims.size());
  for (auto [d, dim] : llvm::enumerate(dims))
    if (gone[d].is(1) && dim.constant() && !dim.is(1))
      return node.refuse("cannot squeeze dim " + Twine(d) + " with " + dim.str() + " elements");
    else
      require(node.b, node.loc, Relation::Equal, dim * gone[d], gone[d]);
  return node.finish(Composer(node).reshape(x, shortened(node, unmarked(dims, gone, dims.size() - axes->size()))));
}

LogicalResult buildUnsqueeze(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x), shape;
  bool absent;
  std::optional<int64_t> length;
  if (Value list = node.hasAttr("axes") ? Value() : node.input(1); hasOpenLength(list)) {
    int64_t rank = dims.size();
    std::optional<int64_t> declared = node.declaredRank(0);
    if (declared && *declared < rank)
      return node.refuse("declares a result of rank " + Twine(*declared) + " for an input of rank " + Twine(rank));
    length = declared ? *declared - rank : decideLength(node, list, 0, std::max<int64_t>(kMostDims - rank, 1));
    if (!length)
      return failure();
  }
  // The axes of Unsqueeze count the dims of the result, which has one more dim for each axis.
  std::optional<Dims> written = intsOrRead(node, "axes", 1, absent, length);
  if (!written)
    return absent ? node.refuse("needs axes") : failure();
  int64_t rank = dims.size() + written->size();
  std::optional<Dims> axes = axesOrRead(node, "axes", 1, rank, absent, length);
  if (!axes)
    return failure();
  DimExpr from(0);
  for (const DimExpr &fresh : marks(*axes, rank)) {
    DimExpr stays = DimExpr(1) - fresh;
    shape.push_back(node.shortened(fresh + stays * pick(dims, from)));
    from = from + stays;
  }
  return node.finish(Composer(node).reshape(x, shape));
}

LogicalResult buildConcat(OnnxNode &node) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < node.numInputs(); ++i)
    values.push_back(node.input(i));
  if (values.empty() || !values[0])
    return node.refuse("requires at least one input");
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 1), getRank(values[0]));
  return axis ? node.finish(concatInGroups(node, values, *axis)) : failure();
}

/// Reads the shape operand of an Expand node. If its length is dynamic and the declared rank of the
/// result is that of the input, the shape may be shorter, and is extended by leading dims of 1.
static std::optional<Dims> expandedShape(OnnxNode &node) {
  Value list = node.input(1);
  int64_t rank = getRank(node.input(0));
  if (!hasOpenLength(list) || node.declaredRank(0) != rank) {
    std::optional<int64_t> length = lengthBySizes(node, list);
    return length ? node.contentsOrRead(list, length) : std::nullopt;
  }
  Composer c(node);
  DimExpr length = getDims(list)[0];
  require(node.b, node.loc, Relation::AtMost, length, DimExpr(rank));
  Value ones = makeSplat(node.b, node.loc, getElementType(list), 1, {rank});
  list = c.slice(c.concat({ones, list}, 0), 0, length, DimExpr(rank));
  return list ? node.contentsOrRead(list) : std::nullopt;
}

LogicalResult buildExpand(OnnxNode &node) {
  std::optional<Dims> shape = expandedShape(node);
  if (!shape)
    return failure();
  std::optional<Dims> dims = broadcastDims({getDims(node.input(0)), *shape});
  if (!dims)
    return node.refuse("the input does not broadcast to the shape");
  for (auto [dim, made] : llvm::zip(*shape, ArrayRef(*dims).take_back(shape->size())))
    require(node.b, node.loc, Relation::Broadcast, dim, made);
  return node.finish(Composer(node).expand(node.input(0), *dims));
}

LogicalResult buildGather(OnnxNode &node) {
  Value x = node.input(0), indices = node.input(1);
  Dims dims = getDims(x);
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 0), dims.size());
  if (!axis)
    return failure();
  // A Gather with one index that is known at compile time becomes a slice, which is contiguous and
  // often a view.
  std::optional<Dims> known = node.contents(indices);
  if (known && known->size() == 1 && known->front().constant()) {
    DimExpr at = known->front();
    if (*at.constant() < 0)
      at = at + dims[*axis];
    if (at.constant() && dims[*axis].constant() && (*at.constant() < 0 || *at.constant() >= *dims[*axis].constant()))
      return node.refuse("index " + known->front().str() + " is outside of a dim of " + dims[*axis].str());
    Composer c(node);
    Dims shape(dims.begin(), dims.begin() + *axis);
    llvm::append_range(shape, getDims(indices));
    shape.append(dims.begin() + *axis + 1, dims.end());
    return node.finish(c.reshape(c.slice(x, *axis, at, DimExpr(1)), shape));
  }
  if (failed(checkIndices(node, indices, dims[*axis])))
    return failure();
  return node.finish(node.make<GatherOp>({x, indices}, node.attr("axis", *axis)));
}

} // namespace hewn::graph
