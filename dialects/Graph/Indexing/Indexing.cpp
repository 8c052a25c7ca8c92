// SPDX-License-Identifier: Apache-2.0
//
// Shape inference and index arithmetic of the ops in Indexing.td.
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Indexing/MemoryRun.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace hewn::graph {

/// Returns the dims in an attribute of `op`. Emits an op error and fails if the attribute is
/// malformed.
static FailureOr<Dims> dimsFrom(Operation *op, ArrayAttr attr, StringRef name) {
  std::optional<Dims> dims = parseDims(attr);
  if (!dims)
    return op->emitOpError() << "attribute '" << name << "' must be a list of integers and expressions";
  return *dims;
}

//===------------------------------------------------------------------------------------------===//
// Transpose
//===------------------------------------------------------------------------------------------===//

LogicalResult TransposeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX()), out;
  SmallVector<bool> seen(dims.size(), false);
  for (int64_t dim : getOrder()) {
    if (dim < 0 || dim >= int64_t(dims.size()) || seen[dim])
      return emitOpError("order must name each of the operand's dims once");
    seen[dim] = true;
    out.push_back(dims[dim]);
  }
  if (out.size() != dims.size())
    return emitOpError("order must name each of the operand's dims once");
  results.push_back({out, getElementType(getX())});
  return success();
}

Value TransposeOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  SmallVector<Index> from(at.size());
  for (auto [i, dim] : llvm::enumerate(getOrder()))
    from[dim] = at[i];
  return e.read(getX(), from);
}

/// Folds identity transposes, and pairs of transposes that undo each other. If they were kept, they
/// would become views at best, and a view between two ops prevents their fusion.
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  auto numbers = llvm::seq<int64_t>(0, int64_t(getOrder().size()));
  if (llvm::equal(getOrder(), numbers) && getX().getType() == getResult().getType())
    return getX();
  auto inner = getX().getDefiningOp<TransposeOp>();
  if (!inner || inner.getX().getType() != getResult().getType())
    return {};
  auto whole = llvm::map_range(getOrder(), [&](int64_t dim) { return inner.getOrder()[size_t(dim)]; });
  return llvm::equal(whole, numbers) ? OpFoldResult(inner.getX()) : OpFoldResult();
}
ViewKind TransposeOp::getViewKind() { return ViewKind::Transpose; }
SmallVector<int64_t> TransposeOp::getViewOrder() { return llvm::to_vector(getOrder()); }
std::optional<ShardingRule> TransposeOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  return ShardingRule{{DimSharding{getOrder()[cut.dim], cut.blocks}}, ownAttributes(*this)};
}

//===------------------------------------------------------------------------------------------===//
// Reshape
//===------------------------------------------------------------------------------------------===//

LogicalResult ReshapeOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  FailureOr<Dims> shape = dimsFrom(*this, getShape(), "shape");
  if (failed(shape))
    return failure();
  DimExpr before = numElements(dimsOf(getX())), after = numElements(*shape);
  if (before.constant() && after.constant() && before != after)
    return emitOpError() << "reshapes " << before.str() << " elements into " << after.str();
  results.push_back({*shape, getElementType(getX())});
  return success();
}

Value ReshapeOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims from = graph::getDims(getX()), to = *parseDims(getShape());
  SmallVector<Index> source(from.size());
  for (auto &[operandDims, resultDims] : reshapeRuns(from, to)) {
    Index linear = e.constant(0);
    for (unsigned dim : resultDims)
      linear = to[dim].is(1) ? linear : e.add(e.mul(linear, e.expression(to[dim])), at[dim]);
    for (unsigned k = operandDims.size(); k-- > 0;) {
      unsigned dim = operandDims[k];
      bool last = llvm::all_of(ArrayRef(operandDims).take_front(k), [&](unsigned d) { return from[d].is(1); });
      if (from[dim].is(1)) {
        source[dim] = e.constant(0);
      } else if (last) {
        source[dim] = linear;
        linear = e.constant(0);
      } else {
        Index size = e.expression(from[dim]);
        source[dim] = e.mod(linear, size);
        linear = e.floorDiv(linear, size);
      }
    }
  }
  return e.read(getX(), source);
}

ViewKind ReshapeOp::getViewKind() { return ViewKind::Reshape; }

