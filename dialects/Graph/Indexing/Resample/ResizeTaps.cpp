// SPDX-License-Identifier: Apache-2.0
//
// Decomposes a resize with many weights per element, or with a dynamic number of weights, into a
// gather of operand elements and a weighted sum:
// y[.., i, ..] = sum over t of weight[t, i] * x[.., place[t, i], ..].
// The number of weights comes first in both tables, so that the sum is vectorized along the result
// even if the resized dim is the last one: there may be fewer weights than lanes.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/Indexing/Resample/ResizeOps.h"
#include "dialects/Graph/Indexing/Resample/Scaling.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

namespace {
/// Has the same functions as the class `Positions`, which computes source positions as scalars. The
/// functions here build ops on tensors, and their operands may broadcast.
class TensorPositions {
public:
  TensorPositions(Composer &c, Type type) : c(c), type(type) {}

  Value constant(double value) { return makeSplat(c.b, c.loc, type, value); }
  Value add(Value a, Value b) { return c.op<AddOp>({a, b}); }
  Value sub(Value a, Value b) { return c.op<SubOp>({a, b}); }
  Value mul(Value a, Value b) { return c.op<MulOp>({a, b}); }
  Value div(Value a, Value b) { return c.op<DivOp>({a, b}); }
  Value max(Value a, Value b) { return c.op<MaximumOp>({a, b}); }
  Value floor(Value a) { return c.op<FloorOp>(a); }
  Value abs(Value a) { return c.op<AbsOp>(a); }
  Value select(Value condition, Value a, Value b) { return c.op<WhereOp>({condition, a, b}); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    using F = arith::CmpFPredicate;
    return predicate == F::OEQ   ? c.op<EqualOp>({a, b})
           : predicate == F::OLT ? c.op<LessOp>({a, b})
           : predicate == F::OLE ? c.op<LessOrEqualOp>({a, b})
                                 : c.op<GreaterOrEqualOp>({a, b});
  }
  Value of(const DimExpr &number) { return c.cast(c.number(number), type); }

  Composer &c;
  Type type;
};
} // namespace

Value composeTaps(Composer &c, ResizeOp op) {
  Value x = op.getX(), given = op.getGiven();
  Dims dims = getDims(x);
  int64_t dim = int64_t(op.getDim());
  DimExpr in = dims[dim], out = parseDims(op.getSize())->front(), one(1);
  Type element = getElementType(x);
  // There are few positions, so that they are computed in float64.
  TensorPositions exact(c, c.b.getF64Type()), p(c, element.isF64() ? element : Type(c.b.getF32Type()));
  auto givenAt = [&](int64_t i) { return c.cast(c.reshape(c.slice(given, 0, DimExpr(i), one), {}), exact.type); };
  Scaling scaling = {exact.of(in), exact.of(out), givenAt};
  TapRange range = tapRangeOf(op, true);
  DimExpr count = DimExpr(2) * range.half;

  Value position = originalPosition(op, exact, c.cast(c.reshape(c.range(out), {one, out}), exact.type), scaling);
  Value factor = range.shrink ? p.constant(*range.shrink) : c.cast(distanceFactor(op, exact, scaling), p.type);
  Value whole = exact.floor(position), ratio = c.cast(exact.sub(position, whole), p.type);
  Value offsets = c.reshape(c.range(c.number(one - range.half), c.number(one), count), {count, one});
  Value distance = p.mul(p.abs(p.sub(c.cast(offsets, p.type), ratio)), factor);
  Value weights = op.getMode() == "cubic" ? cubicWeight(p, distance, op.getCubic().convertToDouble())
                                          : p.max(p.constant(0), p.sub(p.constant(1), distance));
  Value places = c.op<AddOp>({c.cast(whole, c.b.getI64Type()), offsets});
  Value first = c.number(DimExpr(0)), last = c.number(in - one);
  if (op.getExcludeOutside()) {
    Value behind = c.op<GreaterOrEqualOp>({places, first}), before = c.op<LessOrEqualOp>({places, last});
    weights = p.select(behind, p.select(before, weights, p.constant(0)), p.constant(0));
  }
  Value sum = c.reduce<ReduceSumOp>(weights, {0}, true);
  if (!sum)
    return {};
  weights = p.div(weights, p.select(p.compare(arith::CmpFPredicate::OEQ, sum, p.constant(0)), p.constant(1), sum));
  places = c.op<MaximumOp>({first, c.op<MinimumOp>({places, last})});

  Dims table = {count, out}, column = {out};
  table.append(dims.size() - dim - 1, one);
  column.append(dims.size() - dim - 1, one);
  if (!places)
    return {};
  Value taken = make<GatherOp>(c.b, c.loc, {x, places}, c.b.getNamedAttr("axis", c.b.getI64IntegerAttr(dim)));
  Value result = c.reduce<ReduceSumOp>(p.mul(c.cast(taken, p.type), c.reshape(weights, table)), {dim}, false);
  if (op.getCoordinates() == "tf_crop_and_resize") {
    Value low = exact.compare(arith::CmpFPredicate::OGE, position, exact.constant(0));
    Value high = exact.compare(arith::CmpFPredicate::OLE, position, exact.of(in - one));
    Value beyond = p.constant(op.getExtrapolation().convertToDouble());
    result = p.select(c.reshape(low, column), p.select(c.reshape(high, column), result, beyond), beyond);
  }
  return c.cast(result, element);
}

} // namespace hewn::graph
