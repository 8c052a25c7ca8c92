// SPDX-License-Identifier: Apache-2.0
//
// How ONNX's nodes become moves: shape operands are resolved to expressions
// here.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/Axes.h"
#include "dialects/Graph/Move/MoveOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildTranspose(OnnxNode &node) {
  int64_t rank = getRank(node.input(0));
  SmallVector<int64_t> order =
      node.getInts("perm").value_or(llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank))));
  return node.finish(Composer(node).transpose(node.input(0), order));
}

/// A shape that is computed when the model runs may hold 0 and -1 there: what they stand for, by ops.
static std::optional<Dims> resolveShape(OnnxNode &node, const Dims &dims, bool copyZeros) {
  Composer c(node);
  Value shape = c.cast(node.input(1), node.b.getI64Type());
  Value zero = c.scalarLike(shape, 0), one = c.scalarLike(shape, 1), minus = c.scalarLike(shape, -1);
  auto values = [&](ArrayRef<DimExpr> list) { return node.make<DimValueOp>({}, node.attr("values", list)); };
  if (copyZeros) {
    Dims copied(dims);
    copied.resize(getDims(shape)[0].constant().value_or(0), DimExpr(0));
    shape = c.op<WhereOp>({c.op<EqualOp>({shape, zero}), values(copied), shape});
  }
  Value isOpen = c.op<EqualOp>({shape, minus});
  Value known = c.reduce<ReduceProdOp>(c.op<WhereOp>({isOpen, one, shape}), 0, true);
  Value rest = c.op<DivOp>({values(numElements(dims)), c.op<MaximumOp>({known, one})});
  shape = c.op<WhereOp>({isOpen, rest, shape});
  return shape ? node.contentsOrRead(shape) : std::nullopt;
}

LogicalResult buildReshape(OnnxNode &node) {
  Value x = node.input(0);
  if (node.input(1) && getRank(node.input(1)) != 1)
    return node.refuse("needs a shape of rank 1");
  std::optional<Dims> wanted = node.contentsOrRead(node.input(1));
  if (!wanted)
    return failure();
  Dims dims = getDims(x), shape = *wanted;
  bool copyZeros = !node.getInt("allowzero", 0);
  auto maySayMore = [](const DimExpr &dim) { return !dim.constant() && !isNonNegative(dim); };
  if (llvm::any_of(shape, maySayMore)) {
    std::optional<Dims> resolved = resolveShape(node, dims, copyZeros);
    return resolved ? node.finish(Composer(node).reshape(x, *resolved)) : failure();
  }
  std::optional<size_t> inferred;
  DimExpr known(1);
  for (auto [i, dim] : llvm::enumerate(shape)) {
    if (dim.is(0) && copyZeros) {
      if (i >= dims.size())
        return node.refuse("copies dim " + Twine(i) + " of an input of rank " + Twine(dims.size()));
      dim = dims[i];
    } else if (dim.is(-1)) {
      if (inferred)
        return node.refuse("shape has more than one -1");
      inferred = i;
      continue;
    } else if (dim.constant() && *dim.constant() < -1) {
      return node.refuse("shape has the dim " + dim.str());
    }
    known = known * dim;
  }
  if (inferred) {
    DimExpr total = numElements(dims);
    if (known.is(0) || (total.constant() && known.constant() && *total.constant() % *known.constant() != 0))
      return node.refuse(total.str() + " elements do not divide by " + known.str());
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
  // Unlike other axes this one may stand after the last dim.
  if (axis < -rank || axis > rank)
    return node.refuse("axis " + Twine(axis) + " is outside of rank " + Twine(rank));
  ArrayRef<DimExpr> all(dims);
  size_t split = axis < 0 ? axis + rank : axis;
  return node.finish(
      Composer(node).reshape(x, {numElements(all.take_front(split)), numElements(all.drop_front(split))}));
}

/// All dims that are 1 go. Where data decide whether one is, a run in which it is ends with a status: its result has another rank.
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
  std::optional<Dims> axes = axesOrRead(node, "axes", 1, dims.size(), absent);
  if (!axes && !absent)
    return failure();
  if (absent)
    return squeezeAll(node, x);
  Dims gone = marks(*axes, dims.size());
  for (auto [d, dim] : llvm::enumerate(dims))
    if (gone[d].is(1) && dim.constant() && !dim.is(1))
      return node.refuse("squeezes dim " + Twine(d) + " of " + dim.str() + " elements");
    else
      require(node.b, node.loc, Relation::Equal, dim * gone[d], gone[d]);
  return node.finish(Composer(node).reshape(x, shortened(node, unmarked(dims, gone, dims.size() - axes->size()))));
}

LogicalResult buildUnsqueeze(OnnxNode &node) {
  Value x = node.input(0);
  Dims dims = getDims(x), shape;
  bool absent;
  // The axes are the result's: there is one more dim for each.
  std::optional<Dims> written = intsOrRead(node, "axes", 1, absent);
  if (!written)
    return absent ? node.refuse("needs axes") : failure();
  int64_t rank = dims.size() + written->size();
  std::optional<Dims> axes = axesOrRead(node, "axes", 1, rank, absent);
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
    return node.refuse("concatenates nothing");
  std::optional<int64_t> axis = node.axis(node.getInt("axis", 1), getRank(values[0]));
  return axis ? node.finish(concatInGroups(node, values, *axis)) : failure();
}

LogicalResult buildExpand(OnnxNode &node) {
  std::optional<Dims> shape = node.contentsOrRead(node.input(1));
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
  // One index that is known is a slice: its memory is contiguous, often a view.
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
