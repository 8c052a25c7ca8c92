// SPDX-License-Identifier: Apache-2.0
//
// Shape inference and index arithmetic of the ops in Index.td.
#include "dialects/Graph/Indexing/IndexOps.h"
#include "dialects/Handle/Handle.h"

using namespace mlir;

namespace hewn::graph {

/// Returns an index that was read from a tensor, made safe: adds the extent to a negative index,
/// which counts from the end, and clamps an invalid index, so that no memory outside of the tensor
/// is accessed.
static Index normalizeIndex(ElementBuilder &e, Index index, Index extent) {
  Index zero = e.constant(0);
  index = e.select(e.compare(arith::CmpIPredicate::slt, index, zero), e.add(index, extent), index);
  return e.max(zero, e.min(index, e.sub(extent, e.constant(1))));
}

//===------------------------------------------------------------------------------------------===//
// Tile
//===------------------------------------------------------------------------------------------===//

LogicalResult TileOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> repeats = parseDims(getRepeats());
  Dims dims = dimsOf(getX());
  if (!repeats || repeats->size() != dims.size())
    return emitOpError() << "repeats must have " << dims.size() << " entries";
  for (auto [dim, repeat] : llvm::zip(dims, *repeats)) {
    if (repeat.constant() && *repeat.constant() < 0)
      return emitOpError("repeats must not be negative");
    dim = dim * repeat;
  }
  results.push_back({dims, getElementType(getX())});
  return success();
}

Value TileOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims dims = graph::getDims(getX()), repeats = *parseDims(getRepeats());
  SmallVector<Index> from;
  for (auto [d, dim] : llvm::enumerate(dims))
    from.push_back(dim.is(1) ? e.constant(0) : repeats[d].is(1) ? at[d] : e.mod(at[d], e.expression(dim)));
  return e.read(getX(), from);
}

std::optional<ShardingRule> TileOp::getShardingRule(const DimSharding &cut, const ShardCount &parts) {
  DimExpr dim = graph::getDims(getX())[cut.dim], repeat = (*parseDims(getRepeats()))[cut.dim];
  if (repeat.is(1))
    return ShardingRule{{cut}, ownAttributes(*this)};
  if (dim.is(1))
    return ShardingRule{{std::nullopt}, withPart(*this, "repeats", cut, parts)};
  // The result of a tile op consists of full copies of the operand. A shard therefore has the same
  // number of blocks in each of the copies.
  std::optional<DimExpr> blocks = repeat.is(0) ? std::nullopt : cut.blocks.divideExactly(repeat);
  if (!blocks || blocks->is(0))
    return std::nullopt;
  return ShardingRule{{DimSharding{cut.dim, *blocks}}, ownAttributes(*this)};
}

//===------------------------------------------------------------------------------------------===//
// Gathers
//===------------------------------------------------------------------------------------------===//

LogicalResult GatherElementsOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getIndices());
  if (dims.size() != dimsOf(getX()).size())
    return emitOpError("operand and indices differ in rank");
  if (!normalizeAxis(getAxis(), dims.size()))
    return emitOpError() << "axis " << getAxis() << " is outside of rank " << dims.size();
  results.push_back({dims, getElementType(getX())});
  return success();
}

void GatherElementsOp::requireDims(Requirements &requirements) {
  Dims dims = graph::getDims(getX());
  for (auto [d, dim] : llvm::enumerate(graph::getDims(getIndices())))
    if (int64_t(d) != *normalizeAxis(getAxis(), dims.size()))
      requirements.atMost(dim, dims[d]);
}

Value GatherElementsOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  int64_t axis = *normalizeAxis(getAxis(), at.size());
  SmallVector<Index> from(at);
  from[axis] = normalizeIndex(e, e.fromElement(e.read(getIndices(), at)), e.extent(getX(), axis));
  return e.read(getX(), from);
}