/// Returns the number of elements of the dims `begin` to `end` - 1 together, which belong to a
/// group of dims that a reshape merges or splits.
static DimExpr product(ArrayRef<unsigned> which, const Dims &dims, size_t begin, size_t end) {
  return numElements(llvm::map_to_vector(which.slice(begin, end - begin), [&](unsigned d) { return dims[d]; }));
}

/// Finds the operand dim that must be sharded if the result of a reshape is sharded along a dim.
/// The operand dim is in the group of dims that the reshape maps to the result dim. The shard of
/// the operand must have the same elements, in row-major order, as the shard of the result. For
/// example, sharding the merged dim n * seq by n is sharding n, with seq elements each; sharding
/// seq * n by n is sharding n in seq blocks.
std::optional<ShardingRule> ReshapeOp::getShardingRule(const DimSharding &cut, const ShardCount &parts) {
  Dims from = getDims(getX()), to = getDims(getResult());
  SmallVector<ReshapeRun> runs = reshapeRuns(from, to);
  auto run = llvm::find_if(runs, [&](const ReshapeRun &r) { return llvm::is_contained(r.resultDims, cut.dim); });
  if (run == runs.end())
    return std::nullopt;
  auto &[operandDims, resultDims] = *run;
  auto whole = [](ArrayRef<unsigned> dims, const Dims &of, const DimExpr &size) {
    return llvm::find_if(dims, [&](unsigned d) { return of[d] == size; });
  };
  auto areOnes = [](ArrayRef<unsigned> dims, const Dims &of, unsigned but) {
    return llvm::all_of(dims, [&](unsigned d) { return d == but || of[d].is(1); });
  };
  if (auto *same = whole(operandDims, from, to[cut.dim]);
      same != operandDims.end() && areOnes(operandDims, from, *same) && areOnes(resultDims, to, unsigned(cut.dim)))
    return ShardingRule{{DimSharding{*same, cut.blocks}}, withPart(*this, "shape", cut, parts)};
  size_t place = llvm::find(resultDims, unsigned(cut.dim)) - resultDims.begin();
  DimExpr before = product(resultDims, to, 0, place) * cut.blocks,
          after = product(resultDims, to, place + 1, resultDims.size());
  std::optional<DimExpr> grain = grainOf(to[cut.dim], cut, parts);
  for (auto [i, dim] : llvm::enumerate(operandDims)) {
    DimExpr outer = product(operandDims, from, 0, i), inner = product(operandDims, from, i + 1, operandDims.size());
    std::optional<DimExpr> blocks = before.divideExactly(outer);
    if (!grain || !blocks || blocks->is(0) || from[dim].is(1) || !(*grain * after).divideExactly(inner))
      continue;
    DimSharding own{dim, *blocks};
    std::optional<DimExpr> size = shardSize(from[dim], own, parts);
    if (size && outer * *size * inner ==
                    before.divideExactly(cut.blocks).value_or(DimExpr(0)) * after * *shardSize(to[cut.dim], cut, parts))
      return ShardingRule{{own}, withPart(*this, "shape", cut, parts)};
  }
  return std::nullopt;
}

//===------------------------------------------------------------------------------------------===//
// Slice, concat, expand
//===------------------------------------------------------------------------------------------===//

LogicalResult SliceOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  FailureOr<Dims> offsets = dimsFrom(*this, getOffsets(), "offsets"), sizes = dimsFrom(*this, getSizes(), "sizes");
  if (failed(offsets) || failed(sizes))
    return failure();
  Dims dims = dimsOf(getX());
  if (offsets->size() != dims.size() || sizes->size() != dims.size() || getSteps().size() != dims.size())
    return emitOpError() << "offsets, sizes and steps must have " << dims.size() << " entries";
  for (auto [dim, offset, size, step] : llvm::zip(dims, *offsets, *sizes, getSteps())) {
    if (!dim.constant() || !offset.constant() || !size.constant() || size.is(0))
      continue;
    int64_t first = *offset.constant(), last = first + (*size.constant() - 1) * step;
    if (std::min(first, last) < 0 || std::max(first, last) >= *dim.constant())
      return emitOpError() << "reads elements " << first << " to " << last << " of a dim of size " << dim.str();
  }
  results.push_back({*sizes, getElementType(getX())});
  return success();
}

