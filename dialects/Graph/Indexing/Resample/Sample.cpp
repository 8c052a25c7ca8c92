// SPDX-License-Identifier: Apache-2.0
//
// Shape inference and index arithmetic of the sampling ops.
#include "dialects/Graph/Indexing/Resample/Positions.h"
#include "dialects/Graph/Indexing/Resample/SampleOps.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace hewn::graph {

namespace {
/// A tap of an interpolation: an operand index along one dim, with its weight. `inside` is the
/// condition that the index is in bounds, or null if it always is.
struct SampleTap {
  Index index;
  Value weight, inside;
};
} // namespace

/// Returns the interpolated element of x: the sum over all combinations of one tap (index and
/// weight) per interpolated dim, of the element of x at these indices times the weights of the
/// taps. `from` has the indices of the dims before the interpolated ones.
static Value sumTaps(Positions &p, Value x, ArrayRef<SmallVector<SampleTap>> taps, SmallVector<Index> from,
                     Value weight, Value inside) {
  ElementBuilder &e = p.e;
  if (taps.empty()) {
    Value element = inside ? e.readIf(inside, x, from, e.constantElement(getElementType(x), 0)) : e.read(x, from);
    return weight ? p.mul(weight, element) : element;
  }
  Value sum;
  for (const SampleTap &tap : taps.front()) {
    SmallVector<Index> next(from);
    next.push_back(tap.index);
    Value product = !tap.weight ? weight : weight ? p.mul(weight, tap.weight) : tap.weight;
    Value term = sumTaps(p, x, taps.drop_front(), next, product, e.logicalAnd(inside, tap.inside));
    sum = sum ? p.add(sum, term) : term;
  }
  return sum;
}

static Index clampIndex(ElementBuilder &e, Index index, Index extent) {
  return e.max(e.constant(0), e.min(index, e.sub(extent, e.constant(1))));
}

//===------------------------------------------------------------------------------------------===//
// GridSample
//===------------------------------------------------------------------------------------------===//

LogicalResult GridSampleOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims x = dimsOf(getX()), grid = dimsOf(getGrid());
  if (x.size() < 3 || grid.size() != x.size() || !grid.back().is(int64_t(x.size()) - 2))
    return emitOpError("the grid must have the operand's rank and one coordinate per spatial dim in its last dim");
  if (!isa<FloatType>(getElementType(getX())) || !isa<FloatType>(getElementType(getGrid())))
    return emitOpError("requires floats");
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, getMode()) ||
      !llvm::is_contained({"zeros", "border", "reflection"}, getPadding()))
    return emitOpError() << "mode '" << getMode() << "' with padding '" << getPadding() << "' is not supported";
  Dims dims = {x[0], x[1]};
  dims.append(grid.begin() + 1, grid.end() - 1);
  std::optional<int64_t> elements = numElements(dims).constant();
  for (auto [d, dim] : llvm::enumerate(ArrayRef(x).drop_front(2)))
    if (dim.is(0) && elements && *elements != 0)
      return emitOpError() << "samples along dim " << d + 2 << ", which has no elements";
  results.push_back({dims, getElementType(getX())});
  return success();
}

void GridSampleOp::requireDims(Requirements &requirements) {
  Dims x = graph::getDims(getX());
  requirements.equal(graph::getDims(getGrid())[0], x[0]);
  // A GridSample reads the nearest elements of x: if the result has elements, x must have at least
  // one element along each sampled dim.
  for (const DimExpr &dim : ArrayRef<DimExpr>(x).drop_front(2))
    requirements.atMost(DimExpr::min(DimExpr(1), numElements(graph::getDims(getResult()))), dim);
}

static Value clampPosition(Positions &p, Value position, Value low, Value high) {
  position = p.select(p.compare(arith::CmpFPredicate::OLT, position, low), low, position);
  return p.select(p.compare(arith::CmpFPredicate::OGT, position, high), high, position);
}

/// Applies the padding mode of a GridSample to a position. `reach` is the distance of the farthest
/// element whose weight is not 0. The edges of the tensor are at the centers of the outermost
/// elements if `align` is set, and half an element farther out otherwise.
static Value padPosition(Positions &p, StringRef padding, bool align, int64_t reach, Value position, Value extent) {
  Value last = p.sub(extent, p.constant(1));
  // If the padding repeats the edge elements, padTap clamps each tap separately. Here, a position
  // far outside is only clamped to the nearest position at which all of its taps are outside, where
  // the result is the same.
  if (padding == "border")
    return clampPosition(p, position, p.constant(double(-reach)), p.add(last, p.constant(double(reach))));
  if (padding != "reflection")
    return position;
  // Reflects the position's distance from the low edge into the tensor: beyond each edge, the
  // reflected position ascends and descends in alternate spans.
  Value low = p.constant(align ? 0 : -0.5), span = p.max(align ? last : extent, p.constant(1));
  Value high = p.add(low, span), distance = p.abs(p.sub(position, low));
  Value spans = p.floor(p.div(distance, span)), rest = p.sub(distance, p.mul(spans, span));
  Value half = p.mul(spans, p.constant(0.5));
  Value even = p.compare(arith::CmpFPredicate::OEQ, p.floor(half), half);
  return p.select(even, p.add(low, rest), p.sub(high, rest));
}