std::optional<ShardingRule> GatherElementsOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  if (cut.dim == *normalizeAxis(getAxis(), getRank(getX())))
    return ShardingRule{{std::nullopt, cut}, ownAttributes(*this)};
  // if the dims of `indices` and x differ, equal shards of both do not have the same elements
  if (graph::getDims(getX())[cut.dim] != graph::getDims(getIndices())[cut.dim])
    return std::nullopt;
  return ShardingRule{{cut, cut}, ownAttributes(*this)};
}

LogicalResult GatherNDOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims x = dimsOf(getX()), indices = dimsOf(getIndices());
  int64_t batch = getBatchDims();
  if (indices.empty() || batch < 0 || batch >= int64_t(indices.size()) || batch >= int64_t(x.size()))
    return emitOpError("batchDims must be less than both ranks");
  std::optional<int64_t> depth = indices.back().constant();
  if (!depth || *depth < 1 || *depth > int64_t(x.size()) - batch)
    return emitOpError("the last dim of the indices must be an index into the operand");
  Dims dims(indices.begin(), indices.end() - 1);
  dims.append(x.begin() + batch + *depth, x.end());
  results.push_back({dims, getElementType(getX())});
  return success();
}

void GatherNDOp::requireDims(Requirements &requirements) {
  Dims dims = graph::getDims(getX()), indices = graph::getDims(getIndices());
  for (unsigned d = 0; d < getBatchDims(); ++d)
    requirements.equal(indices[d], dims[d]);
}

Value GatherNDOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims indices = graph::getDims(getIndices());
  unsigned batch = getBatchDims(), outer = indices.size() - 1;
  SmallVector<Index> from(at.take_front(batch)), row(at.take_front(outer));
  row.push_back({});
  for (int64_t j = 0, depth = *indices.back().constant(); j < depth; ++j) {
    row.back() = e.constant(j);
    from.push_back(normalizeIndex(e, e.fromElement(e.read(getIndices(), row)), e.extent(getX(), batch + j)));
  }
  llvm::append_range(from, at.drop_front(outer));
  return e.read(getX(), from);
}

std::optional<ShardingRule> GatherNDOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  Dims dims = graph::getDims(getX()), indices = graph::getDims(getIndices());
  ShardingRule form{{std::nullopt, std::nullopt}, ownAttributes(*this)};
  int64_t batch = getBatchDims(), outer = indices.size() - 1, depth = *indices.back().constant();
  if (cut.dim < batch && dims[cut.dim] != indices[cut.dim])
    return std::nullopt;
  if (cut.dim < outer)
    form.operands[1] = cut;
  if (cut.dim < batch)
    form.operands[0] = cut;
  if (cut.dim >= outer)
    form.operands[0] = DimSharding{cut.dim - outer + batch + depth, cut.blocks};
  return form;
}

LogicalResult OneHotOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getIndices());
  std::optional<Dims> depth = parseDims(getDepth());
  std::optional<int64_t> axis = normalizeAxis(getAxis(), dims.size() + 1);
  if (!depth || depth->size() != 1 || !axis || dimsOf(getValues()).size() != 1 ||
      !isa<IntegerType>(getElementType(getIndices())))
    return emitOpError("needs integer indices, two values, one depth and an axis of the result");
  dims.insert(dims.begin() + *axis, depth->front());
  results.push_back({dims, getElementType(getValues())});
  return success();
}

void OneHotOp::requireDims(Requirements &requirements) {
  requirements.equal(graph::getDims(getValues())[0], DimExpr(2));
}

Value OneHotOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  int64_t axis = *normalizeAxis(getAxis(), at.size());
  SmallVector<Index> from(at);
  from.erase(from.begin() + axis);
  Index index = e.fromElement(e.read(getIndices(), from)), depth = e.expression(parseDims(getDepth())->front());
  index = e.select(e.compare(arith::CmpIPredicate::slt, index, e.constant(0)), e.add(index, depth), index);
  Value hot = e.compare(arith::CmpIPredicate::eq, at[axis], index);
  return e.selectElement(hot, e.read(getValues(), e.constant(1)), e.read(getValues(), e.constant(0)));
}