Value SliceOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims offsets = *parseDims(getOffsets());
  SmallVector<Index> from;
  for (auto [i, index] : llvm::enumerate(at))
    from.push_back(e.add(e.mul(index, e.constant(getSteps()[i])), e.expression(offsets[i])));
  return e.read(getX(), from);
}

/// The sharding rule of a slice. A slice can be sharded along a dim that it takes in full, or if it
/// takes full blocks of the operand's dim: the blocks that a shard of the result consists of are
/// then blocks of the operand.
std::optional<ShardingRule> SliceOp::getShardingRule(const DimSharding &cut, const ShardCount &parts) {
  DimExpr first = (*parseDims(getOffsets()))[cut.dim], dim = getDims(getX())[cut.dim],
          taken = getDims(getResult())[cut.dim];
  if (getSteps()[cut.dim] != 1)
    return std::nullopt;
  SmallVector<NamedAttribute> attributes = withPart(*this, "sizes", cut, parts);
  if (first.is(0) && taken == dim)
    return ShardingRule{{cut}, std::move(attributes)};
  std::optional<DimExpr> block = taken.divideExactly(cut.blocks), share = shardSize(taken, cut, parts);
  if (!block || !share || block->is(0))
    return std::nullopt;
  std::optional<DimExpr> before = first.divideExactly(*block), blocks = dim.divideExactly(*block),
                         shareOfBlock = share->divideExactly(cut.blocks);
  if (!before || !blocks || !shareOfBlock || blocks->is(0))
    return std::nullopt;
  for (NamedAttribute &attr : attributes)
    if (attr.getName() == getOffsetsAttrName()) {
      Dims offsets = *parseDims(attr.getValue());
      offsets[cut.dim] = *before * *shareOfBlock;
      attr.setValue(dimsAttr(getContext(), offsets));
    }
  return ShardingRule{{DimSharding{cut.dim, *blocks}}, std::move(attributes)};
}

/// Requires valid bounds of a slice along each dim, even if another dim is 0, so that the slice
/// reads nothing.
void SliceOp::requireDims(Requirements &requirements) {
  Dims dims = graph::getDims(getX()), offsets = *parseDims(getOffsets()), sizes = *parseDims(getSizes());
  for (auto [dim, offset, size, step] : llvm::zip(dims, offsets, sizes, getSteps()))
    if (step == 1)
      requirements.atMost(offset + size, dim);
}

/// Returns the row-major index in x of the first element of the slice, if the slice is contiguous
/// in x. Condition: dims before the sliced one have size 1 in the result, and dims after it are
/// taken in full.
static std::optional<DimExpr> firstOfRun(SliceOp op) {
  Dims dims = getDims(op.getX()), offsets = *parseDims(op.getOffsets()), sizes = *parseDims(op.getSizes());
  size_t cut = 0;
  while (cut + 1 < dims.size() && sizes[cut].is(1))
    ++cut;
  DimExpr first(0), stride(1);
  for (size_t d = dims.size(); d-- > 0;) {
    bool isWhole = offsets[d].is(0) && sizes[d] == dims[d];
    if (d > cut ? !isWhole : op.getSteps()[d] != 1 && !sizes[d].is(1))
      return std::nullopt; // the slice is not contiguous in x
    first = first + offsets[d] * stride;
    stride = stride * dims[d];
  }
  return first;
}

/// Returns the row-major index in operand 0 of the first element of a slice or reshape, if its
/// result is contiguous in that operand. Returns nullopt otherwise.
static std::optional<DimExpr> firstOfMove(Operation *maker) {
  if (auto slice = dyn_cast<SliceOp>(maker))
    return firstOfRun(slice);
  auto move = dyn_cast<IndexingOpInterface>(maker);
  return move && move.getViewKind() == ViewKind::Reshape ? std::optional(DimExpr(0)) : std::nullopt;
}