/// Applies the padding mode of a GridSample to one tap. The position of the tap has been padded by
/// `padPosition`, but the tap may still be outside of the tensor.
static SampleTap padTap(ElementBuilder &e, StringRef padding, bool align, Index index, Index extent, Value weight) {
  if (padding == "zeros")
    return {index, weight, e.inBounds(index, extent)};
  if (padding == "reflection") {
    constexpr int64_t fewOutside = 3; // taps of a reflected position are outside by less than this
    Index one = e.constant(1), last = e.sub(extent, one);
    Index span = e.max(align ? last : extent, one), period = e.add(span, span);
    bool once = getConstantIntValue(extent.base).value_or(0) >= fewOutside;
    Index phase = once ? e.max(index, e.sub(e.constant(align ? 0 : -1), index)) : e.mod(index, period);
    index = e.min(phase, e.sub(align ? period : e.sub(period, one), phase));
  }
  return {clampIndex(e, index, extent), weight, {}};
}

static SmallVector<SampleTap> tapsBeside(Positions &p, GridSampleOp op, Value position, Index extent) {
  ElementBuilder &e = p.e;
  bool align = op.getAlignCorners();
  if (op.getMode() == "nearest") {
    Value whole = e.b.createOrFold<math::RoundEvenOp>(e.loc, position);
    whole = padPosition(p, op.getPadding(), align, 0, whole, p.of(extent));
    return {padTap(e, op.getPadding(), align, p.toIndex(whole), extent, {})};
  }
  bool cubic = op.getMode() == "cubic";
  position = padPosition(p, op.getPadding(), align, cubic ? 2 : 0, position, p.of(extent));
  Value whole = p.floor(position), ratio = p.sub(position, whole);
  Index base = p.toIndex(whole);
  SmallVector<SampleTap> taps;
  for (int64_t i = cubic ? -1 : 0, end = cubic ? 3 : 2; i < end; ++i) {
    Value distance = p.abs(p.sub(p.constant(double(i)), ratio));
    Value weight = cubic ? cubicWeight(p, distance, -0.75) : p.sub(p.constant(1), distance);
    taps.push_back(padTap(e, op.getPadding(), align, e.add(base, e.constant(i)), extent, weight));
  }
  return taps;
}

Value GridSampleOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  unsigned n = at.size() - 2;
  Type element = computeType(getElementType(getX()));
  Positions p(e, element.isF64() ? element : Type(e.b.getF32Type()));
  SmallVector<Index> place = {at[0]};
  llvm::append_range(place, at.drop_front(2));
  place.push_back({});
  SmallVector<SmallVector<SampleTap>> taps;
  for (unsigned d = 0; d < n; ++d) {
    Index extent = e.extent(getX(), 2 + d);
    place.back() = e.constant(n - 1 - d);
    Value position = e.read(getGrid(), place);
    if (getElementType(getGrid()).isF64() != p.type.isF64()) {
      auto vector = dyn_cast<VectorType>(position.getType());
      Type to = vector ? Type(VectorType::get(vector.getShape(), p.type)) : p.type;
      position = p.type.isF64() ? Value(arith::ExtFOp::create(e.b, e.loc, to, position))
                                : Value(arith::TruncFOp::create(e.b, e.loc, to, position));
    }
    // Converts grid coordinates in [-1, 1] to fractional element positions along a dim of x.
    Value up = p.add(position, p.constant(1)), size = p.of(extent), half = p.constant(0.5);
    position = getAlignCorners() ? p.mul(p.mul(up, half), p.sub(size, p.constant(1)))
                                 : p.mul(p.sub(p.mul(up, size), p.constant(1)), half);
    taps.push_back(tapsBeside(p, *this, position, extent));
  }
  return sumTaps(p, getX(), taps, SmallVector<Index>(at.take_front(2)), {}, {});
}

std::optional<ShardingRule> GridSampleOp::getShardingRule(const DimSharding &cut, const ShardCount &) {
  if (cut.dim == 1)
    return ShardingRule{{cut, std::nullopt}, ownAttributes(*this)};
  if (cut.dim > 1)
    return ShardingRule{{std::nullopt, DimSharding{cut.dim - 1, cut.blocks}}, ownAttributes(*this)};
  if (graph::getDims(getX())[0] != graph::getDims(getGrid())[0])
    return std::nullopt;
  return ShardingRule{{cut, cut}, ownAttributes(*this)};
}

//===------------------------------------------------------------------------------------------===//
// Deformable convolution and col2im
//===------------------------------------------------------------------------------------------===//