std::optional<ShardingRule> OneHotOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  int64_t axis = *normalizeAxis(getAxis(), getRank(getResult()));
  if (cut.dim == axis)
    return std::nullopt;
  return ShardingRule{{DimSharding{cut.dim - int64_t(cut.dim > axis), cut.blocks}, std::nullopt}, ownAttributes(*this)};
}

//===------------------------------------------------------------------------------------------===//
// Triangles, diagonals, ranges
//===------------------------------------------------------------------------------------------===//

LogicalResult TriluOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  std::optional<Dims> k = parseDims(getK());
  if (dims.size() < 2 || !k || k->size() != 1)
    return emitOpError("needs an operand of rank 2 or more and one diagonal");
  results.push_back({dims, getElementType(getX())});
  return success();
}

Value TriluOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Index column = at.back(), diagonal = e.add(at[at.size() - 2], e.expression(parseDims(getK())->front()));
  Value keep = e.compare(getUpper() ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle, column, diagonal);
  return e.selectElement(keep, e.read(getX(), at), e.constantElement(getElementType(getX()), 0));
}

std::optional<ShardingRule> TriluOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  if (cut.dim >= getRank(getX()) - 2)
    return std::nullopt;
  return ShardingRule{{cut}, ownAttributes(*this)};
}

LogicalResult EyeOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> shape = parseDims(getShape());
  if (!shape || shape->size() != 2)
    return emitOpError("needs the shape of a matrix");
  if (handle::isHandle(getElementType()))
    return emitOpError("does not support strings");
  results.push_back({*shape, getElementType()});
  return success();
}

Value EyeOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Value one = e.compare(arith::CmpIPredicate::eq, at[1], e.add(at[0], e.constant(getK())));
  return e.selectElement(one, e.constantElement(getElementType(), 1), e.constantElement(getElementType(), 0));
}

LogicalResult RangeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> count = parseDims(getCount());
  if (!count || count->size() != 1 || !dimsOf(getStart()).empty() || !dimsOf(getDelta()).empty() ||
      graph::getElementType(getStart()) != graph::getElementType(getDelta()))
    return emitOpError("needs two scalars of one type and one count");
  results.push_back({*count, graph::getElementType(getStart())});
  return success();
}

Value RangeOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Type type = graph::getElementType(getStart());
  Value values[] = {e.toElement(at[0], type), e.read(getDelta(), {}), e.read(getStart(), {})};
  e.unify(values);
  if (isa<FloatType>(type))
    return e.b.createOrFold<arith::AddFOp>(e.loc, values[2],
                                           e.b.createOrFold<arith::MulFOp>(e.loc, values[0], values[1]));
  return e.b.createOrFold<arith::AddIOp>(e.loc, values[2],
                                         e.b.createOrFold<arith::MulIOp>(e.loc, values[0], values[1]));
}

LogicalResult DiagonalOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX()), out;
  ArrayRef<int64_t> together = getDims();
  for (auto [i, dim] : llvm::enumerate(together))
    if (dim < 0 || dim >= int64_t(dims.size()) || (i > 0 && together[i - 1] >= dim))
      return emitOpError("dims must be ascending and within the operand's rank");
  if (together.empty())
    return emitOpError("needs a dim");
  out.push_back(dims[together[0]]);
  for (auto [d, dim] : llvm::enumerate(dims))
    if (!llvm::is_contained(together, int64_t(d)))
      out.push_back(dim);
  results.push_back({out, getElementType(getX())});
  return success();
}

void DiagonalOp::requireDims(Requirements &requirements) {
  Dims dims = graph::getDims(getX());
  for (int64_t dim : getDims().drop_front())
    requirements.equal(dims[dim], dims[getDims()[0]]);
}