MemoryRun MemoryRuns::of(Value value) {
  // The values that lead from `value` to `whole`, each a contiguous range of the next one, with the
  // index of its first element there.
  SmallVector<std::pair<Value, DimExpr>> way;
  MemoryRun run{value, DimExpr(0)};
  while (true) {
    if (auto known = found.find(run.whole); known != found.end()) {
      run = known->second;
      break;
    }
    Operation *maker = run.whole.getDefiningOp();
    std::optional<DimExpr> first = maker ? firstOfMove(maker) : std::nullopt;
    if (!first)
      break;
    way.push_back({run.whole, *first});
    run.whole = maker->getOperand(0);
  }
  for (auto &[moved, first] : llvm::reverse(way)) {
    run.first = run.first + first;
    found.try_emplace(moved, run);
  }
  return run;
}

LogicalResult ConcatOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (getInputs().empty())
    return emitOpError("needs an operand");
  Dims dims = dimsOf(getInputs()[0]);
  std::optional<int64_t> axis = normalizeAxis(getAxis(), dims.size());
  if (!axis)
    return emitOpError() << "axis " << getAxis() << " is outside of rank " << dims.size();
  SmallVector<DimExpr> lengths = {dims[*axis]};
  for (Value other : getInputs().drop_front()) {
    Dims more = dimsOf(other);
    if (more.size() != dims.size())
      return emitOpError("operands differ in rank");
    for (auto [d, dim] : llvm::enumerate(more)) {
      if (int64_t(d) == *axis)
        lengths.push_back(dim);
      else if (!dims[d].constant() && dim.constant())
        dims[d] = dim;
      else if (dims[d].constant() && dim.constant() && dims[d] != dim)
        return emitOpError() << "operands differ in dim " << d << ": " << dims[d].str() << " and " << dim.str();
    }
  }
  dims[*axis] = DimExpr::sum(lengths);
  results.push_back({dims, getElementType(getInputs()[0])});
  return success();
}

int64_t ConcatOp::getConcatDim() { return *normalizeAxis(getAxis(), getRank(getResult())); }
std::optional<ShardingRule> ConcatOp::getShardingRule(const DimSharding &cut, const ShardCount &parts) {
  ShardingRule form{{}, ownAttributes(*this)};
  if (getConcatDim() != cut.dim) {
    form.operands.assign(getInputs().size(), cut);
    return form;
  }
  std::optional<DimExpr> block = getDims(getResult())[cut.dim].divideExactly(cut.blocks);
  for (Value operand : getInputs()) {
    std::optional<DimExpr> blocks =
        block && !block->is(0) ? getDims(operand)[cut.dim].divideExactly(*block) : std::nullopt;
    if (!blocks || blocks->is(0) || !shardSize(getDims(operand)[cut.dim], {cut.dim, *blocks}, parts))
      return std::nullopt;
    form.operands.push_back(DimSharding{cut.dim, *blocks});
  }
  return form;
}

Value ConcatOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  int64_t axis = *normalizeAxis(getAxis(), at.size());
  if (std::optional<ElementBuilder::Subview> subview = e.subviewOf(*this)) {
    SmallVector<Index> from(at);
    from[axis] = e.sub(at[axis], subview->start);
    return e.read(getInputs()[subview->operand], from);
  }
  // Emits one select per operand of a concat, except for the last operand. The selects are nested:
  // the last operand is the innermost alternative, so its element is the start value.
  SmallVector<Index> starts;
  Index start = e.constant(0);
  for (Value operand : getInputs()) {
    starts.push_back(start);
    start = e.add(start, e.extent(operand, axis));
  }
  Value result;
  for (unsigned k = getInputs().size(); k-- > 0;) {
    SmallVector<Index> from(at);
    from[axis] = e.sub(at[axis], starts[k]);
    Value inside = e.inBounds(from[axis], e.extent(getInputs()[k], axis));
    Value fill = result ? result : e.constantElement(getElementType(getResult()), 0);
    result = e.readIf(inside, getInputs()[k], from, fill);
  }
  return result;
}

LogicalResult ExpandOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  FailureOr<Dims> shape = dimsFrom(*this, getShape(), "shape");
  if (failed(shape))
    return failure();
  std::optional<Dims> dims = broadcastDims({dimsOf(getX()), *shape});
  if (!dims)
    return emitOpError("operand does not broadcast to the shape");
  results.push_back({*dims, getElementType(getX())});
  return success();
}