LogicalResult DeformColumnsOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims x = dimsOf(getX()), offset = dimsOf(getOffset());
  std::optional<Dims> low = parseDims(getLow());
  int64_t groups = getOffsetGroups();
  if (x.size() != 4 || offset.size() != 4 || getKernel().size() != 2 || getStrides().size() != 2 ||
      getDilations().size() != 2 || !low || low->size() != 2 || groups < 1 || !isa<FloatType>(getElementType(getX())))
    return emitOpError("requires floats with two spatial dims");
  int64_t taps = getKernel()[0] * getKernel()[1];
  if (!offset[1].is(groups * taps * 2) || (x[1].constant() && *x[1].constant() % groups != 0))
    return emitOpError() << "offsets have " << offset[1].str() << " channels instead of " << groups * taps * 2;
  if (getMask() && (dimsOf(getMask()).size() != 4 || !dimsOf(getMask())[1].is(groups * taps)))
    return emitOpError("shape mismatch between mask and offsets");
  results.push_back(
      {{x[0], x[1], DimExpr(getKernel()[0]), DimExpr(getKernel()[1]), offset[2], offset[3]}, getElementType(getX())});
  return success();
}

void DeformColumnsOp::requireDims(Requirements &requirements) {
  Dims x = graph::getDims(getX()), offset = graph::getDims(getOffset());
  DimExpr groups{int64_t(getOffsetGroups())};
  requirements.equal(offset[0], x[0]);
  requirements.equal(x[1].floorDiv(groups) * groups, x[1]);
  for (unsigned d : {0, 2, 3})
    if (getMask())
      requirements.equal(graph::getDims(getMask())[d], offset[d]);
}

Value DeformColumnsOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Type element = computeType(getElementType(getX()));
  Positions p(e, element.isF64() ? element : Type(e.b.getF32Type()));
  Dims low = *parseDims(getLow());
  DimExpr perGroup = graph::getDims(getX())[1].floorDiv(DimExpr(getOffsetGroups()));
  Index group = getOffsetGroups() == 1 ? e.constant(0) : e.floorDiv(at[1], e.expression(perGroup));
  Index tap = e.add(e.mul(e.add(e.mul(group, e.constant(getKernel()[0])), at[2]), e.constant(getKernel()[1])), at[3]);
  SmallVector<SmallVector<SampleTap>> taps;
  for (unsigned d = 0; d < 2; ++d) {
    Index channel = e.add(e.mul(tap, e.constant(2)), e.constant(d)), extent = e.extent(getX(), 2 + d);
    Index plain =
        e.sub(e.add(e.mul(at[4 + d], e.constant(getStrides()[d])), e.mul(at[2 + d], e.constant(getDilations()[d]))),
              e.expression(low[d]));
    Value position = p.add(p.of(plain), e.read(getOffset(), {at[0], channel, at[4], at[5]}));
    Value whole = p.floor(position), ratio = p.sub(position, whole);
    Index base = p.toIndex(whole), next = e.add(base, e.constant(1));
    taps.push_back(
        {{base, p.sub(p.constant(1), ratio), e.inBounds(base, extent)}, {next, ratio, e.inBounds(next, extent)}});
  }
  Value sum = sumTaps(p, getX(), taps, SmallVector<Index>(at.take_front(2)), {}, {});
  return getMask() ? p.mul(sum, e.read(getMask(), {at[0], tap, at[4], at[5]})) : sum;
}

LogicalResult UnwindowOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims dims = dimsOf(getX());
  std::optional<Dims> sizes = parseDims(getSizes());
  size_t n = getStrides().size();
  if (!sizes || sizes->size() != n || getDilations().size() != n || getLow().size() != n || dims.size() < 2 * n)
    return emitOpError("strides, dilations, low and sizes must have one entry per windowed dim");
  llvm::copy(*sizes, dims.end() - 2 * n);
  results.push_back({dims, getElementType(getX())});
  return success();
}

Value UnwindowOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  unsigned n = getStrides().size(), leading = at.size() - 2 * n;
  SmallVector<Index> from(at);
  Value inside;
  for (unsigned i = 0; i < n; ++i) {
    Index stride = e.constant(getStrides()[i]);
    Index start = e.sub(e.add(at[leading + i], e.constant(getLow()[i])),
                        e.mul(at[leading + n + i], e.constant(getDilations()[i])));
    Index window = e.floorDiv(start, stride);
    from[leading + i] = window;
    inside = e.logicalAnd(inside, e.inBounds(window, e.extent(getX(), leading + i)));
    if (getStrides()[i] != 1)
      inside = e.logicalAnd(inside, e.compare(arith::CmpIPredicate::eq, e.mul(window, stride), start));
  }
  return e.readIf(inside, getX(), from, e.constantElement(getElementType(getX()), 0));
}

} // namespace hewn::graph