Value DiagonalOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  SmallVector<Index> from;
  unsigned next = 1;
  for (int64_t d = 0, rank = getRank(getX()); d < rank; ++d)
    from.push_back(llvm::is_contained(getDims(), d) ? at[0] : at[next++]);
  return e.read(getX(), from);
}

std::optional<ShardingRule> DiagonalOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  int64_t next = 0;
  for (int64_t d = 0, rank = getRank(getX()); d < rank; ++d)
    if (!llvm::is_contained(getDims(), d) && ++next == cut.dim)
      return ShardingRule{{DimSharding{d, cut.blocks}}, ownAttributes(*this)};
  return std::nullopt; // the sharded dim is the first one of the result, along the diagonal
}

//===------------------------------------------------------------------------------------------===//
// Reversal, dilation
//===------------------------------------------------------------------------------------------===//

LogicalResult ReverseSequenceOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  size_t rank = dims.size();
  if (rank < 2 || getBatchAxis() >= rank || getTimeAxis() >= rank || getBatchAxis() == getTimeAxis() ||
      dimsOf(getLengths()).size() != 1)
    return emitOpError("requires two different axes of the operand and lengths of rank 1");
  results.push_back({dims, getElementType(getX())});
  return success();
}

void ReverseSequenceOp::requireDims(Requirements &requirements) {
  requirements.equal(graph::getDims(getLengths())[0], graph::getDims(getX())[getBatchAxis()]);
}

Value ReverseSequenceOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Index time = at[getTimeAxis()], zero = e.constant(0);
  Index length = e.fromElement(e.read(getLengths(), at[getBatchAxis()]));
  Index mirrored = e.sub(e.sub(length, e.constant(1)), time);
  mirrored = e.max(zero, e.min(mirrored, e.sub(e.extent(getX(), getTimeAxis()), e.constant(1))));
  SmallVector<Index> from(at);
  from[getTimeAxis()] = e.select(e.compare(arith::CmpIPredicate::slt, time, length), mirrored, time);
  return e.read(getX(), from);
}

std::optional<ShardingRule> ReverseSequenceOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  ShardingRule form{{cut, std::nullopt}, ownAttributes(*this)};
  if (cut.dim == int64_t(getTimeAxis()))
    return std::nullopt;
  if (cut.dim == int64_t(getBatchAxis())) {
    if (graph::getDims(getLengths())[0] != graph::getDims(getX())[cut.dim])
      return std::nullopt;
    form.operands[1] = DimSharding{0, cut.blocks};
  }
  return form;
}

LogicalResult DilateOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  if (getFactors().size() != dims.size() || llvm::any_of(getFactors(), [](int64_t f) { return f < 1; }))
    return emitOpError() << "factors must be " << dims.size() << " positive numbers";
  for (auto [dim, factor] : llvm::zip(dims, getFactors()))
    if (factor != 1)
      dim = (dim - DimExpr(1)) * DimExpr(factor) + DimExpr(1);
  results.push_back({dims, getElementType(getX())});
  return success();
}

Value DilateOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  SmallVector<Index> from(at);
  Value inside;
  for (auto [d, factor] : llvm::enumerate(getFactors())) {
    if (factor == 1)
      continue;
    Index step = e.constant(factor);
    from[d] = e.floorDiv(at[d], step);
    inside = e.logicalAnd(inside, e.compare(arith::CmpIPredicate::eq, e.mul(from[d], step), at[d]));
  }
  if (!inside)
    return e.read(getX(), from);
  return e.readIf(inside, getX(), from, e.constantElement(getElementType(getX()), 0));
}

std::optional<ShardingRule> DilateOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  if (getFactors()[cut.dim] != 1)
    return std::nullopt;
  return ShardingRule{{cut}, ownAttributes(*this)};
}

} // namespace hewn::graph