Value ExpandOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims from = graph::getDims(getX()), to = graph::getDims(getResult());
  SmallVector<Index> source;
  for (auto [i, dim] : llvm::enumerate(from)) {
    unsigned outer = to.size() - from.size() + i;
    if (dim.is(1))
      source.push_back(e.constant(0));
    else if (dim == to[outer])
      source.push_back(at[outer]);
    else // dynamic operand dim of an expand: at run time, it is 1 or the result's dim
      source.push_back(e.min(at[outer], e.sub(e.expression(dim), e.constant(1))));
  }
  return e.read(getX(), source);
}

void ExpandOp::requireDims(Requirements &requirements) {
  Dims from = graph::getDims(getX()), to = graph::getDims(getResult());
  for (size_t i = 1; i <= from.size(); ++i)
    requirements.broadcast(from[from.size() - i], to[to.size() - i]);
}

bool ExpandOp::getIsBroadcast() { return true; }

std::optional<ShardingRule> ExpandOp::getShardingRule(const DimSharding &cut, const ShardCount &parts) {
  Dims from = getDims(getX()), to = getDims(getResult());
  ShardingRule form{{std::nullopt}, withPart(*this, "shape", cut, parts)};
  int64_t dim = cut.dim - int64_t(to.size() - from.size());
  if (dim < 0 || (from[dim].is(1) && !to[cut.dim].is(1)))
    return form;
  if (from[dim] != to[cut.dim])
    return std::nullopt;
  form.operands[0] = DimSharding{dim, cut.blocks};
  return form;
}

//===------------------------------------------------------------------------------------------===//
// Pad, split-K spread, window
//===------------------------------------------------------------------------------------------===//

LogicalResult PadOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  FailureOr<Dims> low = dimsFrom(*this, getLow(), "low"), high = dimsFrom(*this, getHigh(), "high");
  if (failed(low) || failed(high))
    return failure();
  Dims dims = dimsOf(getX());
  if (low->size() != dims.size() || high->size() != dims.size())
    return emitOpError() << "low and high must have " << dims.size() << " entries";
  if (!llvm::is_contained({"constant", "reflect", "edge", "wrap"}, getMode()))
    return emitOpError() << "mode '" << getMode() << "' is none of constant, reflect, edge, wrap";
  if (getValue() && (getRank(getValue()) != 0 || getElementType(getValue()) != getElementType(getX())))
    return emitOpError("value must be a scalar of the operand's element type");
  for (auto [d, dim, l, h] : llvm::enumerate(dims, *low, *high)) {
    for (const DimExpr &added : {l, h})
      if (getMode() == "reflect" && added.constant().value_or(0) > 0 && dim.constant() &&
          *added.constant() >= *dim.constant())
        return emitOpError() << "reflects " << added.str() << " elements at an end of dim " << d << ", which has "
                             << dim.str();
    dim = dim + l + h;
    if (dim.constant() && *dim.constant() < 0)
      return emitOpError("crops more elements than the dim has");
  }
  results.push_back({dims, getElementType(getX())});
  return success();
}

/// Returns `index` modulo `extent`, for an index in [-reach, extent + reach). For a small `reach`,
/// emits the conditional subtractions of a long division: a division instruction takes longer, and
/// there is none for vectors.
static Index wrapIndex(ElementBuilder &e, Index index, Index extent, std::optional<int64_t> reach) {
  constexpr int64_t maxReach = 15;
  extent = e.max(extent, e.constant(1));
  if (!reach || *reach > maxReach)
    return e.mod(index, extent);
  int64_t multiple = int64_t(llvm::bit_floor(uint64_t(*reach))) * 2; // more than `reach`
  Index rest = e.add(index, e.mul(extent, e.constant(multiple)));    // in [0, 2 * multiple * extent)
  for (; multiple > 0; multiple /= 2) {
    Index step = e.mul(extent, e.constant(multiple));
    rest = e.select(e.compare(arith::CmpIPredicate::slt, rest, step), rest, e.sub(rest, step));
  }
  return e.max(e.constant(0), e.min(rest, e.sub(extent, e.constant(1)))); // as below
}

/// Returns the operand index that reflect, edge or wrap padding reads for the result index `index`.
/// `reach`: the index is outside of [0, extent) by at most this constant, if there is one. `once`:
/// it is outside by at most `extent`, so that it wraps around once.
static Index foldIndex(ElementBuilder &e, StringRef mode, Index index, Index extent, std::optional<int64_t> reach,
                       bool once) {
  Index zero = e.constant(0), one = e.constant(1), last = e.sub(extent, one);
  Value isBelow = e.compare(arith::CmpIPredicate::slt, index, zero),
        isInside = e.compare(arith::CmpIPredicate::slt, index, extent);
  if (getConstantIntValue(isBelow) == 0 && getConstantIntValue(isInside) == 1)
    return index;
  if (mode == "wrap" && once) {
    Index turned = e.select(isBelow, e.add(index, extent), e.select(isInside, index, e.sub(index, extent)));
    // The clamp does not change the index, which is in bounds already. It gives the index a range
    // for the access analysis, which ignores selects.
    return e.max(zero, e.min(turned, last));
  }
  if (mode == "wrap")
    return wrapIndex(e, index, extent, reach);
  if (mode == "reflect") {
    Index away = e.max(index, e.sub(zero, index));
    return e.max(zero, e.min(away, e.sub(e.add(last, last), away)));
  }
  return e.max(zero, e.min(index, last));
}

Value PadOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims low = *parseDims(getLow()), high = *parseDims(getHigh()), dims = graph::getDims(getX());
  auto isLess = [](const DimExpr &x, const DimExpr &y) { return isNonNegative(y - x - DimExpr(1)); };
  // the padding of one end, 0 if that end is cropped
  auto added = [](const DimExpr &pad) { return isNonNegative(DimExpr(0) - pad) ? 0 : pad.constant(); };
  auto larger = [](std::optional<int64_t> x, std::optional<int64_t> y) {
    return x && y ? std::optional(std::max(*x, *y)) : std::nullopt;
  };
  SmallVector<Index> from;
  Value inside;
  for (auto [d, index] : llvm::enumerate(at)) {
    Index source = e.sub(index, e.expression(low[d]));
    if (!low[d].is(0) || !high[d].is(0)) {
      if (getMode() == "constant")
        inside = e.logicalAnd(inside, e.inBounds(source, e.extent(getX(), d)));
      else
        source = foldIndex(e, getMode(), source, e.extent(getX(), d), larger(added(low[d]), added(high[d])),
                           isLess(low[d], dims[d]) && isLess(high[d], dims[d]));
    }
    from.push_back(source);
  }
  if (!inside)
    return e.read(getX(), from);
  Value fill = getValue() ? e.read(getValue(), {}) : e.constantElement(getElementType(getX()), 0);
  return e.readIf(inside, getX(), from, fill);
}

std::optional<SmallVector<int64_t>> PadOp::getZeroPadding() {
  if (getMode() != "constant" || getValue())
    return std::nullopt;
  SmallVector<int64_t> border;
  for (auto [low, high] : llvm::zip(*parseDims(getLow()), *parseDims(getHigh()))) {
    if (low.constant().value_or(-1) < 0 || high.constant().value_or(-1) < 0)
      return std::nullopt;
    border.push_back(*low.constant());
  }
  return border;
}

std::optional<ShardingRule> PadOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  if (!(*parseDims(getLow()))[cut.dim].is(0) || !(*parseDims(getHigh()))[cut.dim].is(0))
    return std::nullopt;
  ShardingRule form{{cut}, ownAttributes(*this)};
  form.operands.resize((*this)->getNumOperands());
  return form;
}

LogicalResult SpreadOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (int64_t(getParts()) < 1)
    return emitOpError("requires at least one part");
  Dims dims = {DimExpr(int64_t(getParts()))};
  llvm::append_range(dims, dimsOf(getX()));
  results.push_back({dims, getElementType(getX())});
  return success();
}

Value SpreadOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Value inside = e.inBounds(at[0], e.constant(1));
  return e.readIf(inside, getX(), at.drop_front(), e.constantElement(getElementType(getX()), 0));
}

int64_t SpreadOp::getNumSplits() { return int64_t(getParts()); }

LogicalResult WindowOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  FailureOr<Dims> sizes = dimsFrom(*this, getSizes(), "sizes");
  if (failed(sizes))
    return failure();
  Dims dims = dimsOf(getX());
  size_t n = getKernel().size();
  if (n > dims.size() || sizes->size() != n || getStrides().size() != n || getDilations().size() != n ||
      getLow().size() != n)
    return emitOpError("kernel, strides, dilations, low and sizes must have one "
                       "entry per windowed dim");
  dims.truncate(dims.size() - n);
  llvm::append_range(dims, *sizes);
  for (int64_t k : getKernel())
    dims.push_back(DimExpr(k));
  results.push_back({dims, getElementType(getX())});
  return success();
}

Value WindowOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims dims = graph::getDims(getX()), sizes = *parseDims(getSizes());
  unsigned n = getKernel().size(), leading = dims.size() - n;
  SmallVector<Index> from(at.take_front(leading));
  Value inside;
  for (unsigned i = 0; i < n; ++i) {
    Index source = e.sub(e.add(e.mul(at[leading + i], e.constant(getStrides()[i])),
                               e.mul(at[leading + n + i], e.constant(getDilations()[i]))),
                         e.constant(getLow()[i]));
    // Compares the last element of the last window with the operand's end. If that element is
    // inside of the operand, no read of a window element needs a bounds check at this end.
    DimExpr last = (sizes[i] - DimExpr(1)) * DimExpr(getStrides()[i]) +
                   DimExpr((getKernel()[i] - 1) * getDilations()[i] - getLow()[i]);
    std::optional<int64_t> room = (dims[leading + i] - DimExpr(1) - last).constant();
    if (getLow()[i] > 0 || !room || *room < 0)
      inside = e.logicalAnd(inside, e.inBounds(source, e.extent(getX(), leading + i)));
    from.push_back(source);
  }
  if (!inside)
    return e.read(getX(), from);
  return e.readIf(inside, getX(), from, e.constantElement(getElementType(getX()), getFill().convertToDouble()));
}

std::optional<ShardingRule> WindowOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  if (cut.dim >= getRank(getX()) - int64_t(getKernel().size()))
    return std::nullopt;
  return ShardingRule{{cut}, ownAttributes(*this)};
}

//===------------------------------------------------------------------------------------------===//
// Gather
//===------------------------------------------------------------------------------------------===//

LogicalResult GatherOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims data = dimsOf(getX()), indices = dimsOf(getIndices());
  std::optional<int64_t> axis = normalizeAxis(getAxis(), data.size());
  if (!axis)
    return emitOpError() << "axis " << getAxis() << " is outside of rank " << data.size();
  Dims dims(data.begin(), data.begin() + *axis);
  llvm::append_range(dims, indices);
  dims.append(data.begin() + *axis + 1, data.end());
  results.push_back({dims, getElementType(getX())});
  return success();
}

Value GatherOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  int64_t axis = *normalizeAxis(getAxis(), getRank(getX())), rank = getRank(getIndices());
  Index extent = e.extent(getX(), axis), zero = e.constant(0);
  Index picked = e.fromElement(e.read(getIndices(), at.slice(axis, rank)));
  picked = e.select(e.compare(arith::CmpIPredicate::slt, picked, zero), e.add(picked, extent), picked);
  // The index of a gather is clamped although a separate op checks all indices before this kernel
  // runs. The access analysis needs the clamp to prove that no read is out of bounds.
  picked = e.max(zero, e.min(picked, e.sub(extent, e.constant(1))));
  SmallVector<Index> from(at.take_front(axis));
  from.push_back(picked);
  llvm::append_range(from, at.drop_front(axis + rank));
  return e.read(getX(), from);
}

std::optional<int64_t> GatherOp::getLookedUpDim() { return normalizeAxis(getAxis(), getRank(getX())); }

std::optional<ShardingRule> GatherOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  int64_t axis = *normalizeAxis(getAxis(), getRank(getX())), rank = getRank(getIndices());
  ShardingRule form{{std::nullopt, std::nullopt}, ownAttributes(*this)};
  if (cut.dim >= axis && cut.dim < axis + rank)
    form.operands[1] = DimSharding{cut.dim - axis, cut.blocks};
  else
    form.operands[0] = DimSharding{cut.dim < axis ? cut.dim : cut.dim - rank + 1, cut.blocks};
  return form;
}

} // namespace hewn::graph
